// Tiles of 32 × 32 ions, as Meitz & Hattrup (2023) describe them after OpenMM: the search for pairs of blocks, and the
// real-space Ewald sum of a list of them, by three kinds of tile.
//
// Search: a block of threads takes a block of ions, and a thread another one after another; 32 bytes are read for each
// pair of boxes, 512 more where they are near. Sum: a warp takes a tile and reads 2 × 512 bytes; 2 × 512 bytes are added
// to memory. Both depend on scheduling: tiles are listed in any order, and forces of tiles are added as floats.
#include "spme_shared.cuh"

__device__ __forceinline__ f32 nearest(f32 d, f32 side) { return d - side * rintf(d / side); }

// How far a place is from a box, and a box from another whose half extents are added; squared.
__device__ __forceinline__ f32 away(float4 middle, float4 half, float4 place, f32 side)
{
    const f32 x = fmaxf(fabsf(nearest(place.x - middle.x, side)) - half.x, 0.0f),
              y = fmaxf(fabsf(nearest(place.y - middle.y, side)) - half.y, 0.0f),
              z = fmaxf(fabsf(nearest(place.z - middle.z, side)) - half.z, 0.0f);
    return x * x + y * y + z * z;
}

// Steps 5 and 6 of the paper's list. `found` counts tiles, also those beyond the capacity.
KERNEL(debye_tile_search, SEARCH_THREADS, TileWork work, const f32* sorted, const f32* boxes, u32* tiles, u32* found)
{
    const float4* places = reinterpret_cast<const float4*>(sorted);
    const float4* box = reinterpret_cast<const float4*>(boxes);
    const u32 i = blockIdx.x;
    const float4 middle = box[2 * i], half = box[2 * i + 1];
    for (u32 j = i + threadIdx.x; j < work.blocks; j += SEARCH_THREADS) {
        const float4 other = box[2 * j], wide = box[2 * j + 1];
        const float4 both = make_float4(half.x + wide.x, half.y + wide.y, half.z + wide.z, 0.0f);
        if (away(middle, both, other, work.side) >= work.reach2) continue;
        u32 flags = 0;
        for (u32 k = 0; k < WARP; ++k) {
            const float4 place = places[j * WARP + k];
            // Slots without an ion have no charge.
            const bool near = away(middle, half, place, work.side) < work.cutoff2 && place.w != 0.0f;
            flags |= u32(near) << k;
        }
        const u32 at = atomicAdd(found, 1u);
        if (at < work.capacity) {
            tiles[3 * at] = i;
            tiles[3 * at + 1] = j;
            tiles[3 * at + 2] = flags;
        }
    }
}

// Force and energy that an ion gets from another.
__device__ __forceinline__ float4 pair(float4 me, float4 they, const TileWork& work)
{
    const f32 x = nearest(me.x - they.x, work.side), y = nearest(me.y - they.y, work.side),
              z = nearest(me.z - they.z, work.side);
    const f32 r2 = x * x + y * y + z * z;
    // A slot without an ion is where another ion is.
    if (!(r2 < work.cutoff2 && r2 > 0.0f)) return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const f32 r = sqrtf(r2), ar = work.alpha * r, q = work.coulomb * me.w * they.w;
    const f32 energy = q * erfcf(ar) / r;
    const f32 f = (energy + q * work.alpha * 1.128379167f * expf(-ar * ar)) / r2;
    return make_float4(f * x, f * y, f * z, energy);
}

__device__ __forceinline__ f32 lanes_summed(f32 x)
{
    for (u32 step = WARP / 2; step > 0; step /= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    return x;
}

__device__ __forceinline__ void add_force(f32* forces, u32 slot, float4 f)
{
    atomicAdd(forces + 4 * slot, f.x);
    atomicAdd(forces + 4 * slot + 1, f.y);
    atomicAdd(forces + 4 * slot + 2, f.z);
    if (f.w != 0.0f) atomicAdd(forces + 4 * slot + 3, f.w);
}

// One warp for every tile. Energies of pairs go to the ion of the first block.
KERNEL(debye_tiles, WARP, TileWork work, const f32* sorted, const u32* tiles, f32* forces)
{
    SHARED(float4, second, WARP);
    SHARED(float4, reaction, WARP);
    const float4* places = reinterpret_cast<const float4*>(sorted);
    const u32 lane = threadIdx.x, i = tiles[3 * blockIdx.x], j = tiles[3 * blockIdx.x + 1],
              flags = tiles[3 * blockIdx.x + 2];
    const float4 me = places[i * WARP + lane];
    second[lane] = places[j * WARP + lane];
    reaction[lane] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    __syncwarp();
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (i != j && WARP - u32(__popc(flags)) > work.unflagged) {
        // Sparse: every flagged ion with all lanes; its force is summed over the warp.
        for (u32 rest = flags; rest != 0; rest &= rest - 1) {
            const u32 k = u32(__ffs(i32(rest))) - 1;
            const float4 f = pair(me, second[k], work);
            sum.x += f.x;
            sum.y += f.y;
            sum.z += f.z;
            sum.w += f.w;
            const f32 x = lanes_summed(f.x), y = lanes_summed(f.y), z = lanes_summed(f.z);
            if (lane == 0) reaction[k] = make_float4(-x, -y, -z, 0.0f);
        }
    } else {
        // Staggered: in every step the lanes have different ions, so none writes where another does. A block with itself
        // takes the pairs below the diagonal.
        for (u32 step = 0; step < WARP; ++step) {
            const u32 k = (lane + step) % WARP;
            if (i != j || k < lane) {
                const float4 f = pair(me, second[k], work);
                sum.x += f.x;
                sum.y += f.y;
                sum.z += f.z;
                sum.w += f.w;
                reaction[k].x -= f.x;
                reaction[k].y -= f.y;
                reaction[k].z -= f.z;
            }
            __syncwarp();
        }
    }
    __syncwarp();
    add_force(forces, i * WARP + lane, sum);
    add_force(forces, j * WARP + lane, reaction[lane]);
}
