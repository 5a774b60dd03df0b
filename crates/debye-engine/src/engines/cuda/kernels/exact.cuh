// Vectors of double precision, and the exact differences of positions they come from.
#pragma once
#include "shared.cuh"

struct Vector {
    f64 x, y, z;
};

__device__ __forceinline__ Vector operator+(const Vector& a, const Vector& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ __forceinline__ Vector operator-(const Vector& a, const Vector& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__device__ __forceinline__ Vector operator-(const Vector& a) { return {-a.x, -a.y, -a.z}; }
__device__ __forceinline__ Vector operator*(const Vector& a, f64 s) { return {a.x * s, a.y * s, a.z * s}; }
__device__ __forceinline__ f64 dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __forceinline__ Vector cross(const Vector& a, const Vector& b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// A position: fractions of the cell as 64-bit whole numbers.
struct Exact {
    u64 x, y, z;
};

// The position in a slot, from the halves that are now.
__device__ __forceinline__ Exact exact_at(const uint4* pos, const u32* low, u32 slot, u32 slots)
{
    const uint4 upper = pos[slot];
#if PRECISION == 0
    (void)low;
    (void)slots;
    return {u64(upper.x) << 32, u64(upper.y) << 32, u64(upper.z) << 32};
#else
    return {u64(upper.x) << 32 | low[slot], u64(upper.y) << 32 | low[u64(slots) + slot],
            u64(upper.z) << 32 | low[2 * u64(slots) + slot]};
#endif
}

// The way from b to the image of a that is nearest by fractions: the shortest of all where it is shorter than half the
// cell's smallest height. The cell is a = (ax, 0, 0), b = (bx, by, 0), c = (cx, cy, cz), given as ax by cz bx cx cy.
__device__ __forceinline__ Vector apart64(const Exact& a, const Exact& b, const f64 (&cell)[6])
{
    constexpr f64 UNIT = 5.421010862427522e-20; // 2^-64
    const f64 x = f64(i64(a.x - b.x)) * UNIT, y = f64(i64(a.y - b.y)) * UNIT, z = f64(i64(a.z - b.z)) * UNIT;
    return {cell[0] * x + cell[3] * y + cell[4] * z, cell[1] * y + cell[5] * z, cell[2] * z};
}
