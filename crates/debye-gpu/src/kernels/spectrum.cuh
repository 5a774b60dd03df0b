// How the spectrum of a real mesh lies in memory, and sums over it.
//
// Defines: PRECISION, N1 N2 N3 (points of the mesh), PADDED (1: planes of the spectrum begin on lines of the cache).
#pragma once
#include "fft.cuh"
#include "transforms_shared.cuh"

// The spectrum is [x][y][kz], kz < HALF; a column is y·HALF + kz.
constexpr u32 HALF = N3 / 2 + 1;
constexpr u32 COLUMNS = N2 * HALF;
constexpr u32 PLANE = PADDED ? (COLUMNS + 15) / 16 * 16 : COLUMNS;

// Adds what all blocks left, SUMS numbers each, in one order. A block of its own.
template <u32 THREADS, u32 SUMS>
__device__ __forceinline__ void add_partial(f64* sums, const f64* partial, u32 blocks)
{
    for (u32 k = warp_of(threadIdx.x); k < SUMS; k += THREADS / WARP) {
        f64 x = 0.0;
        for (u32 b = lane_of(threadIdx.x); b < blocks; b += WARP) x += partial[u64(b) * SUMS + k];
        for (u32 step = WARP / 2; step > 0; step /= 2) x += __shfl_down_sync(ALL_LANES, x, step);
        if (lane_of(threadIdx.x) == 0) sums[k] = x;
    }
}

// Leaves the sums of a block for `add_partial`. `warps` has room for SUMS numbers a warp. All threads call it.
template <u32 THREADS, u32 SUMS>
__device__ __forceinline__ void leave_partial(f64* partial, f64 (&sums)[SUMS], f64* warps)
{
    constexpr u32 WARPS = THREADS / WARP;
#pragma unroll
    for (u32 k = 0; k < SUMS; ++k) {
        for (u32 step = WARP / 2; step > 0; step /= 2) sums[k] += __shfl_down_sync(ALL_LANES, sums[k], step);
        if (lane_of(threadIdx.x) == 0) warps[k * WARPS + warp_of(threadIdx.x)] = sums[k];
    }
    __syncthreads();
    if (threadIdx.x < SUMS) {
        f64 sum = 0.0;
        for (u32 w = 0; w < WARPS; ++w) sum += warps[threadIdx.x * WARPS + w];
        partial[u64(blockIdx.x) * SUMS + threadIdx.x] = sum;
    }
}
