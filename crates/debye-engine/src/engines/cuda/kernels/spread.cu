// Charges spread over a mesh by the owners of its points: a block owns a brick of the mesh in shared memory.
//
// A thread takes a particle of the brick's list and adds what falls into the brick; then every point is written once as a
// number of the mesh. No clearing, no conversion, no other block's work: 20 bytes read per entry, 4 or 8 written per point.
// Sums are whole numbers, so that they do not depend on the order of particles. Branches are per plane and per row; along a
// row, what falls outside goes into columns beside the brick.
//
// Defines: those of mesh.cuh; THREADS; RESIDENT (blocks that should fit on a multiprocessor).
#include "stencil.cuh"

// Columns before the brick, in whole vectors, and beyond it.
constexpr u32 BEFORE = (POINTS - 1 + 3) / 4 * 4, BEYOND = POINTS - 1;
constexpr u32 ROW = row_words(BEFORE + BRICK_Z + BEYOND), PLANE = plane_words(BRICK_Y, ROW), TILE = PLANE * BRICK_X;
static_assert(ROW % 4 == 0 && PLANE % 4 == 0, "whole vectors");
using Bounds = Bound<boxes_along(BRICK_X + BOX), boxes_along(BRICK_Y + BOX), boxes_along(BRICK_Z + BOX),
                     WRAPS_X || WRAPS_Y || WRAPS_Z>;
// Bytes of shared memory, for the host.
static_assert((TILE * sizeof(fixed) + (Bounds::NUMBER + 1) * 4) <= SHARED_BYTES, "the host reserves enough");

struct alignas(16) Words {
    u32 word[4];
};

__device__ __forceinline__ void add_charge(fixed* tile, u32* boxes, const Brick& b, const Entry& e, mesh_real scale)
{
    const mesh_real factor = e.charge * scale;
    if (factor == mesh_real(0)) return;
    const Stencil s = stencil(e.at, factor);
    const i32 dx = seen<MESH_X>(s.start[0], b.x, b.nx), dy = seen<MESH_Y>(s.start[1], b.y, b.ny),
              dz = seen<MESH_Z>(s.start[2], b.z, b.nz);
    constexpr i32 far = -i32(POINTS);
    if (dx <= far || dy <= far || dz <= far) return;
#if !MESH_DOUBLE
    Bounds::add(boxes, u32(dx + BOX), u32(dy + BOX), u32(dz + BOX), factor);
#endif
    const i32 at = dx * i32(PLANE) + dy * i32(ROW) + dz + i32(BEFORE);
#pragma unroll
    for (i32 i = 0; i < i32(POINTS); ++i) {
        const i32 x = folded<MESH_X, WRAPS_X>(dx + i);
        if (u32(x) >= u32(b.nx)) continue;
#pragma unroll
        for (i32 j = 0; j < i32(POINTS); ++j) {
            const i32 y = folded<MESH_Y, WRAPS_Y>(dy + j);
            if (u32(y) >= u32(b.ny)) continue;
            const i32 row = WRAPS_X || WRAPS_Y ? x * i32(PLANE) + y * i32(ROW) + dz + i32(BEFORE)
                                               : at + i * i32(PLANE) + j * i32(ROW);
            const mesh_real w = s.x[i] * s.y[j];
#pragma unroll
            for (i32 k = 0; k < i32(POINTS); ++k) add_fixed(&tile[row + k], w * s.z[k]);
        }
    }
}

// The sum at a point of a row of the tile, with what was added beyond either end of a short mesh.
__device__ __forceinline__ fixed sum_at(const fixed* row, i32 z, i32 nz)
{
    fixed sum = row[z];
    if (WRAPS_Z) {
        if (z + MESH_Z < nz + i32(BEYOND)) sum += row[z + MESH_Z];
        if (z - MESH_Z >= -i32(BEYOND)) sum += row[z - MESH_Z];
    }
    return sum;
}

__device__ __forceinline__ void write_brick(const fixed* tile, const Brick& b, mesh_real* mesh, mesh_real unit)
{
    constexpr u32 V = MESH_Z % 4 == 0 && !MESH_DOUBLE ? 4 : 1, PER_ROW = BRICK_Z / V;
    for (u32 k = threadIdx.x; k < BRICK_X * BRICK_Y * PER_ROW; k += THREADS) {
        const i32 z = i32(k % PER_ROW * V), y = i32(k / PER_ROW % BRICK_Y), x = i32(k / (PER_ROW * BRICK_Y));
        if (x >= b.nx || y >= b.ny || z >= b.nz) continue;
        const fixed* row = tile + x * i32(PLANE) + y * i32(ROW) + i32(BEFORE);
        mesh_real* to = mesh + mesh_index(u32(b.x + x), u32(b.y + y), u32(b.z + z));
        struct alignas(V * sizeof(mesh_real)) Vector {
            mesh_real value[V];
        } v;
#pragma unroll
        for (u32 c = 0; c < V; ++c) v.value[c] = mesh_real(sum_at(row, z + i32(c), b.nz)) * unit;
        *reinterpret_cast<Vector*>(to) = v;
    }
}

// `fresh`: this is the only use of the lists, and their counts are made ready for the next.
KERNEL_RESIDENT(debye_mesh_owner, THREADS, fitting(THREADS, RESIDENT), MeshParticles p, MeshLists l, mesh_real* mesh, mesh_real scale, u32 fresh)
{
    DYNAMIC_SHARED(fixed, tile);
    if (rests(p)) return;
    u32* boxes = reinterpret_cast<u32*>(tile + TILE);
    const Brick b = brick(blockIdx.x);
    const Present present(p);
    const u32 listed = l.counts[blockIdx.x], n = smaller(listed, l.capacity);
    const u32* list = l.slots + u64(blockIdx.x) * l.capacity;
    // Under way while the tile is cleared, and then while the one before is added.
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
        add_charge(tile, boxes, b, now, scale);
    }
    __syncthreads();
    write_brick(tile, b, mesh, mesh_real(1) / scale);
#if !MESH_DOUBLE
    Bounds::report(boxes, n, scale, l.notes);
#endif
}
