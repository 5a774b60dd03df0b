// Charge mapping with a thread for each point (Sanaullah et al., Algorithms 5 and 6).
//
// A thread reads the 64 bins whose particles touch its point, adds in a register and writes 4 bytes once; no atomic
// additions. Bins are visited in order, but the order inside a bin is that of its making, so last bits may differ.
//
// A particle of bin b touches b − 1 to b + 2. The bins of point g are therefore g − 2 to g + 1, and weight w of a particle
// belongs to bin g + 1 − w.
//
// Defines: LAYOUT, and SLOTS of whole bins (skeel.cuh); SELECTION, whether a weight is selected or branched to; TILE_X, TILE_Y, TILE_Z,
// points of a block that shares bins. The kernels have names of their own, for profilers.
#include "skeel.cuh"

__device__ __forceinline__ f32 weight(u32 which, f32 x)
{
#if SELECTION
    return basis_by_selection(which, x - floorf(x));
#else
    return basis_by_branches(which, x - floorf(x));
#endif
}

__device__ __forceinline__ f32 share_of(u32 wx, u32 wy, u32 wz, const Particle& p)
{
    return weight(wz, p.z) * weight(wy, p.y) * weight(wx, p.x) * p.q;
}

// The bins of a point along an axis, by weight.
__device__ __forceinline__ void remote(u32 g, u32 n, u32 (&bins)[4])
{
    bins[0] = g + 1 >= n ? g + 1 - n : g + 1;
    bins[1] = g;
    bins[2] = g < 1 ? g + n - 1 : g - 1;
    bins[3] = g < 2 ? g + n - 2 : g - 2;
}

__device__ __forceinline__ void map_point(const MapWork& work, const u32* counters, const f32* words, f32* mesh)
{
    const u32 id = blockIdx.x * MAP_THREADS + threadIdx.x;
    if (id >= work.bins) return;
    u32 gx[4], gy[4], gz[4];
    remote(id / (work.size[0] * work.size[1]), work.size[2], gz);
    remote(id / work.size[0] % work.size[1], work.size[1], gy);
    remote(id % work.size[0], work.size[0], gx);
    f32 sum = 0.0f;
    // Not unrolled: the paper's branches would be decided when it is compiled.
#pragma unroll 1
    for (u32 z = 0; z < 4; ++z) {
#pragma unroll 1
        for (u32 y = 0; y < 4; ++y) {
#pragma unroll 1
            for (u32 x = 0; x < 4; ++x) {
                const u32 bin = point_index(work, gx[x], gy[y], gz[z]);
#if LAYOUT == WHOLE
                Bin all;
                read_bin(work, words, bin, all);
#pragma unroll 1
                for (u32 itr = 0; itr < all.counter; ++itr) sum += share_of(x, y, z, all.slot[itr]);
#else
                const u32 counter = smaller(counters[bin], slots_of(work));
#pragma unroll 1
                for (u32 itr = 0; itr < counter; ++itr) sum += share_of(x, y, z, particle_of(work, words, bin, itr));
#endif
            }
        }
    }
    mesh[id] = sum;
}

#if LAYOUT != WHOLE
KERNEL(debye_map_points_reduced, MAP_THREADS, MapWork work, const u32* counters, const f32* words, f32* mesh)
{
    map_point(work, counters, words, mesh);
}
#elif !SELECTION
KERNEL(debye_map_points_branches, MAP_THREADS, MapWork work, const u32* counters, const f32* words, f32* mesh)
{
    map_point(work, counters, words, mesh);
}
#else
KERNEL(debye_map_points_selection, MAP_THREADS, MapWork work, const u32* counters, const f32* words, f32* mesh)
{
    map_point(work, counters, words, mesh);
}

constexpr u32 NEAR_X = TILE_X + 3, NEAR_Y = TILE_Y + 3, NEAR_Z = TILE_Z + 3, TILE = TILE_X * TILE_Y * TILE_Z;
static_assert(TILE % WARP == 0, "whole warps");

// A block has a tile of points. Layer by layer along z, its threads copy the bins around the tile to shared memory, whole
// as they are, and take from there what touches their points. Reads (1 + 3/TILE)³ bins for each point.
KERNEL(debye_map_points_shared, TILE, MapWork work, const u32* counters, const f32* words, f32* mesh)
{
    DYNAMIC_SHARED(f32, layer);
    const u32 nx = work.size[0], ny = work.size[1], nz = work.size[2];
    const u32 tx = threadIdx.x % TILE_X, ty = threadIdx.x / TILE_X % TILE_Y, tz = threadIdx.x / (TILE_X * TILE_Y);
    const u32 x0 = blockIdx.x * TILE_X, y0 = blockIdx.y * TILE_Y, z0 = blockIdx.z * TILE_Z;
    const bool exists = x0 + tx < nx && y0 + ty < ny && z0 + tz < nz;
    f32 sum = 0.0f;
    for (u32 k = 0; k < NEAR_Z; ++k) {
        __syncthreads();
        const u32 z = (z0 + k + nz - 2) % nz;
        for (u32 at = threadIdx.x; at < NEAR_X * NEAR_Y * BIN_WORDS; at += TILE) {
            const u32 near = at / BIN_WORDS, word = at % BIN_WORDS;
            const u32 x = (x0 + near % NEAR_X + nx - 2) % nx, y = (y0 + near / NEAR_X + ny - 2) % ny;
            layer[at] = words[point_index(work, x, y, z) * BIN_WORDS + word];
        }
        __syncthreads();
        const u32 wz = tz + 3 - k;
        if (!exists || wz > 3) continue;
#pragma unroll 1
        for (u32 wy = 0; wy < 4; ++wy) {
#pragma unroll 1
            for (u32 wx = 0; wx < 4; ++wx) {
                const f32* bin = layer + ((ty + 3 - wy) * NEAR_X + tx + 3 - wx) * BIN_WORDS;
                const u32 counter = smaller(__float_as_uint(bin[0]), slots_of(work));
#pragma unroll 1
                for (u32 itr = 0; itr < counter; ++itr) {
                    const f32* p = bin + 1 + 4 * itr;
                    sum += share_of(wx, wy, wz, Particle{p[0], p[1], p[2], p[3]});
                }
            }
        }
    }
    if (exists) mesh[point_index(work, x0 + tx, y0 + ty, z0 + tz)] = sum;
}
#endif
