// Philox4x32-10 and Box–Muller as in random/mod.rs and random/normals.rs: the same integers, and the same bits, since
// every operation is rounded by itself.
#pragma once
#include "shared.cuh"

__device__ __forceinline__ f64 times(f64 a, f64 b) { return __dmul_rn(a, b); }
__device__ __forceinline__ f64 plus(f64 a, f64 b) { return __dadd_rn(a, b); }

template <u32 N> __device__ __forceinline__ f64 polynomial(const f64 (&c)[N], f64 x)
{
    f64 sum = c[0];
#pragma unroll
    for (u32 k = 1; k < N; ++k) sum = plus(times(sum, x), c[k]);
    return sum;
}

// ln x for a positive normal number.
__device__ __forceinline__ f64 debye_ln(f64 x)
{
    const f64 c[10] = {2.0 / 21.0, 2.0 / 19.0, 2.0 / 17.0, 2.0 / 15.0, 2.0 / 13.0,
                       2.0 / 11.0, 2.0 / 9.0,  2.0 / 7.0,  2.0 / 5.0,  2.0 / 3.0};
    const i64 bits = __double_as_longlong(x);
    const i64 exponent = (bits - 0x3fe6a09e667f3bcdll) >> 52;
    const f64 m = __longlong_as_double(bits - i64(u64(exponent) << 52));
    const f64 e = f64(i32(exponent));
    const f64 s = __ddiv_rn(plus(m, -1.0), plus(m, 1.0));
    const f64 s2 = times(s, s);
    const f64 rest = times(times(s, s2), polynomial(c, s2));
    return plus(times(e, 0.6931471803691238), plus(times(2.0, s), plus(rest, times(e, 1.9082149292705877e-10))));
}

__device__ __forceinline__ u64 upper53(u32 low, u32 high) { return (u64(low) | u64(high) << 32) >> 11; }

__device__ __forceinline__ uint4 philox(u64 seed, u32 c0, u32 c1, u32 c2, u32 c3)
{
    u32 k0 = u32(seed), k1 = u32(seed >> 32);
#pragma unroll
    for (u32 round = 0; round < PHILOX_ROUNDS; ++round) {
        const u32 low0 = PHILOX_MULTIPLIER_0 * c0, high0 = __umulhi(PHILOX_MULTIPLIER_0, c0);
        const u32 low1 = PHILOX_MULTIPLIER_1 * c2, high1 = __umulhi(PHILOX_MULTIPLIER_1, c2);
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += PHILOX_WEYL_0;
        k1 += PHILOX_WEYL_1;
    }
    return make_uint4(c0, c1, c2, c3);
}

__device__ __forceinline__ void box_muller(uint4 w, f64& x, f64& y)
{
    const f64 sine[7] = {-1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0,
                         -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
    const f64 cosine[8] = {1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0,
                           1.0 / 40320.0,          -1.0 / 720.0,         1.0 / 24.0,        -1.0 / 2.0};
    const f64 ulp = 1.0 / 9007199254740992.0;
    const f64 radius = __dsqrt_rn(times(-2.0, debye_ln(times(f64(i64(upper53(w.x, w.y) + 1)), ulp))));
    const u64 k = upper53(w.z, w.w), quarter = (k + (1ull << 50)) >> 51;
    const f64 angle = times(times(f64(i64(k) - i64(quarter << 51)), 4.0 * ulp), 1.5707963267948966);
    const f64 a2 = times(angle, angle);
    const f64 sin = plus(angle, times(angle, times(a2, polynomial(sine, a2))));
    const f64 cos = plus(1.0, times(a2, polynomial(cosine, a2)));
    const f64 a = quarter & 1 ? sin : cos, b = quarter & 1 ? cos : sin;
    x = times(radius, (quarter + 1) >> 1 & 1 ? -a : a);
    y = times(radius, quarter >> 1 & 1 ? -b : b);
}

// The four words at an address: see random/mod.rs.
__device__ __forceinline__ uint4 philox_words(u64 seed, u64 step, u32 particle, u32 stream, u32 block)
{
    return philox(seed, particle, stream, u32(step), (u32(step >> 32) & 0x00ffffffu) | block << 24);
}

// Three normals of a particle in a step.
__device__ __forceinline__ void debye_normals(u64 seed, u64 step, u32 particle, u32 stream, f64 (&out)[3])
{
    f64 unused;
    box_muller(philox_words(seed, step, particle, stream, PHILOX_NORMALS), out[0], out[1]);
    box_muller(philox_words(seed, step, particle, stream, PHILOX_NORMALS + 1), out[2], unused);
}

// Those of Langevin dynamics.
__device__ __forceinline__ void debye_normals(u64 seed, u64 step, u32 particle, f64 (&out)[3])
{
    debye_normals(seed, step, particle, STREAM_LANGEVIN, out);
}

// A gamma variate of this shape and unit scale, as Philox::gamma.
__device__ inline f64 debye_gamma(f64 shape, u64 seed, u64 step, u32 stream)
{
    if (!(shape > 0.0)) return 0.0;
    const f64 ulp = 1.0 / 9007199254740992.0;
    const f64 d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (u32 attempt = 0;; ++attempt) {
        f64 x, unused;
        box_muller(philox_words(seed, step, attempt, stream, PHILOX_GAMMA), x, unused);
        const uint4 words = philox_words(seed, step, attempt, stream, PHILOX_GAMMA + 1);
        const f64 root = 1.0 + c * x, u = f64(upper53(words.x, words.y) + 1) * ulp;
        if (root <= 0.0) continue;
        const f64 v = root * root * root;
        if (log(u) < 0.5 * x * x + d * (1.0 - v + log(v))) {
            return d * v * (shape < 1.0 ? pow(f64(upper53(words.z, words.w) + 1) * ulp, 1.0 / shape) : 1.0);
        }
    }
}
