// Lists of the particles that may touch each brick of a mesh.
//
// A thread takes a slot and enters it in every brick that its stencil, widened by how far it may move while the list is
// used, can reach. A block counts its entries for every brick in shared memory, reserves places for them with one atomic
// addition per brick, and fills them. The order inside a list is not fixed: what is summed from it are whole numbers. Reads
// 16 bytes per slot and writes 4 per entry.
//
// Defines: those of mesh.cuh; THREADS; DIRECT (there are too many bricks to count in shared memory).
#include "mesh.cuh"

// Bricks along an axis: the first, and how many.
struct Span {
    u32 first, count;
};
template <u32 SIZE, u32 EDGE, u32 NUMBER> __device__ __forceinline__ Span span(u32 start, u32 low, u32 high)
{
    const u32 length = low + high + 1;
    if (length >= SIZE) return {0, NUMBER};
    const u32 from = start >= low ? start - low : start + SIZE - low, to = from + length - 1;
    const u32 first = from / EDGE;
    if (to < SIZE) return {first, to / EDGE - first + 1};
    return {first, smaller(NUMBER, NUMBER - first + (to - SIZE) / EDGE + 1)};
}

struct Spans {
    Span x, y, z;
    __device__ __forceinline__ u32 count() const { return x.count * y.count * z.count; }
    template <class Visit> __device__ __forceinline__ void each(Visit&& visit) const
    {
        for (u32 i = 0, bx = x.first; i < x.count; ++i, bx = bx + 1 == BRICKS_X ? 0 : bx + 1) {
            for (u32 j = 0, by = y.first; j < y.count; ++j, by = by + 1 == BRICKS_Y ? 0 : by + 1) {
                for (u32 k = 0, bz = z.first; k < z.count; ++k, bz = bz + 1 == BRICKS_Z ? 0 : bz + 1) {
                    visit((bx * BRICKS_Y + by) * BRICKS_Z + bz);
                }
            }
        }
    }
};

__device__ __forceinline__ Spans spans_of(u32 slot, const MeshParticles& p, const Reach& r)
{
    Spans s = {};
    if (slot >= slots_used(p)) return s;
    const Entry e = Present(p).at(slot);
    if (e.charge == mesh_real(0)) return s;
    s.x = span<MESH_X, BRICK_X, BRICKS_X>(along<MESH_X>(e.at.x).start, r.low[0], r.high[0]);
    s.y = span<MESH_Y, BRICK_Y, BRICKS_Y>(along<MESH_Y>(e.at.y).start, r.low[1], r.high[1]);
    s.z = span<MESH_Z, BRICK_Z, BRICKS_Z>(along<MESH_Z>(e.at.z).start, r.low[2], r.high[2]);
    return s;
}

// Before lists are made.
KERNEL(debye_mesh_clear, 256, MeshLists l)
{
    const u32 b = blockIdx.x * 256 + threadIdx.x;
    if (l.when && *l.when == 0) return;
    if (b < BRICKS) l.counts[b] = 0;
}

KERNEL(debye_mesh_lists, THREADS, MeshParticles p, MeshLists l, Reach r)
{
    if (l.when && *l.when == 0) return;
    const u32 slot = blockIdx.x * THREADS + threadIdx.x;
    const Spans s = spans_of(slot, p, r);
    auto enter = [&](u32 b, u32 place) {
        if (place < l.capacity) l.slots[u64(b) * l.capacity + place] = slot;
    };
    // Entries so far; the last block to come sees all.
    auto count = [&](u32 entries) {
        if (entries <= l.capacity) return;
        atomicMax(&l.notes->listed, entries);
        if (l.overflow) atomicExch(l.overflow, 1u);
    };
#if DIRECT
    s.each([&](u32 b) {
        const u32 place = atomicAdd(&l.counts[b], 1u);
        enter(b, place);
        count(place + 1);
    });
#else
    DYNAMIC_SHARED(u32, places);
    for (u32 b = threadIdx.x; b < BRICKS; b += THREADS) places[b] = 0;
    __syncthreads();
    s.each([&](u32 b) { atomicAdd(&places[b], 1u); });
    __syncthreads();
    for (u32 b = threadIdx.x; b < BRICKS; b += THREADS) {
        const u32 mine = places[b];
        if (mine == 0) continue;
        const u32 before = atomicAdd(&l.counts[b], mine);
        places[b] = before;
        count(before + mine);
    }
    __syncthreads();
    s.each([&](u32 b) { enter(b, atomicAdd(&places[b], 1u)); });
#endif
}
