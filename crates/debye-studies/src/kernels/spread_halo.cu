// Charges spread over a mesh by the owners of particles: a block adds those that begin in its brick to a tile in shared
// memory that is larger than the brick, and adds the tile to the mesh.
//
// Reads 20 bytes per particle; 4 or 8 bytes per point of all tiles are added to memory. The mesh holds whole numbers,
// must be cleared before and converted after. Fewer particles are visited than by the owners of points, but tiles
// overlap: better where there are many particles per point.
//
// Defines: those of mesh.cuh; THREADS, RESIDENT; MARGIN_X, MARGIN_Y, MARGIN_Z (cells that a particle may have moved
// since the lists were made); COVER (tiles that a point may lie in).
#include "stencil.cuh"

constexpr u32 TILE_X = BRICK_X + POINTS - 1 + 2 * MARGIN_X, TILE_Y = BRICK_Y + POINTS - 1 + 2 * MARGIN_Y,
              TILE_Z = BRICK_Z + POINTS - 1 + 2 * MARGIN_Z;
constexpr u32 ROW = row_words(TILE_Z), PLANE = plane_words(TILE_Y, ROW), TILE = PLANE * TILE_X;
static_assert(ROW % 4 == 0 && PLANE % 4 == 0, "whole vectors");
using Bounds = Bound<boxes_along(BRICK_X + 2 * MARGIN_X), boxes_along(BRICK_Y + 2 * MARGIN_Y),
                     boxes_along(BRICK_Z + 2 * MARGIN_Z), false>;
static_assert((TILE * sizeof(fixed) + (Bounds::NUMBER + 1) * 4) <= SHARED_BYTES, "the host reserves enough");

struct alignas(16) Words {
    u32 word[4];
};

// The place of a stencil's beginning in the tile; beyond it if the particle has moved too far.
template <u32 SIZE> __device__ __forceinline__ u32 place(u32 start, i32 origin, i32 n, i32 margin)
{
    const i32 d = seen<SIZE>(start, origin, min(n + margin, i32(SIZE)));
    return u32(d + margin);
}

__device__ __forceinline__ void add_charge(fixed* tile, u32* boxes, const Brick& b, const Entry& e, mesh_real scale,
                                           MeshNotes* notes)
{
    const mesh_real factor = e.charge * scale;
    if (factor == mesh_real(0)) return;
    const Stencil s = stencil(e.at, factor);
    const u32 x = place<MESH_X>(s.start[0], b.x, b.nx, MARGIN_X), y = place<MESH_Y>(s.start[1], b.y, b.ny, MARGIN_Y),
              z = place<MESH_Z>(s.start[2], b.z, b.nz, MARGIN_Z);
    if (x >= BRICK_X + 2 * MARGIN_X || y >= BRICK_Y + 2 * MARGIN_Y || z >= BRICK_Z + 2 * MARGIN_Z) {
        atomicOr(&notes->faults, u32(STRAYED));
        return;
    }
#if !MESH_DOUBLE
    Bounds::add(boxes, x, y, z, factor * mesh_real(COVER));
#endif
    fixed* at = tile + x * PLANE + y * ROW + z;
#pragma unroll
    for (u32 i = 0; i < POINTS; ++i) {
#pragma unroll
        for (u32 j = 0; j < POINTS; ++j) {
            const mesh_real w = s.x[i] * s.y[j];
#pragma unroll
            for (u32 k = 0; k < POINTS; ++k) add_fixed(at + i * PLANE + j * ROW + k, w * s.z[k]);
        }
    }
}

template <u32 SIZE> __device__ __forceinline__ u32 wrapped(i32 i)
{
    // A tile may be longer than the mesh.
    return u32(i + i32(SIZE) * i32((2 * (MARGIN_X + MARGIN_Y + MARGIN_Z)) / SIZE + 1)) % SIZE;
}

// Adds what is not zero: neighboring lanes have neighboring points.
__device__ __forceinline__ void flush(const fixed* tile, const Brick& b, fixed* mesh)
{
    for (u32 k = threadIdx.x; k < TILE_X * TILE_Y * TILE_Z; k += THREADS) {
        const u32 z = k % TILE_Z, y = k / TILE_Z % TILE_Y, x = k / (TILE_Z * TILE_Y);
        const fixed sum = tile[x * PLANE + y * ROW + z];
        if (sum == 0) continue;
        fixed* to = mesh + mesh_index(wrapped<MESH_X>(b.x + i32(x) - MARGIN_X),
                                      wrapped<MESH_Y>(b.y + i32(y) - MARGIN_Y),
                                      wrapped<MESH_Z>(b.z + i32(z) - MARGIN_Z));
#if MESH_DOUBLE
        atomicAdd(reinterpret_cast<u64*>(to), u64(sum));
#else
        atomicAdd(to, sum);
#endif
    }
}

KERNEL_RESIDENT(debye_mesh_halo, THREADS, fitting(THREADS, RESIDENT), MeshParticles p, MeshLists l, mesh_real* mesh,
                mesh_real scale, u32 fresh)
{
    DYNAMIC_SHARED(fixed, tile);
    if (rests(p)) return;
    u32* boxes = reinterpret_cast<u32*>(tile + TILE);
    const Brick b = brick(blockIdx.x);
    const Present present(p);
    const u32 listed = l.counts[blockIdx.x], n = smaller(listed, l.capacity);
    const u32* list = l.slots + u64(blockIdx.x) * l.capacity;
    Entry next = {};
    if (threadIdx.x < n) next = present.at(list[threadIdx.x]);
    Words* words = reinterpret_cast<Words*>(tile);
    for (u32 k = threadIdx.x; k < TILE * sizeof(fixed) / 16; k += THREADS) words[k] = Words{};
    Bounds::clear(boxes);
    __syncthreads();
    if (blockIdx.x == 0) make_ready(l);
    if (fresh && threadIdx.x == 0) l.counts[blockIdx.x] = 0;
    for (u32 k = threadIdx.x; k < n; k += THREADS) {
        const Entry now = next;
        if (k + THREADS < n) next = present.at(list[k + THREADS]);
        add_charge(tile, boxes, b, now, scale, l.notes);
    }
    __syncthreads();
    flush(tile, b, reinterpret_cast<fixed*>(mesh));
#if !MESH_DOUBLE
    Bounds::report(boxes, n, scale, l.notes);
#endif
}

// Whole numbers to numbers of the mesh, in place. 8 or 16 bytes per point.
KERNEL(debye_mesh_convert, 256, mesh_real* mesh, mesh_real scale)
{
    constexpr u64 POINTS_OF_MESH = u64(MESH_X) * MESH_Y * MESH_Z;
    constexpr u32 V = POINTS_OF_MESH % 4 == 0 && !MESH_DOUBLE ? 4 : 1;
    struct alignas(V * sizeof(fixed)) Vector {
        fixed value[V];
    };
    const u64 k = u64(blockIdx.x) * 256 + threadIdx.x;
    if (k >= POINTS_OF_MESH / V) return;
    Vector* at = reinterpret_cast<Vector*>(mesh) + k;
    Vector v = *at;
    const mesh_real unit = mesh_real(1) / scale;
#pragma unroll
    for (u32 c = 0; c < V; ++c) {
        const mesh_real x = mesh_real(v.value[c]) * unit;
        memcpy(&v.value[c], &x, sizeof(x));
    }
    *at = v;
}
