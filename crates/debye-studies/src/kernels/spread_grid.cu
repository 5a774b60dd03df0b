// Charges spread over a mesh by its points: a thread owns points and looks at the particles near each.
//
// A block has a brick, and takes its list in batches: it sorts a batch into boxes in shared memory, beside the weights
// of each particle, and then every thread goes through the boxes around its points. A warp's points are 2 × 4 × 4, so
// that its threads look at the same particles. No atomic additions but for the sorting; sums are the same whole numbers
// as those of spread.cu, taken with 64 bits, so that one too large for them is seen for certain.
//
// Defines: those of mesh.cuh; THREADS; BATCH (particles, at most 4096).
#include "stencil.cuh"

constexpr u32 NX = boxes_along(BRICK_X + BOX), NY = boxes_along(BRICK_Y + BOX), NZ = boxes_along(BRICK_Z + BOX),
              BOXES = NX * NY * NZ;
constexpr u32 GROUPS = BRICK_X / 2 * (BRICK_Y / 4) * (BRICK_Z / 4), WARPS = THREADS / WARP,
              GROUPS_EACH = (GROUPS + WARPS - 1) / WARPS;

// A particle beside its weights.
struct Near {
    i32 x, y, z;
    mesh_real wx[POINTS], wy[POINTS], wz[POINTS];
};
static_assert(BATCH * (sizeof(Near) + 4) + (BOXES + 2) * 4 <= SHARED_BYTES, "the host reserves enough");

__device__ __forceinline__ u32 box_of(i32 x, i32 y, i32 z)
{
    return (u32(x + BOX) / BOX * NY + u32(y + BOX) / BOX) * NZ + u32(z + BOX) / BOX;
}

// Starts of the boxes from their counts. One warp.
__device__ __forceinline__ void starts_of(u32* boxes)
{
    u32 before = 0;
    for (u32 k = 0; k < BOXES; k += WARP) {
        const u32 at = k + threadIdx.x, mine = at < BOXES ? boxes[at] : 0;
        const u32 sum = warp_inclusive(mine, threadIdx.x);
        if (at < BOXES) boxes[at] = before + sum - mine;
        before += __shfl_sync(ALL_LANES, sum, 31);
    }
}

// The place in a stencil of a point along an axis; POINTS or more if it is not touched.
template <u32 SIZE, bool WRAPS> __device__ __forceinline__ u32 place_in(i32 point, i32 start)
{
    return u32(folded<SIZE, WRAPS>(point - start));
}

// Boxes along an axis around points first, …, first + count − 1: the lowest and the highest.
template <u32 N, bool WRAPS> __device__ __forceinline__ void boxes_around(i32 first, i32 count, u32& low, u32& high)
{
    low = WRAPS ? 0 : u32(first - i32(POINTS) + 1 + BOX) / BOX;
    high = WRAPS ? N - 1 : smaller(u32(first + count - 1 + BOX) / BOX, N - 1);
}

__device__ __forceinline__ fixed part(f32 x) { return __float2int_rn(x); }
__device__ __forceinline__ i64 part(f64 x) { return __double2ll_rn(x); }

// What the particles in boxes `from` to `to` add to a point.
__device__ __forceinline__ i64 sum_of(const Near* near, const u32* order, const u32* starts, u32 from, u32 to, i32 x,
                                      i32 y, i32 z)
{
    i64 sum = 0;
    for (u32 k = starts[from]; k < starts[to + 1]; ++k) {
        const Near& a = near[order[k]];
        const u32 i = place_in<MESH_X, WRAPS_X>(x, a.x), j = place_in<MESH_Y, WRAPS_Y>(y, a.y),
                  m = place_in<MESH_Z, WRAPS_Z>(z, a.z);
        if (i < POINTS && j < POINTS && m < POINTS) sum += part(a.wx[i] * a.wy[j] * a.wz[m]);
    }
    return sum;
}

// Places a batch in shared memory: particles, their order by box, and where each box starts. All threads.
__device__ __forceinline__ void place_batch(Near* near, u32* order, u32* starts, const Brick& b, const u32* list, u32 n,
                                            const MeshParticles& p, mesh_real scale)
{
    const Present present(p);
    // What is after a box's last particle in the end is where the next box starts.
    u32* boxes = starts + 1;
    for (u32 k = threadIdx.x; k < BOXES + 2; k += THREADS) starts[k] = 0;
    __syncthreads();
    for (u32 k = threadIdx.x; k < n; k += THREADS) {
        const Entry e = present.at(list[k]);
        const Stencil s = stencil(e.at, e.charge * scale);
        Near& a = near[k];
        a.x = seen<MESH_X>(s.start[0], b.x, b.nx);
        a.y = seen<MESH_Y>(s.start[1], b.y, b.ny);
        a.z = seen<MESH_Z>(s.start[2], b.z, b.nz);
        for (u32 c = 0; c < POINTS; ++c) {
            a.wx[c] = s.x[c];
            a.wy[c] = s.y[c];
            a.wz[c] = s.z[c];
        }
        constexpr i32 far = -i32(POINTS);
        const bool touches = a.x > far && a.y > far && a.z > far && e.charge != mesh_real(0);
        order[k] = touches ? box_of(a.x, a.y, a.z) : BOXES;
        if (touches) atomicAdd(&boxes[order[k]], 1u);
    }
    __syncthreads();
    if (threadIdx.x < WARP) starts_of(boxes);
    __syncthreads();
    constexpr u32 EACH = (BATCH + THREADS - 1) / THREADS;
    u32 mine[EACH];
#pragma unroll
    for (u32 c = 0; c < EACH; ++c) {
        const u32 k = c * THREADS + threadIdx.x;
        mine[c] = k < n && order[k] < BOXES ? atomicAdd(&boxes[order[k]], 1u) : BATCH;
    }
    __syncthreads();
#pragma unroll
    for (u32 c = 0; c < EACH; ++c) {
        if (mine[c] < BATCH) order[mine[c]] = c * THREADS + threadIdx.x;
    }
    __syncthreads();
}

KERNEL(debye_mesh_grid, THREADS, MeshParticles p, MeshLists l, mesh_real* mesh, mesh_real scale, u32 fresh)
{
    DYNAMIC_SHARED(Near, near);
    if (rests(p)) return;
    u32* order = reinterpret_cast<u32*>(near + BATCH);
    u32* starts = order + BATCH;
    const Brick b = brick(blockIdx.x);
    const u32 listed = l.counts[blockIdx.x], n = smaller(listed, l.capacity);
    const u32* list = l.slots + u64(blockIdx.x) * l.capacity;
    const u32 lane = lane_of(threadIdx.x), warp = warp_of(threadIdx.x);
    i64 sums[GROUPS_EACH] = {};
    for (u32 from = 0; from < n; from += BATCH) {
        place_batch(near, order, starts, b, list + from, smaller(BATCH, n - from), p, scale);
#pragma unroll
        for (u32 g = 0; g < GROUPS_EACH; ++g) {
            const u32 group = g * WARPS + warp;
            const i32 z = i32(group % (BRICK_Z / 4) * 4), y = i32(group / (BRICK_Z / 4) % (BRICK_Y / 4) * 4),
                      x = i32(group / (BRICK_Z / 4 * (BRICK_Y / 4)) * 2);
            if (x >= b.nx || y >= b.ny || z >= b.nz) continue;
            u32 x0, x1, y0, y1, z0, z1;
            boxes_around<NX, WRAPS_X>(x, 2, x0, x1);
            boxes_around<NY, WRAPS_Y>(y, 4, y0, y1);
            boxes_around<NZ, WRAPS_Z>(z, 4, z0, z1);
            for (u32 i = x0; i <= x1; ++i) {
                for (u32 j = y0; j <= y1; ++j) {
                    const u32 row = (i * NY + j) * NZ;
                    sums[g] += sum_of(near, order, starts, row + z0, row + z1, x + i32(lane / 16),
                                      y + i32(lane / 4 % 4), z + i32(lane % 4));
                }
            }
        }
        __syncthreads();
    }
    if (blockIdx.x == 0) make_ready(l);
    if (fresh && threadIdx.x == 0) l.counts[blockIdx.x] = 0;
#pragma unroll
    for (u32 g = 0; g < GROUPS_EACH; ++g) {
        const u32 group = g * WARPS + warp;
        const i32 z = i32(group % (BRICK_Z / 4) * 4 + lane % 4),
                  y = i32(group / (BRICK_Z / 4) % (BRICK_Y / 4) * 4 + lane / 4 % 4),
                  x = i32(group / (BRICK_Z / 4 * (BRICK_Y / 4)) * 2 + lane / 16);
        if (x >= b.nx || y >= b.ny || z >= b.nz) continue;
        mesh[mesh_index(u32(b.x + x), u32(b.y + y), u32(b.z + z))] = mesh_real(fixed(sums[g])) * (mesh_real(1) / scale);
#if !MESH_DOUBLE
        if (sums[g] != i64(fixed(sums[g]))) atomicMax(&l.notes->range, __float_as_uint(fabsf(f32(sums[g])) / scale));
#endif
    }
}
