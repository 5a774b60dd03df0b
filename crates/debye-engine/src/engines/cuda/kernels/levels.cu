// Nested grids of multilevel summation: charges from grid to coarser grid, sums with the kernel of a level, and potentials
// back.
//
// Every number has one owner, so that no sum depends on scheduling. Defines: DOUBLE.
#include "levels_shared.cuh"

#if DOUBLE
using real = f64;
#else
using real = f32;
#endif

// to(…, i, …) = scale Σ weight from(…, place, …) over the list of i, added to what is there or instead; a thread has a
// number. Neighbors along z are neighbors in a warp.
KERNEL(debye_level_along, 256, LevelPass p, const u32* starts, const u32* places, const real* weights, const real* from,
       real* to)
{
    const u64 i = u64(blockIdx.x) * 256 + threadIdx.x;
    if (i >= p.number) return;
    const u64 inner = i % p.inner, rest = i / p.inner, list = rest % p.lists, outer = rest / p.lists;
    const real* line = from + outer * p.length * p.inner + inner;
    real sum = 0;
    for (u32 k = starts[list]; k < starts[list + 1]; ++k) sum += weights[k] * line[places[k] * p.inner];
    sum *= real(p.scale);
    to[i] = p.adds ? to[i] + sum : sum;
}

// A copy that goes on beyond the ends of a grid, with zeros or with the other end; a thread has a number.
KERNEL(debye_level_pad, 256, LevelStencil s, const real* from, real* to)
{
    const u64 i = u64(blockIdx.x) * 256 + threadIdx.x;
    if (i >= u64(s.padded[0]) * s.padded[1] * s.padded[2]) return;
    i64 at[3] = {i64(i / (u64(s.padded[1]) * s.padded[2])), i64(i / s.padded[2] % s.padded[1]), i64(i % s.padded[2])};
    bool is_inside = true;
#pragma unroll
    for (u32 a = 0; a < 3; ++a) {
        const i64 size = s.shape[a];
        at[a] -= s.below[a];
        if (s.periodic[a]) at[a] = (at[a] % size + size) % size;
        is_inside = is_inside && at[a] >= 0 && at[a] < size;
    }
    to[i] = is_inside ? from[(u64(at[0]) * s.shape[1] + u64(at[1])) * s.shape[2] + u64(at[2])] : real(0);
}

// to(i) = Σ_d K(d) from(i + d). Lanes lie along z, warps along y; a thread has OUT points along x, along which the rows of K
// slide: of each number read, OUT sums take their part, and of each coefficient too.
KERNEL(debye_level_stencil, 128, LevelStencil s, const LevelRow* rows, const real* coefficients, const real* from, real* to)
{
    const u32 along_z = (s.shape[2] + 31) / 32, along_y = (s.shape[1] + 3) / 4;
    const u32 z = blockIdx.x % along_z * 32 + lane_of(threadIdx.x);
    const u32 y = blockIdx.x / along_z % along_y * 4 + warp_of(threadIdx.x), x = blockIdx.x / (along_z * along_y) * OUT;
    if (z >= s.shape[2] || y >= s.shape[1]) return;
    const u64 plane = u64(s.padded[1]) * s.padded[2];
    const real* middle = from + (x + s.below[0]) * plane + u64(y + s.below[1]) * s.padded[2] + z + s.below[2];
    real sums[OUT] = {};
    const u32 first = u32(u64(blockIdx.y) * s.rows / gridDim.y), end = u32((u64(blockIdx.y) + 1) * s.rows / gridDim.y);
    for (u32 r = first; r < end; ++r) {
        const LevelRow row = rows[r];
        const real* at = middle + row.offset;
        const real* next = coefficients + row.begin;
        real window[2 * OUT - 1];
#pragma unroll
        for (u32 k = 0; k < OUT - 1; ++k) window[k] = *next++;
        for (u32 turn = 0; turn < row.turns; ++turn) {
#pragma unroll
            for (u32 k = 0; k < OUT; ++k) window[OUT - 1 + k] = *next++;
#pragma unroll
            for (u32 k = 0; k < OUT; ++k) {
                const real value = *at;
                at += plane;
#pragma unroll
                for (u32 j = 0; j < OUT; ++j) sums[j] += window[OUT - 1 + k - j] * value;
            }
#pragma unroll
            for (u32 k = 0; k < OUT - 1; ++k) window[k] = window[OUT + k];
        }
    }
#pragma unroll
    for (u32 j = 0; j < OUT; ++j) {
        if (x + j < s.shape[0]) to[((u64(blockIdx.y) * s.shape[0] + x + j) * s.shape[1] + y) * s.shape[2] + z] = sums[j];
    }
}

// Adds up what blocks found that had a part of the rows each; a thread has a point.
KERNEL(debye_level_parts, 256, const real* found, u32 number, u64 points, real* to)
{
    const u64 i = u64(blockIdx.x) * 256 + threadIdx.x;
    if (i >= points) return;
    real sum = 0;
    for (u32 k = 0; k < number; ++k) sum += found[k * points + i];
    to[i] = sum;
}

// Σ a b of a part of two grids, in one order; a block has a part. 2 numbers read for each point.
KERNEL(debye_level_dot, 256, const real* a, const real* b, u64 number, f64* partial)
{
    SHARED(f64, sums, 256);
    f64 sum = 0;
    for (u64 i = u64(blockIdx.x) * 256 + threadIdx.x; i < number; i += u64(gridDim.x) * 256) sum += f64(a[i]) * f64(b[i]);
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (u32 half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
}

// Adds all parts, times a factor, to one of the sums. One thread.
KERNEL(debye_level_total, 32, const f64* partial, u32 parts, f64 scale, f64* sums, u32 which)
{
    if (threadIdx.x != 0) return;
    f64 total = 0;
    for (u32 k = 0; k < parts; ++k) total += partial[k];
    sums[which] += scale * total;
}
