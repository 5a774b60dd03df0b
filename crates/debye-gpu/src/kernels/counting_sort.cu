// A stable counting sort of indices by key. Items take their places in a bucket in any order (atomics), then each
// bucket is put in the order of the indices, which makes the result stable and the same every time. Buckets of up
// to SHORT items are put in order by counting; the longer ones, which are rare, by a radix sort in one block.
#include "digits.cuh"

KERNEL(debye_sort_count, 256, const u32* keys, u32* counts, u32* ranks, u32* long_list, SortNotes* notes, u32 n,
       u32 buckets)
{
    const u32 i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    const u32 key = keys[i];
    if (key >= buckets) {
        atomicAdd(&notes->bad_keys, 1u);
        return;
    }
    const u32 rank = atomicAdd(&counts[key], 1u);
    ranks[i] = rank;
    if (rank == SHORT) long_list[atomicAdd(&notes->long_buckets, 1u)] = key;
}

KERNEL(debye_sort_scatter, 256, const u32* keys, const u32* starts, const u32* ranks, u32* any_order, u32 n,
       u32 buckets)
{
    const u32 i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    const u32 key = keys[i];
    if (key < buckets) any_order[starts[key] + ranks[i]] = i;
}

// The items of short buckets, each to its own place.
KERNEL(debye_sort_rows, 256, const u32* keys, const u32* starts, const u32* any_order, u32* order, u32 buckets)
{
    const u32 at = blockIdx.x * 256 + threadIdx.x;
    if (at >= starts[buckets]) return;
    const u32 i = any_order[at], key = keys[i];
    const u32 from = starts[key], to = starts[key + 1];
    if (to - from > SHORT) return;
    u32 before = 0;
    for (u32 other = from; other < to; ++other) before += any_order[other] < i;
    order[from + before] = i;
}

// The long buckets, one after the other. `passes` is odd and covers all bits of an index.
KERNEL(debye_sort_long_rows, SORT_THREADS, const u32* starts, const u32* long_list, const SortNotes* notes,
       u32* any_order, u32* order, u32 passes)
{
    SHARED(u32, counts, SORT_WARPS * DIGITS);
    SHARED(u32, next, DIGITS); // where the next item of a digit goes
    SHARED(u32, sums, SORT_WARPS);
    const u32 buckets = notes->long_buckets;
    for (u32 b = blockIdx.x; b < buckets; b += gridDim.x) {
        const u32 from = starts[long_list[b]], length = starts[long_list[b] + 1] - from;
        u32* source = any_order + from;
        u32* target = order + from;
        for (u32 pass = 0; pass < passes; ++pass) {
            auto digit_of = [&](u32 x) { return pass < 4 ? x >> (8 * pass) & (DIGITS - 1) : 0; };
            next[threadIdx.x] = 0;
            __syncthreads();
            for (u32 at = threadIdx.x; at < length; at += SORT_THREADS) atomicAdd(&next[digit_of(source[at])], 1u);
            __syncthreads();
            const u32 mine = next[threadIdx.x];
            const u32 before = block_exclusive(mine, sums);
            next[threadIdx.x] = before;
            for (u32 start = 0; start < length; start += SORT_TILE) {
                u32 item[SORT_ITEMS], digit[SORT_ITEMS], rank[SORT_ITEMS];
#pragma unroll
                for (u32 k = 0; k < SORT_ITEMS; ++k) {
                    const u32 at = start + sort_place(threadIdx.x, k);
                    item[k] = at < length ? source[at] : 0;
                    digit[k] = at < length ? digit_of(item[k]) : DIGITS;
                }
                const u32 total = rank_tile(digit, rank, counts);
#pragma unroll
                for (u32 k = 0; k < SORT_ITEMS; ++k) {
                    if (digit[k] == DIGITS) continue;
                    target[next[digit[k]] + counts[warp_of(threadIdx.x) * DIGITS + digit[k]] + rank[k]] = item[k];
                }
                __syncthreads();
                next[threadIdx.x] += total;
                __syncthreads();
            }
            u32* other = source;
            source = target;
            target = other;
            __syncthreads();
        }
    }
}
