// Fourier transforms of mesh lines by a block of threads, in shared memory.
//
// A line of N points is transformed in a few stages (Stockham's order, which needs no reordering). A stage of radix R
// takes N/R butterflies: each reads R points a distance N/R apart, multiplies them by twiddles, transforms them in
// registers, and writes them. The last stage writes where it reads. Radices up to 16 are used, so that most lines take
// two stages and the block meets twice. Sums are made in one order whatever the threads do.
//
// Defines: PRECISION (0 single, 1 mixed, 2 double).
#pragma once
#include "prelude.cuh"

#if PRECISION == 2
using real = f64;
using Complex = double2;
__device__ __forceinline__ Complex complex(real x, real y) { return make_double2(x, y); }
#else
using real = f32;
using Complex = float2;
__device__ __forceinline__ Complex complex(real x, real y) { return make_float2(x, y); }
#endif

constexpr int FORWARD = -1, BACKWARD = 1;

__device__ __forceinline__ Complex operator+(Complex a, Complex b) { return complex(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ Complex operator-(Complex a, Complex b) { return complex(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ Complex operator*(Complex a, real s) { return complex(a.x * s, a.y * s); }
__device__ __forceinline__ Complex operator*(Complex a, Complex b)
{
    return complex(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// cos and sin of k/n of a turn, at compile time: folded to an eighth of a turn, then by series.
__device__ constexpr f64 series(f64 x, u32 first)
{
    f64 term = first == 0 ? 1.0 : x, sum = term;
    for (u32 k = first + 1; k < 24; k += 2) {
        term *= -x * x / (f64(k) * f64(k + 1));
        sum += term;
    }
    return sum;
}
constexpr f64 TURN = 6.283185307179586476925286766559;
__device__ constexpr f64 sine(u32 k, u32 n);
__device__ constexpr f64 cosine(u32 k, u32 n)
{
    if (2 * k > n) return cosine(n - k, n);
    if (4 * k > n) return -cosine(n - 2 * k, 2 * n);
    if (8 * k > n) return sine(n - 4 * k, 4 * n);
    return series(TURN * f64(k) / f64(n), 0);
}
__device__ constexpr f64 sine(u32 k, u32 n)
{
    if (2 * k > n) return -sine(n - k, n);
    if (4 * k > n) return sine(n - 2 * k, 2 * n);
    if (8 * k > n) return cosine(n - 4 * k, 4 * n);
    return series(TURN * f64(k) / f64(n), 1);
}

template <u32 K> struct Number {
    static constexpr u32 value = K;
};
// Calls f with Number<I>, …, Number<N − 1>.
template <u32 I, u32 N, class F> __device__ __forceinline__ void each(F&& f)
{
    if constexpr (I < N) {
        f(Number<I>());
        each<I + 1, N>(f);
    }
}

// x times exp(±2πi K/R).
template <u32 K, u32 R, int SIGN> __device__ __forceinline__ Complex turned(Complex x)
{
    constexpr u32 k = K % R;
    if constexpr (k == 0) return x;
    else if constexpr (2 * k == R) return complex(-x.x, -x.y);
    else if constexpr (4 * k == R) return complex(-SIGN * x.y, SIGN * x.x);
    else if constexpr (4 * k == 3 * R) return complex(SIGN * x.y, -SIGN * x.x);
    else {
        constexpr real c = real(cosine(k, R)), s = real(SIGN * sine(k, R));
        return complex(x.x * c - x.y * s, x.x * s + x.y * c);
    }
}

// How a radix is taken apart.
__device__ constexpr u32 first_factor(u32 r)
{
    return r == 16 ? 4 : r % 3 == 0 && r > 3 && r != 6 ? 3 : r % 2 == 0 && r > 4 ? 2 : r;
}

// Transform of R numbers in registers, in order. SIGN is that of the exponent.
template <u32 R, int SIGN> __device__ __forceinline__ void butterfly(Complex (&x)[R])
{
    if constexpr (R == 2) {
        const Complex a = x[0];
        x[0] = a + x[1];
        x[1] = a - x[1];
    } else if constexpr (R == 4) {
        const Complex a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = turned<1, 4, SIGN>(x[1] - x[3]);
        x[0] = a + c;
        x[1] = b + d;
        x[2] = a - c;
        x[3] = b - d;
    } else if constexpr (first_factor(R) == R) {
        // Odd primes: cosines of sums and sines of differences.
        constexpr u32 H = R / 2;
        Complex sum[H], difference[H];
        const Complex zero = x[0];
        each<0, H>([&](auto n) {
            constexpr u32 r = decltype(n)::value + 1;
            sum[r - 1] = x[r] + x[R - r];
            difference[r - 1] = x[r] - x[R - r];
            x[0] = x[0] + sum[r - 1];
        });
        each<0, H>([&](auto n) {
            constexpr u32 k = decltype(n)::value + 1;
            Complex even = zero, odd = complex(0, 0);
            each<0, H>([&](auto m) {
                constexpr u32 r = decltype(m)::value + 1;
                constexpr real c = real(cosine(r * k % R, R)), s = real(SIGN * sine(r * k % R, R));
                even.x += c * sum[r - 1].x;
                even.y += c * sum[r - 1].y;
                odd.x -= s * difference[r - 1].y;
                odd.y += s * difference[r - 1].x;
            });
            x[k] = even + odd;
            x[R - k] = even - odd;
        });
    } else {
        constexpr u32 A = first_factor(R), B = R / A;
        Complex y[B][A];
        each<0, B>([&](auto n) {
            constexpr u32 b = decltype(n)::value;
            each<0, A>([&](auto m) { y[b][decltype(m)::value] = x[B * decltype(m)::value + b]; });
            butterfly<A, SIGN>(y[b]);
            each<0, A>([&](auto m) {
                constexpr u32 a = decltype(m)::value;
                y[b][a] = turned<a * b, R, SIGN>(y[b][a]);
            });
        });
        each<0, A>([&](auto n) {
            constexpr u32 a = decltype(n)::value;
            Complex z[B];
            each<0, B>([&](auto m) { z[decltype(m)::value] = y[decltype(m)::value][a]; });
            butterfly<B, SIGN>(z);
            each<0, B>([&](auto m) { x[a + A * decltype(m)::value] = z[decltype(m)::value]; });
        });
    }
}

// The radices of the stages of a line.
template <u32... RADICES> struct Plan {
    static constexpr u32 STAGES = sizeof...(RADICES);
    static constexpr u32 N = (RADICES * ...);
    __device__ static constexpr u32 radix(u32 stage)
    {
        const u32 all[] = {RADICES...};
        return all[stage];
    }
    // Product of the radices before a stage.
    __device__ static constexpr u32 before(u32 stage)
    {
        u32 product = 1;
        for (u32 s = 0; s < stage; ++s) product *= radix(s);
        return product;
    }
};

// Lines that a block transforms together. FAST: neighboring threads work on neighboring lines; else on neighboring
// points.
template <u32 LINES_, bool FAST_, u32 THREADS_> struct Batch {
    static constexpr u32 LINES = LINES_, THREADS = THREADS_;
    static constexpr bool FAST = FAST_;
};

// One stage. `load(line, point)` gives a point, `store(line, point, x)` takes it; `between(line, point, step, x)` may
// change the numbers of a butterfly, which are those of `point`, `point + step`, …, after its transform. MEETS: what is
// stored may be what others load. RETURNS: they are stored as the first stage of the reversed plan would. `twiddles`
// holds exp(−2πi k/N).
template <class P, u32 STAGE, int SIGN, class B, bool MEETS, bool RETURNS, class Load, class Between, class Store>
__device__ __forceinline__ void stage(const Complex* twiddles, Load&& load, Between&& between, Store&& store)
{
    constexpr u32 R = P::radix(STAGE), BEFORE = P::before(STAGE), STEP = P::N / R, ITEMS = B::LINES * STEP;
    constexpr u32 ROUNDS = (ITEMS + B::THREADS - 1) / B::THREADS;
    const auto compute = [&](u32 item, Complex(&x)[R]) {
        const u32 line = B::FAST ? item % B::LINES : item / STEP, j = B::FAST ? item / B::LINES : item % STEP;
#pragma unroll
        for (u32 i = 0; i < R; ++i) x[i] = load(line, j + i * STEP);
        if constexpr (BEFORE > 1) {
            const u32 turn = j % BEFORE * (P::N / (BEFORE * R));
#pragma unroll
            for (u32 i = 1; i < R; ++i) {
                Complex w = __ldg(twiddles + i * turn);
                if (SIGN == BACKWARD) w.y = -w.y;
                x[i] = x[i] * w;
            }
        }
        butterfly<R, SIGN>(x);
        between(line, j, STEP, x);
    };
    const auto put = [&](u32 item, Complex(&x)[R]) {
        const u32 line = B::FAST ? item % B::LINES : item / STEP, j = B::FAST ? item / B::LINES : item % STEP;
        const u32 first = RETURNS ? j * R : j / BEFORE * (BEFORE * R) + j % BEFORE;
#pragma unroll
        for (u32 i = 0; i < R; ++i) store(line, first + i * (RETURNS ? 1 : BEFORE), x[i]);
    };
    Complex x[MEETS ? ROUNDS : 1][R];
#pragma unroll
    for (u32 round = 0; round < ROUNDS; ++round) {
        const u32 item = round * B::THREADS + threadIdx.x;
        const bool mine = ITEMS % B::THREADS == 0 || item < ITEMS;
        if (mine) compute(item, x[MEETS ? round : 0]);
        if (!MEETS && mine) put(item, x[0]);
    }
    if constexpr (MEETS) {
        __syncthreads();
#pragma unroll
        for (u32 round = 0; round < ROUNDS; ++round) {
            const u32 item = round * B::THREADS + threadIdx.x;
            if (ITEMS % B::THREADS == 0 || item < ITEMS) put(item, x[round]);
        }
    }
}

struct Nothing {
    template <class X> __device__ __forceinline__ void operator()(u32, u32, u32, X&) const {}
};

// Stages FIRST to LAST − 1. The first loads by `load`, the last stores by `store`; between them points pass through
// shared memory by `get` and `put`. MEETS: the first stage loads from where it stores.
template <class P, u32 FIRST, u32 LAST, int SIGN, class B, bool MEETS, class Load, class Get, class Put, class Store>
__device__ __forceinline__ void stages(const Complex* twiddles, Load&& load, Get&& get, Put&& put, Store&& store)
{
    if constexpr (LAST - FIRST == 1) {
        stage<P, FIRST, SIGN, B, MEETS && (LAST < P::STAGES), false>(twiddles, load, Nothing(), store);
    } else {
        stage<P, FIRST, SIGN, B, MEETS, false>(twiddles, load, Nothing(), put);
        __syncthreads();
        stages<P, FIRST + 1, LAST, SIGN, B, true>(twiddles, get, get, put, store);
    }
}

// All stages of a line.
template <class P, int SIGN, class B, bool MEETS, class Load, class Get, class Put, class Store>
__device__ __forceinline__ void transform(const Complex* twiddles, Load&& load, Get&& get, Put&& put, Store&& store)
{
    stages<P, 0, P::STAGES, SIGN, B, MEETS>(twiddles, load, get, put, store);
}
