// Sums over a block.
#pragma once
#include "engine.cuh"

// Sum over a block in one order, to thread 0. `shared` has room for its warps.
__device__ __forceinline__ f64 block_sum(f64 x, f64* shared)
{
    for (u32 step = WARP / 2; step > 0; step /= 2) x += __shfl_down_sync(ALL_LANES, x, step);
    __syncthreads();
    if (lane_of(threadIdx.x) == 0) shared[warp_of(threadIdx.x)] = x;
    __syncthreads();
    f64 sum = 0.0;
    if (threadIdx.x == 0) {
        for (u32 w = 0; w < BLOCK_WARPS; ++w) sum += shared[w];
    }
    return sum;
}
