// CUDA kernels on the host: the names of CUDA C++ that prelude.cuh and the kernels use, with the meaning that
// emulator.cpp gives them. Included before every kernel file when it is compiled for the host.
#pragma once
#define DEBYE_EMULATED 1

#include <cstddef>
// The special functions of C++17, which no kernel uses, are half of what all headers here take to compile. The macro is
// libstdc++'s own; other libraries have none of that name.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

// All else stays inside the library, so that several of them in one process have nothing in common.
#define DEBYE_VISIBLE __attribute__((visibility("default")))

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))

struct dim3 {
    unsigned x, y, z;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct uint3 {
    unsigned x, y, z;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) ushort4 {
    unsigned short x, y, z, w;
};
struct alignas(8) int2 {
    int x, y;
};
struct int3 {
    int x, y, z;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct float3 {
    float x, y, z;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
struct double3 {
    double x, y, z;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline int3 make_int3(int x, int y, int z) { return {x, y, z}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
inline double3 make_double3(double x, double y, double z) { return {x, y, z}; }

namespace debye_emulator {

// What a thread can see of itself; set by the scheduler before it runs.
struct Self {
    dim3 thread, block, block_size, grid_size;
};
extern Self self;

// What the collective calls of a warp do.
enum class Collective : int {
    Sync, Shuffle, ShuffleUp, ShuffleDown, ShuffleXor, Ballot, MatchAny, MatchAll,
    AddU32, MinU32, MaxU32, MinI32, MaxI32, And, Or, Xor,
};
enum class Vote : int { None, Count, And, Or };

int block_barrier(const char* file, int line, Vote vote, int value);
std::uint64_t warp_collective(const char* file, int line, Collective what, unsigned mask, std::uint64_t value,
                              int lane_argument, int width);
unsigned active_lanes();
// Lets other threads run.
void spin();
// Around every access that other threads may make at the same time; the first may let others run before it, the last is
// told whether memory has changed.
void shared_access_begins(const void* address, std::size_t size, bool writes);
void shared_access_ends(bool changed);
// The memory of this block behind a declaration, made when the first thread comes by.
void* static_shared(const void* declaration, std::size_t size);
void* dynamic_shared();
long long clock_now();

// The type of a parameter in words, compared with what the host believes it to be.
template <class T> struct Name {
    static_assert(sizeof(T) < 10000, "a parameter this large");
    static constexpr char text[] = {'s', 't', 'r', 'u', 'c', 't', char('0' + sizeof(T) / 1000 % 10),
                                    char('0' + sizeof(T) / 100 % 10), char('0' + sizeof(T) / 10 % 10),
                                    char('0' + sizeof(T) % 10), 0};
    static const char* get() { return text; }
};
#define DEBYE_NAME(type, words) \
    template <> struct Name<type> { static const char* get() { return words; } };
DEBYE_NAME(unsigned char, "u8")
DEBYE_NAME(unsigned short, "u16")
DEBYE_NAME(unsigned, "u32")
DEBYE_NAME(unsigned long long, "u64")
DEBYE_NAME(int, "i32")
DEBYE_NAME(long long, "i64")
DEBYE_NAME(float, "f32")
DEBYE_NAME(double, "f64")
#undef DEBYE_NAME
template <class T> struct Parameter {
    static void append(char* text) { std::strcat(text, Name<T>::get()); }
};
template <class T> struct Parameter<T*> {
    static void append(char* text) { std::strcat(std::strcat(text, "*mut "), Name<T>::get()); }
};
template <class T> struct Parameter<const T*> {
    static void append(char* text) { std::strcat(std::strcat(text, "*const "), Name<T>::get()); }
};

using Call = void (*)(void**);

// A kernel as the host sees it.
struct Kernel {
    const char* name;
    const char* signature;
    Call call;
    unsigned threads;
};
void declare(const Kernel& kernel);

template <auto F, class S> struct Caller;
template <auto F, class... A> struct Caller<F, void (*)(A...)> {
    template <std::size_t... I> static void apply(void** values, std::integer_sequence<std::size_t, I...>)
    {
        F(*static_cast<std::remove_cv_t<A>*>(values[I])...);
    }
    static void call(void** values) { apply(values, std::make_integer_sequence<std::size_t, sizeof...(A)>()); }
    static const char* signature()
    {
        static char text[32 * sizeof...(A) + 1];
        const char* comma = "";
        ((std::strcat(text, comma), Parameter<A>::append(text), comma = ", "), ...);
        return text;
    }
};

template <auto F> struct Declared {
    Declared(const char* name, unsigned threads)
    {
        using C = Caller<F, decltype(F)>;
        declare({name, C::signature(), &C::call, threads});
    }
};

template <class T> std::uint64_t bits(T x)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    std::uint64_t y = 0;
    std::memcpy(&y, &x, sizeof(T));
    return y;
}
template <class T> T value(std::uint64_t x)
{
    T y;
    std::memcpy(&y, &x, sizeof(T));
    return y;
}
template <class T>
T shuffle(const char* file, int line, Collective what, unsigned mask, T x, int lane, int width = 32)
{
    return value<T>(warp_collective(file, line, what, mask, bits(x), lane, width));
}
inline void sync_warp(const char* file, int line, unsigned mask = 0xffffffffu)
{
    warp_collective(file, line, Collective::Sync, mask, 0, 0, 32);
}
template <class T> unsigned match_any(const char* file, int line, unsigned mask, T x)
{
    return unsigned(warp_collective(file, line, Collective::MatchAny, mask, bits(x), 0, 32));
}
template <class T> unsigned match_all(const char* file, int line, unsigned mask, T x, int* same)
{
    const unsigned lanes = unsigned(warp_collective(file, line, Collective::MatchAll, mask, bits(x), 0, 32));
    *same = lanes != 0;
    return lanes;
}

template <class T, class F> T exchange(T* p, F&& change)
{
    shared_access_begins(p, sizeof(T), true);
    const T old = *p, now = change(old);
    *p = now;
    shared_access_ends(!(old == now));
    return old;
}
template <class T> T wrapping_add(T a, T b) { return a + b; }
inline int wrapping_add(int a, int b) { return int(unsigned(a) + unsigned(b)); }

} // namespace debye_emulator

#define threadIdx (debye_emulator::self.thread)
#define blockIdx (debye_emulator::self.block)
#define blockDim (debye_emulator::self.block_size)
#define gridDim (debye_emulator::self.grid_size)
#define warpSize 32

#define DEBYE_VOTE(vote, value) debye_emulator::block_barrier(__FILE__, __LINE__, debye_emulator::Vote::vote, value)
#define __syncthreads() (void)DEBYE_VOTE(None, 0)
#define __syncthreads_count(p) DEBYE_VOTE(Count, (p) != 0)
#define __syncthreads_and(p) DEBYE_VOTE(And, (p) != 0)
#define __syncthreads_or(p) DEBYE_VOTE(Or, (p) != 0)
#define __syncwarp(...) debye_emulator::sync_warp(__FILE__, __LINE__ __VA_OPT__(,) __VA_ARGS__)
#define DEBYE_SHUFFLE(what, ...) \
    debye_emulator::shuffle(__FILE__, __LINE__, debye_emulator::Collective::what, __VA_ARGS__)
#define __shfl_sync(...) DEBYE_SHUFFLE(Shuffle, __VA_ARGS__)
#define __shfl_up_sync(...) DEBYE_SHUFFLE(ShuffleUp, __VA_ARGS__)
#define __shfl_down_sync(...) DEBYE_SHUFFLE(ShuffleDown, __VA_ARGS__)
#define __shfl_xor_sync(...) DEBYE_SHUFFLE(ShuffleXor, __VA_ARGS__)
#define DEBYE_COLLECTIVE(what, mask, x)                                                                           \
    debye_emulator::warp_collective(__FILE__, __LINE__, debye_emulator::Collective::what, mask,                   \
                                    debye_emulator::bits(x), 0, 32)
#define __ballot_sync(mask, p) unsigned(DEBYE_COLLECTIVE(Ballot, mask, unsigned((p) != 0)))
#define __any_sync(mask, p) int(DEBYE_COLLECTIVE(Ballot, mask, unsigned((p) != 0)) != 0)
#define __all_sync(mask, p) int(DEBYE_COLLECTIVE(Ballot, mask, unsigned((p) == 0)) == 0)
#define __match_any_sync(mask, x) debye_emulator::match_any(__FILE__, __LINE__, mask, x)
#define __match_all_sync(mask, x, same) debye_emulator::match_all(__FILE__, __LINE__, mask, x, same)
#define __reduce_add_sync(mask, x) decltype(x)(DEBYE_COLLECTIVE(AddU32, mask, x))
#define __reduce_min_sync(mask, x) debye_emulator::warp_min(__FILE__, __LINE__, mask, x)
#define __reduce_max_sync(mask, x) debye_emulator::warp_max(__FILE__, __LINE__, mask, x)
#define __reduce_and_sync(mask, x) unsigned(DEBYE_COLLECTIVE(And, mask, x))
#define __reduce_or_sync(mask, x) unsigned(DEBYE_COLLECTIVE(Or, mask, x))
#define __reduce_xor_sync(mask, x) unsigned(DEBYE_COLLECTIVE(Xor, mask, x))
#define __activemask() debye_emulator::active_lanes()

namespace debye_emulator {
inline unsigned warp_min(const char* f, int l, unsigned mask, unsigned x)
{
    return unsigned(warp_collective(f, l, Collective::MinU32, mask, x, 0, 32));
}
inline int warp_min(const char* f, int l, unsigned mask, int x)
{
    return int(unsigned(warp_collective(f, l, Collective::MinI32, mask, bits(x), 0, 32)));
}
inline unsigned warp_max(const char* f, int l, unsigned mask, unsigned x)
{
    return unsigned(warp_collective(f, l, Collective::MaxU32, mask, x, 0, 32));
}
inline int warp_max(const char* f, int l, unsigned mask, int x)
{
    return int(unsigned(warp_collective(f, l, Collective::MaxI32, mask, bits(x), 0, 32)));
}
} // namespace debye_emulator

#define SPIN() debye_emulator::spin()
#define __nanosleep(ns) debye_emulator::spin()
#define __threadfence() ((void)0)
#define __threadfence_block() ((void)0)
#define __threadfence_system() ((void)0)
#define clock64() debye_emulator::clock_now()

template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return *p; }
template <class T> T __ldcs(const T* p) { return *p; }
template <class T> void __stcs(T* p, T x) { *p = x; }
template <class T> void __stcg(T* p, T x) { *p = x; }

#define DEBYE_ATOMIC(name, expression)                                                                            \
    template <class T> T name(T* p, std::remove_cv_t<T> x)                                                        \
    {                                                                                                             \
        return debye_emulator::exchange(p, [=](T old) { return T(expression); });                                 \
    }
DEBYE_ATOMIC(atomicAdd, debye_emulator::wrapping_add(old, x))
DEBYE_ATOMIC(atomicSub, old - x)
DEBYE_ATOMIC(atomicExch, x)
DEBYE_ATOMIC(atomicMin, old < x ? old : x)
DEBYE_ATOMIC(atomicMax, old > x ? old : x)
DEBYE_ATOMIC(atomicAnd, old & x)
DEBYE_ATOMIC(atomicOr, old | x)
DEBYE_ATOMIC(atomicXor, old ^ x)
DEBYE_ATOMIC(atomicInc, old >= x ? 0 : old + 1)
#undef DEBYE_ATOMIC
template <class T> T atomicCAS(T* p, std::remove_cv_t<T> expected, std::remove_cv_t<T> x)
{
    return debye_emulator::exchange(p, [=](T old) { return old == expected ? x : old; });
}

template <class T> T debye_load(const T* p)
{
    debye_emulator::shared_access_begins(p, sizeof(T), false);
    const T x = *p;
    debye_emulator::shared_access_ends(false);
    return x;
}
inline void set_condition(unsigned long long condition, bool holds) { *reinterpret_cast<unsigned*>(condition) = holds; }

inline unsigned long long load_relaxed(const unsigned long long* p) { return debye_load(p); }
inline unsigned load_relaxed(const unsigned* p) { return debye_load(p); }
inline unsigned long long load_acquire(const unsigned long long* p) { return debye_load(p); }
inline uint4 load_through(const uint4* p) { return *p; }
inline void arrive(unsigned long long* p, unsigned long long x) { atomicAdd(p, x); }
inline void store_relaxed(unsigned long long* p, unsigned long long x)
{
    debye_emulator::shared_access_begins(p, 8, true);
    const bool changes = *p != x;
    *p = x;
    debye_emulator::shared_access_ends(changes);
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned __brev(unsigned x)
{
    unsigned y = 0;
    for (int i = 0; i < 32; ++i) y |= (x >> i & 1u) << (31 - i);
    return y;
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __float_as_uint(float x) { return unsigned(debye_emulator::bits(x)); }
inline int __float_as_int(float x) { return int(unsigned(debye_emulator::bits(x))); }
inline float __uint_as_float(unsigned x) { return debye_emulator::value<float>(x); }
inline float __int_as_float(int x) { return debye_emulator::value<float>(unsigned(x)); }
inline long long __double_as_longlong(double x) { return (long long)debye_emulator::bits(x); }
inline double __longlong_as_double(long long x) { return debye_emulator::value<double>(std::uint64_t(x)); }
inline long long __double2ll_rn(double x) { return std::llrint(x); }
inline long long __float2ll_rn(float x) { return std::llrint(x); }
inline int __float2int_rn(float x) { return int(std::lrint(x)); }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double x) { return std::sqrt(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }

// Declarations of prelude.cuh, for the host.
#define KERNEL(name, threads, ...)                                                                \
    static void name(__VA_ARGS__);                                                                \
    static const debye_emulator::Declared<&name> debye_declared_##name(#name, (threads));         \
    static void name(__VA_ARGS__)
#define KERNEL_RESIDENT(name, threads, blocks, ...) KERNEL(name, threads, __VA_ARGS__)
#define LATER()
#define CALLED inline
#define SHARED(type, name, count)                                                                 \
    static char debye_key_##name;                                                                 \
    auto& name = *static_cast<type(*)[count]>(                                                    \
        debye_emulator::static_shared(&debye_key_##name, sizeof(type[count])))
#define DYNAMIC_SHARED(type, name) type* name = static_cast<type*>(debye_emulator::dynamic_shared())
#define CONSTANT(type, name, count)                                                               \
    extern "C" DEBYE_VISIBLE type name[count];                                                    \
    extern "C" DEBYE_VISIBLE const std::size_t debye_bytes_of_##name;                                         \
    const std::size_t debye_bytes_of_##name = sizeof(type[count]);                                \
    type name[count];
