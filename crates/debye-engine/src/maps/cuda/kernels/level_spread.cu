// Charges on the finest grid of multilevel summation.
//
// They are spread as whole numbers, whose order does not matter. Defines: DOUBLE, ORDER.
#include "level_grid.cuh"
#include "level_weights.cuh"

#if DOUBLE
using real = f64;
#else
using real = f32;
#endif

// A thread spreads a charge. 32 bytes read; a grid point is touched by ORDER³ additions of 8 bytes for each charge.
KERNEL(debye_level_spread, 128, LevelGrid g, const f64* charges, u32 number, f64 scale, u64* sums)
{
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= number) return;
    f64 weights[3][ORDER];
    u32 places[3][ORDER];
#pragma unroll
    for (u32 a = 0; a < 3; ++a) {
        const f64 at = charges[4 * u64(i) + a], below = floor(at);
        level_weights(at - below, weights[a]);
        const i64 size = g.shape[a];
#pragma unroll
        for (u32 j = 0; j < ORDER; ++j) {
            i64 place = i64(below) + g.first + j - (ORDER / 2 - 1);
            if (g.periodic) place = (place % size + size) % size;
            places[a][j] = u32(place < 0 ? 0 : place < size ? place : size - 1);
        }
    }
    const f64 charge = charges[4 * u64(i) + 3] * scale;
    for (u32 a = 0; a < ORDER; ++a) {
        for (u32 b = 0; b < ORDER; ++b) {
            const u64 row = (u64(places[0][a]) * g.shape[1] + places[1][b]) * g.shape[2];
            const f64 share = charge * weights[0][a] * weights[1][b];
            for (u32 c = 0; c < ORDER; ++c) atomicAdd(&sums[row + places[2][c]], u64(__double2ll_rn(share * weights[2][c])));
        }
    }
}

// Whole numbers as charges; a thread has a point.
KERNEL(debye_level_round, 256, const u64* sums, f64 unit, real* values, u64 number)
{
    const u64 i = u64(blockIdx.x) * 256 + threadIdx.x;
    if (i < number) values[i] = real(f64(i64(sums[i])) * unit);
}
