// The influence function of a mesh, and the energy and virial of its reciprocal-space vectors. The formulas are those
// of forces/pme/influence.rs, printed as reciprocal.cuh; here are the loops around them.
//
// Defines: those of spectrum.cuh, TABLE (1: G is read from a table).
#pragma once
#include "spectrum.cuh"
#include "reciprocal.cuh"
#include "solve_shared.cuh"

// An index as a signed frequency, −N/2 < m ≤ N/2.
__device__ __forceinline__ real folded(u32 index, u32 size)
{
    return real(2 * index > size ? i32(index) - i32(size) : i32(index));
}

// The influence function, from numbers in registers.
struct Influence {
    real a[9];
    // π²/α² and πV.
    real narrow, volume;
    bool skewed;

    __device__ __forceinline__ explicit Influence(const MeshCell* cell)
    {
        f64 numbers[2];
        space_numbers(cell->volume, cell->alpha, numbers[0], numbers[1]);
        for (u32 k = 0; k < 9; ++k) a[k] = real(cell->reciprocal[k]);
        narrow = real(numbers[0]);
        volume = real(numbers[1]);
        skewed = a[1] != 0 || a[2] != 0 || a[3] != 0 || a[5] != 0 || a[6] != 0 || a[7] != 0;
    }
    // exp(−π²m²/α²)/(πVm²), and m.
    __device__ __forceinline__ real smeared(real x, real y, real z, real (&m)[3], real& m2) const
    {
        real g;
        space_vector(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], narrow, volume, x, y, z, g, m[0],
                     m[1], m[2], m2);
        return g;
    }
};

// Adds to energy and virial.
__device__ __forceinline__ void add_vector(f64 (&sums)[SUMS], real e, const real (&m)[3], real m2, real narrow)
{
    if (!(m2 > 0)) return;
    real of[6];
    space_bracket(m[0], m[1], m[2], m2, narrow, of[0], of[1], of[2], of[3], of[4], of[5]);
    sums[0] += e;
    for (u32 k = 0; k < 6; ++k) sums[1 + k] += e * of[k];
}

// What the reciprocal vectors of a column share. `factors` are those of x, y and z one after another.
struct Column {
    u32 number;
    real y, z, other_y, other_z, factor, weight;
    // Whether it cannot be told from another column.
    bool half;

    __device__ __forceinline__ Column(u32 column, const real* factors)
    {
        number = smaller(column, COLUMNS - 1);
        const u32 iy = number / HALF, iz = number % HALF;
        y = folded(iy, N2);
        z = real(iz);
        half = 2 * iy == N2 || 2 * iz == N3;
        other_y = 2 * iy == N2 ? -y : y;
        other_z = 2 * iz == N3 ? -z : z;
        factor = TABLE ? real(1) : factors[N1 + iy] * factors[N1 + N2 + iz];
        // Half of |q|², but most reciprocal vectors stand for two. None counts beyond the last column.
        weight = column >= COLUMNS ? real(0) : iz == 0 || 2 * iz == N3 ? real(0.5) : real(1);
    }
};

// q times G of the reciprocal vector `x` of a column; adds to the sums. A reciprocal vector of half the mesh is the
// mean of two that look alike, which differ in skewed cells and in their virials.
template <bool WITH_SUMS>
__device__ __forceinline__ Complex multiplied(Complex q, u32 x, const Column& c, const Influence& g, const real* factors,
                                              const real* table, f64 (&sums)[SUMS])
{
    const real along_x = folded(x, N1), other_x = 2 * x == N1 ? -along_x : along_x;
    real value = TABLE ? table[u64(x) * PLANE + c.number] : factors[x] * c.factor;
    if (TABLE && !WITH_SUMS) return q * value;
    real m[3], m2, other[3], other2;
    const real one = g.smeared(along_x, c.y, c.z, m, m2);
    const bool mirrored = (WITH_SUMS || g.skewed) && (c.half || 2 * x == N1);
    const real two = mirrored ? g.smeared(other_x, c.other_y, c.other_z, other, other2) : one;
    const real both = one + two;
    if (!TABLE) value *= real(0.5) * both;
    if constexpr (WITH_SUMS) {
        const real e = c.weight * value * (q.x * q.x + q.y * q.y);
        real share = real(1);
        if (mirrored) space_share(one, two, share);
        add_vector(sums, e * share, m, m2, g.narrow);
        if (mirrored) add_vector(sums, e - e * share, other, other2, g.narrow);
    }
    return q * value;
}
