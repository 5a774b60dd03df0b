// What every kernel file begins with: fixed-width types, the macros that declare kernels and memory, and
// small helpers. A bare NVRTC ships no headers, so this is all there is. host/emulator.h stands in for the
// device half when the same file is compiled for the host.
#pragma once

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
using f32 = float;
using f64 = double;

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "fixed-width types");

constexpr u32 WARP = 32;
constexpr u32 ALL_LANES = 0xffffffffu;

// Where a field of a structure is, in bytes.
#ifdef DEBYE_EMULATED
#define OFFSET_OF(type, field) __builtin_offsetof(type, field)
#else
#define OFFSET_OF(type, field) __INTADDR__(&((type*)0)->field)
#endif

#ifndef DEBYE_EMULATED
// A kernel of at most `threads` threads per block.
#define KERNEL(name, threads, ...) extern "C" __global__ void __launch_bounds__(threads) name(__VA_ARGS__)
// The same, with registers limited so that `blocks` of them fit on a multiprocessor.
#define KERNEL_RESIDENT(name, threads, blocks, ...) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(__VA_ARGS__)
// Shared memory of a fixed size, and the shared memory whose size the launch gives.
#define SHARED(type, name, count) __shared__ type name[count]
#define DYNAMIC_SHARED(type, name)                                                    \
    extern __shared__ __align__(128) unsigned char debye_dynamic_shared[];            \
    type* name = reinterpret_cast<type*>(debye_dynamic_shared)
// Constant memory, set from the host by its name.
#define CONSTANT(type, name, count)  \
    extern "C" {                     \
    __constant__ type name[count];   \
    }
// Inside every loop that waits for another block.
#define SPIN()
// A device function that is called, not put in place.
#define CALLED __device__ __noinline__
// What is read below is not read earlier, where it would take registers.
#define LATER() asm volatile("" ::: "memory")

// Says whether the rest of a graph with a condition is done (Stream::capture_if).
extern "C" __device__ void cudaGraphSetConditional(u64 condition, u32 value);
__device__ __forceinline__ void set_condition(u64 condition, bool holds) { cudaGraphSetConditional(condition, holds); }

// Words through which blocks of one launch talk: never cached in L1, never torn.
__device__ __forceinline__ u64 load_relaxed(const u64* p)
{
    u64 x;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    return x;
}
__device__ __forceinline__ void store_relaxed(u64* p, u64 x)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory");
}
__device__ __forceinline__ u32 load_relaxed(const u32* p)
{
    u32 x;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}
// Adds to a word after all that this thread, and its block before the last barrier, wrote.
__device__ __forceinline__ void arrive(u64* p, u64 x)
{
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory");
}
// Reads a word before anything that this thread, and its block after the next barrier, reads.
__device__ __forceinline__ u64 load_acquire(const u64* p)
{
    u64 x;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    return x;
}
// 16 bytes that another multiprocessor wrote, past the first cache.
__device__ __forceinline__ uint4 load_through(const uint4* p)
{
    uint4 x;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p));
    return x;
}
#endif

__device__ __forceinline__ u32 lane_of(u32 thread) { return thread % WARP; }
__device__ __forceinline__ u32 warp_of(u32 thread) { return thread / WARP; }
// The lanes below this one.
__device__ __forceinline__ u32 lanes_below(u32 lane) { return (1u << lane) - 1u; }

__device__ __forceinline__ u32 smaller(u32 a, u32 b) { return a < b ? a : b; }
__device__ __forceinline__ u32 larger(u32 a, u32 b) { return a > b ? a : b; }
__device__ __forceinline__ u64 smaller(u64 a, u64 b) { return a < b ? a : b; }
__device__ __forceinline__ u64 larger(u64 a, u64 b) { return a > b ? a : b; }

// Sum over a warp, given to every lane.
__device__ __forceinline__ u32 warp_sum(u32 x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL_LANES, x);
#else
    for (u32 step = WARP / 2; step > 0; step /= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    return x;
#endif
}

// The lowest and the highest of a warp, given to every lane.
__device__ __forceinline__ i32 warp_lowest(i32 x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_min_sync(ALL_LANES, x);
#else
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        const i32 other = __shfl_xor_sync(ALL_LANES, x, step);
        x = other < x ? other : x;
    }
    return x;
#endif
}
__device__ __forceinline__ i32 warp_highest(i32 x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_max_sync(ALL_LANES, x);
#else
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        const i32 other = __shfl_xor_sync(ALL_LANES, x, step);
        x = other > x ? other : x;
    }
    return x;
#endif
}

// Sum over this lane and those below it.
__device__ __forceinline__ u32 warp_inclusive(u32 x, u32 lane)
{
    for (u32 step = 1; step < WARP; step *= 2) {
        const u32 below = __shfl_up_sync(ALL_LANES, x, step);
        if (lane >= step) x += below;
    }
    return x;
}
