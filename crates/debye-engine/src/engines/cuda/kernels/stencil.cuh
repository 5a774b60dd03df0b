// Charges in shared memory as whole numbers, and a bound on their sums.
//
// Whole numbers wrap around if they become too large. No sum at a point is larger than the charges near it, without their
// signs, times the largest weight: charges are also added up in boxes at least as wide as a stencil is long, less one point,
// so that all that touches a point lies in two boxes along each axis. The largest sum of eight is left in MeshNotes::range.
#pragma once
#include "mesh.cuh"

__device__ __forceinline__ void add_fixed(i32* to, f32 x) { atomicAdd(to, __float2int_rn(x)); }
__device__ __forceinline__ void add_fixed(i64* to, f64 x)
{
    atomicAdd(reinterpret_cast<u64*>(to), u64(__double2ll_rn(x)));
}

// Weights of a charge at all points it touches: products of three.
struct Stencil {
    mesh_real x[POINTS], y[POINTS], z[POINTS];
    u32 start[3];
};
__device__ __forceinline__ Stencil stencil(const Fractions& at, mesh_real factor)
{
    Stencil s;
    const Along x = along<MESH_X>(at.x), y = along<MESH_Y>(at.y), z = along<MESH_Z>(at.z);
    basis_values(x.rest, s.x);
    basis_values(y.rest, s.y);
    basis_values(z.rest, s.z);
#pragma unroll
    for (u32 k = 0; k < POINTS; ++k) s.x[k] *= factor;
    s.start[0] = x.start;
    s.start[1] = y.start;
    s.start[2] = z.start;
    return s;
}

// Boxes along an axis of so many places where a stencil may begin.
__device__ constexpr u32 boxes_along(u32 places) { return (places + BOX - 1) / BOX; }

// Boxes of the bound: X × Y × Z of them. ALL: no two of them are known to hold everything near a point.
template <u32 X, u32 Y, u32 Z, bool ALL> struct Bound {
    static constexpr u32 NUMBER = X * Y * Z;
    // Units of 2^16 of the sums' own, so that 2^17 charges fit in a box whatever they are.
    static constexpr u32 SHIFT = 16, MOST = 1u << 17;

    static __device__ __forceinline__ void clear(u32* boxes)
    {
        for (u32 k = threadIdx.x; k < NUMBER + 1; k += THREADS) boxes[k] = 0;
    }
    // `factor`: charge times scale; places are counted from the first box.
    static __device__ __forceinline__ void add(u32* boxes, u32 x, u32 y, u32 z, mesh_real factor)
    {
        const f32 most = fminf(fabsf(f32(factor)) * f32(MOST_WEIGHT * MOST_WEIGHT * MOST_WEIGHT), 2147483648.0f);
        const u32 amount = (u32(most) >> SHIFT) + 1;
        atomicAdd(&boxes[(x / BOX * Y + y / BOX) * Z + z / BOX], amount);
    }
    // All threads call it, after a barrier.
    static __device__ __forceinline__ void report(u32* boxes, u32 listed, f32 scale, MeshNotes* notes)
    {
        constexpr u32 gx = X > 1 ? X - 1 : 1, gy = Y > 1 ? Y - 1 : 1, gz = Z > 1 ? Z - 1 : 1;
        u32 sum = 0;
        if (ALL) {
            for (u32 k = threadIdx.x; k < NUMBER; k += THREADS) sum += boxes[k];
            if (sum != 0) atomicAdd(&boxes[NUMBER], sum);
        } else {
            for (u32 k = threadIdx.x; k < gx * gy * gz; k += THREADS) {
                const u32 *at = boxes + (k / (gy * gz) * Y + k / gz % gy) * Z + k % gz;
                u32 near = 0;
#pragma unroll
                for (u32 c = 0; c < 8; ++c) {
                    const u32 x = c / 4, y = c / 2 % 2, z = c % 2;
                    if (x < X && y < Y && z < Z) near += at[(x * Y + y) * Z + z];
                }
                sum = larger(sum, near);
            }
            if (sum != 0) atomicMax(&boxes[NUMBER], sum);
        }
        __syncthreads();
        if (threadIdx.x == 0 && listed != 0) {
            const f32 bound = listed >= MOST ? 3.0e38f : f32(boxes[NUMBER]) * (f32(1u << SHIFT) / scale);
            atomicMax(&notes->range, __float_as_uint(bound));
        }
    }
};
