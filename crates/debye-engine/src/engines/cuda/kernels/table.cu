// The optimal influence function of a mesh, made anew where the cell has changed, in double precision. The
// formula is that of forces/pme/influence.rs, printed as reciprocal.cuh.
//
// A thread makes one number of the table from 125 reciprocal vectors; 4 or 8 bytes are written for each. Where the cell
// is the one that the table was made for, all threads return at once. The last block notes for which cell the table is.
//
// Defines: those of influence.cuh.
#include "influence.cuh"

constexpr u32 ALIASES = 5, MIDDLE = 2;
constexpr u32 OF_CELL = sizeof(MeshCell) / 8;

__device__ __forceinline__ f64 smeared_at(const MeshCell* cell, f64 x, f64 y, f64 z)
{
    const f64* a = cell->reciprocal;
    f64 g;
    exact_smeared(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], cell->volume, cell->alpha, x, y, z, g);
    return g;
}

// The sum of W^2 g over a reciprocal vector and its aliases. `turned`: along these axes the reciprocal vector is the
// mirror image of its index.
__device__ __forceinline__ f64 with_aliases(const MeshCell* cell, const f64 (&n)[3], const bool (&turned)[3], const f64* x,
                                            const f64* y, const f64* z)
{
    if (n[0] == 0.0 && n[1] == 0.0 && n[2] == 0.0) return 0.0;
    auto square = [](const f64* of, u32 k, bool turned) { return of[turned ? ALIASES - 1 - k : k]; };
    auto shifted = [](f64 n, u32 k, u32 size) { return n + (f64(k) - f64(MIDDLE)) * f64(size); };
    f64 sum = 0.0;
    for (u32 i = 0; i < ALIASES; ++i) {
        for (u32 j = 0; j < ALIASES; ++j) {
#pragma unroll 1 // unrolled it takes half as many registers again
            for (u32 k = 0; k < ALIASES; ++k) {
                const f64 g = smeared_at(cell, shifted(n[0], i, N1), shifted(n[1], j, N2), shifted(n[2], k, N3));
                sum += square(x, i, turned[0]) * square(y, j, turned[1]) * square(z, k, turned[2]) * g;
            }
        }
    }
    return sum;
}

__device__ __forceinline__ f64 frequency(u32 index, u32 size)
{
    return f64(2 * index > size ? i32(index) - i32(size) : i32(index));
}

// `factors` and `aliases` are those of x, y and z one after another.
KERNEL(debye_mesh_table, 256, const MeshCell* cell, u64* made_for, const f64* factors, const f64* aliases, real* table,
       u32* finished)
{
    SHARED(u32, last, 1);
    const u64* now = reinterpret_cast<const u64*>(cell);
    bool same = true;
    for (u32 k = 0; k < OF_CELL; ++k) same = same && load_relaxed(made_for + k) == now[k];
    if (same) return;
    const u64 number = u64(blockIdx.x) * 256 + threadIdx.x;
    if (number < u64(N1) * COLUMNS) {
        const u32 x = u32(number / COLUMNS), column = u32(number % COLUMNS), y = column / HALF, z = column % HALF;
        const f64 n[3] = {frequency(x, N1), frequency(y, N2), frequency(z, N3)};
        const bool half[3] = {2 * x == N1, 2 * y == N2, 2 * z == N3}, none[3] = {false, false, false};
        const f64 *ax = aliases + ALIASES * x, *ay = aliases + ALIASES * (N1 + y), *az = aliases + ALIASES * (N1 + N2 + z);
        f64 value = with_aliases(cell, n, none, ax, ay, az);
        if (half[0] || half[1] || half[2]) {
            const f64 other[3] = {half[0] ? -n[0] : n[0], half[1] ? -n[1] : n[1], half[2] ? -n[2] : n[2]};
            value = 0.5 * (value + with_aliases(cell, other, half, ax, ay, az));
        }
        table[u64(x) * PLANE + column] = real(factors[x] * factors[N1 + y] * factors[N1 + N2 + z] * value);
    }
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0) last[0] = atomicAdd(finished, 1u) + 1 == gridDim.x;
    __syncthreads();
    if (!last[0]) return;
    if (threadIdx.x < OF_CELL) store_relaxed(made_for + threadIdx.x, now[threadIdx.x]);
    if (threadIdx.x == 0) atomicExch(finished, 0u);
}
