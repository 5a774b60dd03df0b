// Numbers of the coarse-grain study, by NUMBERS: 0 single, 1 double, 2 fixed point of 64 bits, 3 single by intrinsics,
// 4 mixed: double, but for pairs. `real` is what pairs are computed with, `stored` what lies in memory, `moving` what
// beads are moved with.
#pragma once

#if NUMBERS == 0
using real = f32;
using stored = f32;
#elif NUMBERS == 1
using real = f64;
using stored = f64;
#elif NUMBERS == 4
using real = f32;
using stored = f64;
#elif NUMBERS == 2
// 23 bits before the point, 40 behind it. The paper does not say how many it has.
constexpr i32 POINT = 40;

struct Number {
    i64 bits;
    __device__ __forceinline__ Number() : bits(0) {}
    __device__ __forceinline__ Number(f64 x) : bits(__double2ll_rn(x * f64(1ll << POINT))) {}
    __device__ __forceinline__ explicit Number(i64 whole, i32) : bits(whole) {}
};
using real = Number;
using stored = i64;

__device__ __forceinline__ Number fixed_of(i64 bits) { return Number(bits, 0); }
__device__ __forceinline__ Number operator+(Number a, Number b) { return fixed_of(a.bits + b.bits); }
__device__ __forceinline__ Number operator-(Number a, Number b) { return fixed_of(a.bits - b.bits); }
__device__ __forceinline__ Number operator-(Number a) { return fixed_of(-a.bits); }
__device__ __forceinline__ bool operator<(Number a, Number b) { return a.bits < b.bits; }
__device__ __forceinline__ Number operator*(Number a, Number b)
{
#ifdef DEBYE_EMULATED
    return fixed_of(i64((__int128(a.bits) * b.bits) >> POINT));
#else
    return fixed_of((__mul64hi(a.bits, b.bits) << (64 - POINT)) | i64(u64(a.bits * b.bits) >> POINT));
#endif
}
// From an estimate in single precision, by two steps of Newton's method.
__device__ __forceinline__ Number reciprocal(Number a)
{
    const f32 estimate = 1.0f / (f32(a.bits) * (1.0f / f32(1ll << POINT)));
    Number x = fixed_of(__float2ll_rn(estimate * f32(1ll << POINT)));
    for (i32 step = 0; step < 2; ++step) x = x * (Number(2.0) - a * x);
    return x;
}
__device__ __forceinline__ Number operator/(Number a, Number b) { return a * reciprocal(b); }
__device__ __forceinline__ Number rsqrt(Number a)
{
    const f32 estimate = rsqrtf(f32(a.bits) * (1.0f / f32(1ll << POINT)));
    Number x = fixed_of(__float2ll_rn(estimate * f32(1ll << POINT)));
    for (i32 step = 0; step < 2; ++step) x = x * (Number(1.5) - Number(0.5) * (a * (x * x)));
    return x;
}
__device__ __forceinline__ Number sqrt(Number a) { return a * rsqrt(a); }
__device__ __forceinline__ Number fma(Number a, Number b, Number c) { return a * b + c; }
__device__ __forceinline__ Number load(i64 x) { return fixed_of(x); }
__device__ __forceinline__ i64 keep(Number x) { return x.bits; }
using moving = f64;
__device__ __forceinline__ f64 to_moving(i64 x) { return f64(x) / f64(1ll << POINT); }
__device__ __forceinline__ f64 to_moving(Number x) { return to_moving(x.bits); }
__device__ __forceinline__ i64 from_moving(f64 x) { return Number(x).bits; }
#else
// Additions, products, quotients and roots that round to nearest and are never joined.
#ifdef DEBYE_EMULATED
inline f32 __fadd_rn(f32 a, f32 b) { return a + b; }
inline f32 __fdiv_rn(f32 a, f32 b) { return a / b; }
inline f32 __fsqrt_rn(f32 a) { return sqrtf(a); }
#endif

struct Number {
    f32 value;
    __device__ __forceinline__ Number() : value(0.0f) {}
    __device__ __forceinline__ Number(f64 x) : value(f32(x)) {}
    __device__ __forceinline__ explicit Number(f32 x, i32) : value(x) {}
};
using real = Number;
using stored = f32;

__device__ __forceinline__ Number exact_of(f32 x) { return Number(x, 0); }
__device__ __forceinline__ Number operator+(Number a, Number b) { return exact_of(__fadd_rn(a.value, b.value)); }
__device__ __forceinline__ Number operator-(Number a, Number b) { return exact_of(__fadd_rn(a.value, -b.value)); }
__device__ __forceinline__ Number operator-(Number a) { return exact_of(-a.value); }
__device__ __forceinline__ bool operator<(Number a, Number b) { return a.value < b.value; }
__device__ __forceinline__ Number operator*(Number a, Number b) { return exact_of(__fmul_rn(a.value, b.value)); }
__device__ __forceinline__ Number operator/(Number a, Number b) { return exact_of(__fdiv_rn(a.value, b.value)); }
__device__ __forceinline__ Number sqrt(Number a) { return exact_of(__fsqrt_rn(a.value)); }
__device__ __forceinline__ Number rsqrt(Number a) { return exact_of(__fdiv_rn(1.0f, __fsqrt_rn(a.value))); }
__device__ __forceinline__ Number fma(Number a, Number b, Number c) { return a * b + c; }
__device__ __forceinline__ Number load(f32 x) { return exact_of(x); }
__device__ __forceinline__ f32 keep(Number x) { return x.value; }
__device__ __forceinline__ f32 to_moving(Number x) { return x.value; }
#endif

#if NUMBERS < 2 || NUMBERS == 4
__device__ __forceinline__ real load(stored x) { return real(x); }
__device__ __forceinline__ stored keep(real x) { return x; }
#endif

// A difference of coordinates, rounded after it is taken.
__device__ __forceinline__ real apart(stored to, stored from)
{
#if NUMBERS == 4
    return real(to - from);
#else
    return load(to) - load(from);
#endif
}

#if NUMBERS != 2
using moving = stored;
__device__ __forceinline__ moving to_moving(stored x) { return x; }
__device__ __forceinline__ stored from_moving(moving x) { return x; }
#if NUMBERS == 4
__device__ __forceinline__ moving to_moving(real x) { return x; }
#endif
#endif

__device__ __forceinline__ f32 sine(f32 x) { return sinf(x); }
__device__ __forceinline__ f64 sine(f64 x) { return sin(x); }
__device__ __forceinline__ f32 cosine(f32 x) { return cosf(x); }
__device__ __forceinline__ f64 cosine(f64 x) { return cos(x); }
