// One pass of a radix sort, least significant digit first: count the digits of every tile, sum over tiles (a scan
// between the two kernels), and write every pair to its place. Stable, hence the same bits every time.
//
// Defines: KEY, u32 or u64.
#include "digits.cuh"

__device__ __forceinline__ u32 digit_of(KEY key, u32 shift) { return u32(key >> shift) & (DIGITS - 1); }

// counts[digit * tiles + tile]
KERNEL(debye_radix_count, SORT_THREADS, const KEY* keys, u32* counts, u64 n, u32 shift)
{
    SHARED(u32, count, DIGITS);
    count[threadIdx.x] = 0;
    __syncthreads();
    const u64 start = u64(blockIdx.x) * SORT_TILE;
    for (u32 k = 0; k < SORT_ITEMS; ++k) {
        const u64 at = start + k * SORT_THREADS + threadIdx.x;
        if (at < n) atomicAdd(&count[digit_of(keys[at], shift)], 1u);
    }
    __syncthreads();
    counts[u64(threadIdx.x) * gridDim.x + blockIdx.x] = count[threadIdx.x];
}

KERNEL(debye_radix_scatter, SORT_THREADS, const KEY* keys, const u32* values, KEY* out_keys, u32* out_values,
       const u32* offsets, u64 n, u32 shift)
{
    SHARED(u32, counts, SORT_WARPS * DIGITS);
    SHARED(u32, first, DIGITS); // where a digit begins in the tile
    SHARED(u32, target, DIGITS); // where the tile's items of a digit begin in the output
    SHARED(u32, sums, SORT_WARPS);
    SHARED(KEY, exchange, SORT_TILE);
    const u64 start = u64(blockIdx.x) * SORT_TILE;
    const u32 here = u32(smaller(n - start, u64(SORT_TILE)));

    KEY key[SORT_ITEMS];
    u32 digit[SORT_ITEMS], place[SORT_ITEMS];
#pragma unroll
    for (u32 k = 0; k < SORT_ITEMS; ++k) {
        const u32 at = sort_place(threadIdx.x, k);
        key[k] = at < here ? keys[start + at] : KEY(0);
        digit[k] = at < here ? digit_of(key[k], shift) : DIGITS;
    }
    const u32 total = rank_tile(digit, place, counts);
    first[threadIdx.x] = block_exclusive(total, sums);
    target[threadIdx.x] = offsets[u64(threadIdx.x) * gridDim.x + blockIdx.x];
    __syncthreads();

    // Sort inside the tile first, so that neighbors go to neighboring places.
#pragma unroll
    for (u32 k = 0; k < SORT_ITEMS; ++k) {
        if (digit[k] == DIGITS) continue;
        place[k] += first[digit[k]] + counts[warp_of(threadIdx.x) * DIGITS + digit[k]];
        exchange[place[k]] = key[k];
    }
    __syncthreads();
    u32 to[SORT_ITEMS];
#pragma unroll
    for (u32 k = 0; k < SORT_ITEMS; ++k) {
        const u32 slot = k * SORT_THREADS + threadIdx.x;
        if (slot >= here) continue;
        const KEY mine = exchange[slot];
        const u32 d = digit_of(mine, shift);
        to[k] = target[d] + slot - first[d];
        out_keys[to[k]] = mine;
    }
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < SORT_ITEMS; ++k) {
        const u32 at = sort_place(threadIdx.x, k);
        if (at < here) exchange[place[k]] = KEY(values[start + at]);
    }
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < SORT_ITEMS; ++k) {
        const u32 slot = k * SORT_THREADS + threadIdx.x;
        if (slot < here) out_values[to[k]] = u32(exchange[slot]);
    }
}
