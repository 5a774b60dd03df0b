// A real mesh through its spectrum and back: transform, multiply every number, transform back.
//
// The real mesh is [x][y][z], its spectrum [x][y][kz] with HALF = N3/2 + 1 numbers a row, each x-plane padded to PLANE.
//   forward:  a block takes an x-plane: rows along z, then columns along y; or rows and columns in kernels of their own
//             where a plane does not fit in shared memory.
//   solve:    a block takes TILE columns along x: forward, multiplied, sums if asked for, backward; 2 × 8 bytes a point
//             in f32.
//   backward: the way back.
// Two real rows are transformed as one complex row, which serves even and odd N3 alike; its two spectra are told apart
// where they are next read. Nobody writes what another block reads or writes, and sums are added in one order.
//
// Defines: PRECISION, N1 N2 N3, RADICES_X RADICES_Y RADICES_Z, REVERSED_X, PLANES (1: whole planes), PLANE_THREADS,
// TILE, TILE_THREADS, PAIRS (rows of a block, by two), PAIR_THREADS, STRIP (columns along y of a block), STRIP_THREADS,
// PADDED (1). multiply.cuh is the caller's: Multiplier (addresses), Multiply (made from them, with column and times),
// SUMS.
#include "spectrum.cuh"
#include "multiply.cuh"

using PlanX = Plan<RADICES_X>;
using BackX = Plan<REVERSED_X>;
using PlanY = Plan<RADICES_Y>;
using PlanZ = Plan<RADICES_Z>;
static_assert(PlanX::N == N1 && PlanY::N == N2 && PlanZ::N == N3, "radices make the mesh");

__device__ __forceinline__ bool rests(Rest rest) { return rest.word && *rest.word != 0; }

__device__ __forceinline__ const Complex* twiddles_x(const real* all) { return reinterpret_cast<const Complex*>(all); }
__device__ __forceinline__ const Complex* twiddles_y(const real* all) { return twiddles_x(all) + N1; }
__device__ __forceinline__ const Complex* twiddles_z(const real* all) { return twiddles_x(all) + N1 + N2; }

// Where a point of a double row lies in shared memory: apart, so that the first stage's steps fall on different banks.
constexpr u32 APART = PlanZ::radix(0) % 2 == 0 ? PlanZ::radix(0) : N3;
constexpr u32 DOUBLE_ROW = N3 + (N3 - 1) / APART;
__device__ __forceinline__ u32 apart(u32 point) { return point + (APART == N3 ? 0 : point / APART); }

// The spectrum of one of two rows, from that of row + i row. Halves were taken when they were read.
__device__ __forceinline__ Complex one_of_two(const Complex* row, u32 k, bool second)
{
    const Complex a = row[apart(k)], b = row[apart(k == 0 ? 0 : N3 - k)];
    return second ? complex(a.y + b.y, b.x - a.x) : complex(a.x + b.x, a.y - b.y);
}

// A point of the spectrum of row + i row, from those of both at the point or at its mirror.
__device__ __forceinline__ Complex two_in_one(Complex a, Complex b, bool mirrored)
{
    if (mirrored) {
        a.y = -a.y;
        b.y = -b.y;
    }
    return complex(a.x - b.y, a.y + b.x);
}

// Double rows along z to shared memory, `rows` real rows from `mesh`.
template <class B>
__device__ __forceinline__ void rows_forward(const real* mesh, u32 rows, Complex* room, const real* twiddles)
{
    const auto load = [&](u32 pair, u32 z) {
        const real* at = mesh + u64(2 * pair) * N3 + z;
        const real a = 2 * pair < rows ? at[0] : real(0), b = 2 * pair + 1 < rows ? at[N3] : real(0);
        return complex(real(0.5) * a, real(0.5) * b);
    };
    const auto get = [&](u32 pair, u32 z) { return room[pair * DOUBLE_ROW + apart(z)]; };
    const auto put = [&](u32 pair, u32 z, Complex x) { room[pair * DOUBLE_ROW + apart(z)] = x; };
    transform<PlanZ, FORWARD, B, false>(twiddles_z(twiddles), load, get, put, put);
    __syncthreads();
}

// Double rows along z back to real rows. `load` gives points of double rows; MEETS: from shared memory.
template <class B, bool MEETS, class Load>
__device__ __forceinline__ void rows_backward(real* mesh, u32 rows, Complex* room, const real* twiddles, Load&& load)
{
    const auto get = [&](u32 pair, u32 z) { return room[pair * DOUBLE_ROW + apart(z)]; };
    const auto put = [&](u32 pair, u32 z, Complex x) { room[pair * DOUBLE_ROW + apart(z)] = x; };
    const auto store = [&](u32 pair, u32 z, Complex x) {
        real* at = mesh + u64(2 * pair) * N3 + z;
        if (2 * pair < rows) at[0] = x.x;
        if (2 * pair + 1 < rows) at[N3] = x.y;
    };
    transform<PlanZ, BACKWARD, B, MEETS>(twiddles_z(twiddles), load, get, put, store);
}

#if PLANES
constexpr u32 ROWS_BY_TWO = (N2 + 1) / 2;
using PlaneRows = Batch<ROWS_BY_TWO, false, PLANE_THREADS>;
using PlaneColumns = Batch<HALF, true, PLANE_THREADS>;

KERNEL(debye_mesh_forward, PLANE_THREADS, const real* mesh, real* spectrum, const real* twiddles, Rest rest)
{
    DYNAMIC_SHARED(Complex, room);
    if (rests(rest)) return;
    rows_forward<PlaneRows>(mesh + u64(blockIdx.x) * (N2 * N3), N2, room, twiddles);
    Complex* to = reinterpret_cast<Complex*>(spectrum) + u64(blockIdx.x) * PLANE;
    const auto load = [&](u32 k, u32 y) { return one_of_two(room + y / 2 * DOUBLE_ROW, k, y % 2); };
    const auto get = [&](u32 k, u32 y) { return room[y * HALF + k]; };
    const auto put = [&](u32 k, u32 y, Complex x) { room[y * HALF + k] = x; };
    const auto store = [&](u32 k, u32 y, Complex x) { to[y * HALF + k] = x; };
    transform<PlanY, FORWARD, PlaneColumns, true>(twiddles_y(twiddles), load, get, put, store);
}

// The last block adds sums if there is one more than planes.
KERNEL(debye_mesh_backward, PLANE_THREADS, const real* spectrum, real* mesh, const real* twiddles, const f64* partial,
       f64* sums, u32 blocks, Rest rest)
{
    DYNAMIC_SHARED(Complex, room);
    if (rests(rest)) return;
    if (blockIdx.x == N1) return add_partial<PLANE_THREADS, SUMS>(sums, partial, blocks);
    const Complex* from = reinterpret_cast<const Complex*>(spectrum) + u64(blockIdx.x) * PLANE;
    const auto load = [&](u32 k, u32 y) { return from[y * HALF + k]; };
    const auto get = [&](u32 k, u32 y) { return room[y * HALF + k]; };
    const auto put = [&](u32 k, u32 y, Complex x) { room[y * HALF + k] = x; };
    transform<PlanY, BACKWARD, PlaneColumns, false>(twiddles_y(twiddles), load, get, put, put);
    __syncthreads();
    const auto both = [&](u32 pair, u32 z) {
        const bool mirrored = 2 * z > N3;
        const u32 at = 2 * pair * HALF + (mirrored ? N3 - z : z);
        return two_in_one(room[at], 2 * pair + 1 < N2 ? room[at + HALF] : complex(0, 0), mirrored);
    };
    rows_backward<PlaneRows, true>(mesh + u64(blockIdx.x) * (N2 * N3), N2, room, twiddles, both);
}
#else
using Rows = Batch<PAIRS, false, PAIR_THREADS>;
using Strip = Batch<STRIP, true, STRIP_THREADS>;
constexpr u32 ROWS = N1 * N2;
constexpr u32 ROW_BLOCKS = (ROWS + 2 * PAIRS - 1) / (2 * PAIRS);
constexpr u32 STRIPS = (HALF + STRIP - 1) / STRIP;

// Where a row of the spectrum begins.
__device__ __forceinline__ u64 row_at(u32 row) { return u64(row / N2) * PLANE + row % N2 * HALF; }

// Rows along z, PAIRS by two for a block.
KERNEL(debye_mesh_rows_forward, PAIR_THREADS, const real* mesh, real* spectrum, const real* twiddles, Rest rest)
{
    DYNAMIC_SHARED(Complex, room);
    if (rests(rest)) return;
    const u32 first = blockIdx.x * (2 * PAIRS), rows = ROWS - first;
    rows_forward<Rows>(mesh + u64(first) * N3, rows, room, twiddles);
    Complex* to = reinterpret_cast<Complex*>(spectrum);
    for (u32 item = threadIdx.x; item < 2 * PAIRS * HALF; item += PAIR_THREADS) {
        const u32 row = item / HALF, k = item % HALF;
        if (row < rows) to[row_at(first + row) + k] = one_of_two(room + row / 2 * DOUBLE_ROW, k, row % 2);
    }
}

// Columns along y of an x-plane, STRIP for a block, in place.
template <int SIGN> __device__ __forceinline__ void columns(real* spectrum, const real* twiddles, Complex* room)
{
    const u32 first = blockIdx.x % STRIPS * STRIP;
    Complex* at = reinterpret_cast<Complex*>(spectrum) + u64(blockIdx.x / STRIPS) * PLANE + first;
    const auto load = [&](u32 k, u32 y) { return first + k < HALF ? at[y * HALF + k] : complex(0, 0); };
    const auto get = [&](u32 k, u32 y) { return room[y * STRIP + k]; };
    const auto put = [&](u32 k, u32 y, Complex x) { room[y * STRIP + k] = x; };
    const auto store = [&](u32 k, u32 y, Complex x) {
        if (first + k < HALF) at[y * HALF + k] = x;
    };
    transform<PlanY, SIGN, Strip, false>(twiddles_y(twiddles), load, get, put, store);
}
KERNEL(debye_mesh_columns_forward, STRIP_THREADS, real* spectrum, const real* twiddles, Rest rest)
{
    DYNAMIC_SHARED(Complex, room);
    if (rests(rest)) return;
    columns<FORWARD>(spectrum, twiddles, room);
}
KERNEL(debye_mesh_columns_backward, STRIP_THREADS, real* spectrum, const real* twiddles, Rest rest)
{
    DYNAMIC_SHARED(Complex, room);
    if (rests(rest)) return;
    columns<BACKWARD>(spectrum, twiddles, room);
}

// Rows along z back. The last block adds sums if there is one more than rows need.
KERNEL(debye_mesh_rows_backward, PAIR_THREADS, const real* spectrum, real* mesh, const real* twiddles, const f64* partial,
       f64* sums, u32 blocks, Rest rest)
{
    DYNAMIC_SHARED(Complex, room);
    if (rests(rest)) return;
    if (blockIdx.x == ROW_BLOCKS) return add_partial<PAIR_THREADS, SUMS>(sums, partial, blocks);
    const u32 first = blockIdx.x * (2 * PAIRS), rows = ROWS - first;
    const Complex* from = reinterpret_cast<const Complex*>(spectrum);
    const auto both = [&](u32 pair, u32 z) {
        const bool mirrored = 2 * z > N3;
        const u32 row = 2 * pair, k = mirrored ? N3 - z : z;
        const Complex a = row < rows ? from[row_at(first + row) + k] : complex(0, 0);
        const Complex b = row + 1 < rows ? from[row_at(first + row + 1) + k] : complex(0, 0);
        return two_in_one(a, b, mirrored);
    };
    rows_backward<Rows, false>(mesh + u64(first) * N3, rows, room, twiddles, both);
}
#endif

using Tile = Batch<TILE, true, TILE_THREADS>;

template <bool WITH_SUMS>
__device__ __forceinline__ void solve(real* spectrum, const real* twiddles, const Multiplier& by, f64 (&sums)[SUMS],
                                      Complex* room)
{
    const u32 first = blockIdx.x * TILE;
    Complex* at = reinterpret_cast<Complex*>(spectrum) + first;
    const Multiply with(by);
    const auto load = [&](u32 c, u32 x) { return first + c < COLUMNS ? at[u64(x) * PLANE + c] : complex(0, 0); };
    const auto get = [&](u32 c, u32 x) { return room[x * TILE + c]; };
    const auto put = [&](u32 c, u32 x, Complex value) { room[x * TILE + c] = value; };
    const auto store = [&](u32 c, u32 x, Complex value) {
        if (first + c < COLUMNS) at[u64(x) * PLANE + c] = value;
    };
    constexpr u32 LAST = PlanX::STAGES - 1, R = PlanX::radix(LAST);
    const auto multiply = [&](u32 c, u32 j, u32 step, Complex(&x)[R]) {
        const auto column = with.column(first + c);
#pragma unroll
        for (u32 i = 0; i < R; ++i) x[i] = with.times<WITH_SUMS>(x[i], j + i * step, column, sums);
        butterfly<R, BACKWARD>(x);
    };
    if constexpr (LAST == 0) {
        stage<PlanX, 0, FORWARD, Tile, false, true>(twiddles_x(twiddles), load, multiply, store);
    } else {
        stages<PlanX, 0, LAST, FORWARD, Tile, false>(twiddles_x(twiddles), load, get, put, put);
        __syncthreads();
        stage<PlanX, LAST, FORWARD, Tile, true, true>(twiddles_x(twiddles), get, multiply, put);
        __syncthreads();
        stages<BackX, 1, BackX::STAGES, BACKWARD, Tile, true>(twiddles_x(twiddles), get, get, put, store);
    }
}

KERNEL(debye_mesh_solve, TILE_THREADS, real* spectrum, const real* twiddles, Multiplier by, Rest rest)
{
    DYNAMIC_SHARED(Complex, room);
    if (rests(rest)) return;
    f64 sums[SUMS];
    solve<false>(spectrum, twiddles, by, sums, room);
}

// The same with SUMS numbers of every block.
KERNEL(debye_mesh_solve_sums, TILE_THREADS, real* spectrum, const real* twiddles, Multiplier by, f64* partial, Rest rest)
{
    DYNAMIC_SHARED(Complex, room);
    SHARED(f64, warps, TILE_THREADS / WARP * SUMS);
    if (rests(rest)) return;
    f64 sums[SUMS] = {};
    solve<true>(spectrum, twiddles, by, sums, room);
    leave_partial<TILE_THREADS>(partial, sums, warps);
}
