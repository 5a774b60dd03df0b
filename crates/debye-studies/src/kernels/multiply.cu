// Times the influence function, where a library transforms the mesh.
//
// A thread takes a number of the spectrum after another; 2 × 8 bytes each in f32. Sums are added in one order.
//
// Defines: PRECISION, N1 N2 N3, MULTIPLY_THREADS, TABLE, PADDED (0).
#include "influence.cuh"

template <bool WITH_SUMS>
__device__ __forceinline__ void multiply(real* spectrum, const real* factors, const MeshCell* cell, const real* table,
                                         f64 (&sums)[SUMS])
{
    const Influence g(cell);
    Complex* at = reinterpret_cast<Complex*>(spectrum);
    const u32 first = blockIdx.x * MULTIPLY_THREADS + threadIdx.x;
    for (u32 item = first; item < N1 * COLUMNS; item += gridDim.x * MULTIPLY_THREADS) {
        const Column column(item % COLUMNS, factors);
        at[item] = multiplied<WITH_SUMS>(at[item], item / COLUMNS, column, g, factors, table, sums);
    }
}

KERNEL(debye_mesh_multiply, MULTIPLY_THREADS, real* spectrum, const real* factors, const MeshCell* cell,
       const real* table)
{
    f64 sums[SUMS];
    multiply<false>(spectrum, factors, cell, table, sums);
}
KERNEL(debye_mesh_multiply_sums, MULTIPLY_THREADS, real* spectrum, const real* factors, const MeshCell* cell,
       const real* table, f64* partial)
{
    SHARED(f64, warps, MULTIPLY_THREADS / WARP * SUMS);
    f64 sums[SUMS] = {};
    multiply<true>(spectrum, factors, cell, table, sums);
    leave_partial<MULTIPLY_THREADS>(partial, sums, warps);
}
KERNEL(debye_mesh_add, MULTIPLY_THREADS, const f64* partial, f64* sums, u32 blocks)
{
    add_partial<MULTIPLY_THREADS, SUMS>(sums, partial, blocks);
}
