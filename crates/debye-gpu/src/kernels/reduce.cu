// Sums and extremes. Whole numbers may be added in any order; floating-point sums are made in one fixed order.
#include "primitives_shared.cuh"

constexpr u32 THREADS = 256;
constexpr u32 WARPS = THREADS / WARP;

// Combines a value of every thread; thread 0 has the answer. `room` holds WARPS words.
template <class F> __device__ __forceinline__ u64 block_combine(u64 x, u64* room, F&& with)
{
    for (u32 step = WARP / 2; step > 0; step /= 2) x = with(x, __shfl_xor_sync(ALL_LANES, x, step));
    if (lane_of(threadIdx.x) == 0) room[warp_of(threadIdx.x)] = x;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 w = 1; w < WARPS; ++w) x = with(x, room[w]);
    }
    return x;
}

struct Add {
    __device__ u64 operator()(u64 a, u64 b) const { return a + b; }
};
struct Smaller {
    __device__ u64 operator()(u64 a, u64 b) const { return a < b ? a : b; }
};
struct Larger {
    __device__ u64 operator()(u64 a, u64 b) const { return a > b ? a : b; }
};

// out[0] += the sum, wrapping.
KERNEL(debye_sum_i64, THREADS, const i64* x, u64* out, u64 n)
{
    SHARED(u64, room, WARPS);
    u64 sum = 0;
    for (u64 i = u64(blockIdx.x) * THREADS + threadIdx.x; i < n; i += u64(gridDim.x) * THREADS) sum += u64(x[i]);
    sum = block_combine(sum, room, Add());
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

// A number as a whole number of 1/scale; what does not fit raises the flag.
__device__ __forceinline__ u64 fixed_point(f64 x, f64 scale, u32* flag)
{
    const f64 y = x * scale;
    // 2^62; NaN is not below it either.
    if (!(y < 4611686018427387904.0 && y > -4611686018427387904.0)) {
        atomicOr(flag, 1u);
        return 0;
    }
    return u64(__double2ll_rn(y));
}

// out[0] += the sum of numbers as whole numbers of 1/scale.
template <class T>
__device__ __forceinline__ void sum_fixed(const T* x, u64* out, u32* flag, f64 scale, u64 n, u64* room)
{
    u64 sum = 0;
    for (u64 i = u64(blockIdx.x) * THREADS + threadIdx.x; i < n; i += u64(gridDim.x) * THREADS) {
        sum += fixed_point(f64(x[i]), scale, flag);
    }
    sum = block_combine(sum, room, Add());
    if (threadIdx.x == 0) atomicAdd(out, sum);
}
KERNEL(debye_sum_fixed_f32, THREADS, const f32* x, u64* out, u32* flag, f64 scale, u64 n)
{
    SHARED(u64, room, WARPS);
    sum_fixed(x, out, flag, scale, n, room);
}
KERNEL(debye_sum_fixed_f64, THREADS, const f64* x, u64* out, u32* flag, f64 scale, u64 n)
{
    SHARED(u64, room, WARPS);
    sum_fixed(x, out, flag, scale, n, room);
}

// out[s] = the sum of x[starts[s]..starts[s + 1]], one warp each.
KERNEL(debye_sum_segments, THREADS, const i64* x, const u32* starts, i64* out, u32 segments)
{
    const u32 segment = blockIdx.x * WARPS + warp_of(threadIdx.x), lane = lane_of(threadIdx.x);
    if (segment >= segments) return;
    u64 sum = 0;
    for (u32 i = starts[segment] + lane; i < starts[segment + 1]; i += WARP) sum += u64(x[i]);
    for (u32 step = WARP / 2; step > 0; step /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, step);
    if (lane == 0) out[segment] = i64(sum);
}

// Keys in the order of the values. 0 and the largest stay free for what is not a number.
__device__ __forceinline__ u64 key_of(u32 x) { return u64(x) + 1; }
__device__ __forceinline__ u64 key_of(i32 x) { return u64(u32(x) ^ 0x80000000u) + 1; }
__device__ __forceinline__ u64 key_of(f64 x)
{
    const u64 bits = u64(__double_as_longlong(x));
    return bits >> 63 ? ~bits : bits | 0x8000000000000000u;
}
__device__ __forceinline__ u64 key_of(f32 x) { return key_of(f64(x)); }
__device__ __forceinline__ bool is_number(u32) { return true; }
__device__ __forceinline__ bool is_number(i32) { return true; }
__device__ __forceinline__ bool is_number(f32 x) { return x == x; }
__device__ __forceinline__ bool is_number(f64 x) { return x == x; }

// out[0] and out[1]: the smallest and the largest key; 0 and the largest key where there is a NaN.
template <class T> __device__ __forceinline__ void extremes(const T* x, u64* out, u64 n, u64* room)
{
    u64 least = ~u64(0), most = 0;
    for (u64 i = u64(blockIdx.x) * THREADS + threadIdx.x; i < n; i += u64(gridDim.x) * THREADS) {
        const u64 key = key_of(x[i]);
        least = smaller(least, is_number(x[i]) ? key : 0);
        most = larger(most, is_number(x[i]) ? key : ~u64(0));
    }
    least = block_combine(least, room, Smaller());
    __syncthreads();
    most = block_combine(most, room, Larger());
    if (threadIdx.x == 0) {
        atomicMin(out, least);
        atomicMax(out + 1, most);
    }
}
#define EXTREMES(type)                                                         \
    KERNEL(debye_extremes_##type, THREADS, const type* x, u64* out, u64 n)     \
    {                                                                          \
        SHARED(u64, room, WARPS);                                              \
        extremes(x, out, n, room);                                             \
    }
EXTREMES(u32)
EXTREMES(i32)
EXTREMES(f32)
EXTREMES(f64)

// One level of a tree of sums in an order that depends on n alone: out[tile] is the sum of TREE_TILE numbers, each
// thread's in sequence, then halves onto halves.
constexpr u32 TREE_ITEMS = TREE_TILE / THREADS;
KERNEL(debye_tree_f64, THREADS, const f64* x, f64* out, u64 n)
{
    SHARED(f64, room, THREADS);
    const u64 start = u64(blockIdx.x) * TREE_TILE + threadIdx.x;
    f64 sum = 0.0;
    for (u32 k = 0; k < TREE_ITEMS; ++k) {
        const u64 i = start + k * THREADS;
        if (i < n) sum += x[i];
    }
    room[threadIdx.x] = sum;
    for (u32 half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) room[threadIdx.x] += room[threadIdx.x + half];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = room[0];
}
