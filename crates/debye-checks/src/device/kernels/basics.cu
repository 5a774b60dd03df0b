// Small kernels that use every part of the language our kernels rely on, so that a card and its emulation can be
// compared with plain loops.
#include "numbers.cuh"

CONSTANT(u32, debye_weights, 4)

KERNEL(debye_parameters, 128, u32* whole, f32* single_precision, f64* double_precision, Numbers numbers, u32 n)
{
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    whole[i] = i * numbers.factor + debye_weights[i % 4];
    single_precision[i] = f32(i) * numbers.half;
    double_precision[i] = f64(i) * numbers.third;
}

// Eight words per thread: one from each collective.
KERNEL(debye_collectives, 256, const u32* in, u32* out)
{
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x, lane = lane_of(threadIdx.x);
    const u32 x = in[i];
    u32* mine = out + i * 8;
    mine[0] = __shfl_sync(ALL_LANES, x, i32(lane ^ 5));
    mine[1] = __shfl_up_sync(ALL_LANES, x, 3);
    mine[2] = __shfl_down_sync(ALL_LANES, x, 2, 8);
    mine[3] = __ballot_sync(ALL_LANES, x & 1);
    mine[4] = __match_any_sync(ALL_LANES, x % 3);
    mine[5] = warp_sum(x);
    // Halves of the warp apart, through different branches.
    u32 least = 0;
    if (lane < 16) {
        for (u32 step = 8; step > 0; step /= 2) least = larger(least, __shfl_xor_sync(0x0000ffffu, x, step));
    } else {
        least = u32(__any_sync(0xffff0000u, x == 7)) + 2 * u32(__all_sync(0xffff0000u, x < 1000));
    }
    mine[6] = least;
    mine[7] = u32(__syncthreads_count(x % 5 == 0));
}

// Reverses each block's part through dynamic shared memory, and counts values with atomics of every width.
KERNEL(debye_shared, 256, const u32* in, u32* out, u32* counts, u64* sum, u32* most, f32* float_sum)
{
    DYNAMIC_SHARED(u32, tile);
    SHARED(u32, local, 8);
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 8) local[threadIdx.x] = 0;
    tile[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = tile[blockDim.x - 1 - threadIdx.x];
    atomicAdd(&local[in[i] % 8], 1u);
    atomicAdd(sum, u64(in[i]) << 20);
    atomicMax(most, in[i]);
    atomicAdd(float_sum, 0.25f);
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

// Blocks that wait for each other: in every round each block adds one and waits for all.
KERNEL(debye_meeting, 64, u64* arrived, u32* seen, u32 rounds)
{
    for (u32 round = 0; round < rounds; ++round) {
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(arrived, u64(1));
            while (load_relaxed(arrived) < u64(round + 1) * gridDim.x) SPIN();
        }
        __syncthreads();
        if (threadIdx.x == 1) seen[round * gridDim.x + blockIdx.x] = u32(load_relaxed(arrived) / gridDim.x);
    }
}

// Decides about the rest of a graph.
KERNEL(debye_decide, 32, const u32* word, u64 condition)
{
    if (threadIdx.x == 0) set_condition(condition, *word != 0);
}
