// Stable ranks by 8-bit digits, for the sorts. A block of 256 threads, so that each thread has a digit.
#pragma once
#include "primitives_shared.cuh"

constexpr u32 SORT_THREADS = 256;
constexpr u32 SORT_WARPS = SORT_THREADS / WARP;
constexpr u32 SORT_ITEMS = SORT_TILE / SORT_THREADS;
static_assert(DIGITS == SORT_THREADS && SORT_TILE % SORT_THREADS == 0, "a thread has a digit, and as many items as others");

// Where item k of a thread lies in its tile: warps in order, and in a warp 32 at a time.
__device__ __forceinline__ u32 sort_place(u32 thread, u32 k)
{
    return warp_of(thread) * WARP * SORT_ITEMS + k * WARP + lane_of(thread);
}

// The sum of what threads below this one have; of a whole block. `sums` has room for SORT_WARPS.
__device__ __forceinline__ u32 block_exclusive(u32 x, u32* sums)
{
    const u32 lane = lane_of(threadIdx.x), warp = warp_of(threadIdx.x);
    const u32 inclusive = warp_inclusive(x, lane);
    if (lane == WARP - 1) sums[warp] = inclusive;
    __syncthreads();
    u32 before = 0;
    for (u32 w = 0; w < warp; ++w) before += sums[w];
    __syncthreads();
    return before + inclusive - x;
}

// Ranks the items of a tile among those of the same digit, in the order of sort_place. An item with a digit of
// DIGITS is not there. `counts` (SORT_WARPS x DIGITS) ends as what the warps before have of each digit; the tile's
// number of items with digit `threadIdx.x` is returned.
__device__ __forceinline__ u32 rank_tile(const u32 (&digit)[SORT_ITEMS], u32 (&rank)[SORT_ITEMS], u32* counts)
{
    const u32 lane = lane_of(threadIdx.x), warp = warp_of(threadIdx.x);
    for (u32 w = 0; w < SORT_WARPS; ++w) counts[w * DIGITS + threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < SORT_ITEMS; ++k) {
        const u32 peers = __match_any_sync(ALL_LANES, digit[k]);
        const u32 leader = u32(__ffs(int(peers))) - 1;
        u32 before = 0;
        if (lane == leader && digit[k] < DIGITS) {
            u32* count = counts + warp * DIGITS + digit[k];
            before = *count;
            *count = before + u32(__popc(peers));
        }
        // The next leader of this digit may be another lane.
        __syncwarp();
        rank[k] = __shfl_sync(ALL_LANES, before, leader) + u32(__popc(peers & lanes_below(lane)));
    }
    __syncthreads();
    u32 total = 0;
    for (u32 w = 0; w < SORT_WARPS; ++w) {
        u32* count = counts + w * DIGITS + threadIdx.x;
        const u32 here = *count;
        *count = total;
        total += here;
    }
    __syncthreads();
    return total;
}
