// Kernels that are wrong on purpose: the emulator must say so.
#include "prelude.cuh"

KERNEL(debye_fault_barrier, 64, u32* out)
{
    if (threadIdx.x < 32) __syncthreads();
    out[threadIdx.x] = 1;
}

KERNEL(debye_fault_two_barriers, 64, u32* out)
{
    if (threadIdx.x < 32) {
        __syncthreads();
        out[threadIdx.x] = 1;
    } else {
        __syncthreads();
        out[threadIdx.x] = 2;
    }
}

KERNEL(debye_fault_shuffle, 64, u32* out)
{
    if (threadIdx.x % 32 < 16) out[threadIdx.x] = __shfl_xor_sync(ALL_LANES, threadIdx.x, 1);
    __syncthreads();
}

KERNEL(debye_fault_spin, 64, u64* flag)
{
    while (load_relaxed(flag) == 0) SPIN();
}

// Nothing is wrong here: a thread that adds for long is no endless loop.
KERNEL(debye_no_fault_adds, 64, u32* out, u32 times)
{
    for (u32 k = 0; k < times; ++k) atomicAdd(&out[threadIdx.x], 1u);
}

// No barrier between writing and reading.
KERNEL(debye_fault_race, 64, u32* out)
{
    SHARED(u32, room, 64);
    room[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = room[(threadIdx.x + 1) % 64];
}

// A shuffle does not order memory; a barrier of the warp does, but only for the warp.
KERNEL(debye_fault_warp_race, 64, u32* out, u32 distance)
{
    SHARED(u32, room, 64);
    room[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = room[(threadIdx.x + distance) % 64];
}

// Two blocks add to one word.
KERNEL(debye_fault_block_race, 32, u32* out)
{
    if (threadIdx.x == 0) out[0] += 1;
}

KERNEL(debye_fault_beyond, 64, u32* out, u32 beyond) { out[threadIdx.x + beyond] = 1; }

KERNEL(debye_fault_shared_beyond, 64, u32* out, u32 beyond)
{
    SHARED(u32, room, 64);
    room[threadIdx.x + beyond] = 1;
    __syncthreads();
    out[threadIdx.x] = room[threadIdx.x];
}

KERNEL(debye_fault_shift, 64, u32* out, u32 distance) { out[threadIdx.x] = 1u << distance; }
