// Charges and potentials on a mesh: what spreading, gathering and the lists of bricks share.
//
// A particle's coordinate is the upper half of its fraction of the cell, p / 2^32, in double precision all of it. Times the points of the mesh along an
// axis, the upper half of the 64-bit product is the mesh cell and the lower half the exact way into it. A charge touches
// POINTS points along each axis, the first of them FIRST from its cell, wrapped. The mesh is cut into bricks; those at the
// upper ends may be smaller.
//
// Defines: MESH_X, MESH_Y, MESH_Z (points; z is contiguous), BRICK_X, BRICK_Y, BRICK_Z (multiples of 4), MESH_DOUBLE.
// basis.cuh is printed for a basis: mesh_real, POINTS, FIRST, BOX, MOST_WEIGHT, basis_values and basis_derivatives.
#pragma once
#include "mesh_shared.cuh"

__device__ constexpr u32 bricks_along(u32 points, u32 edge) { return (points + edge - 1) / edge; }
constexpr u32 BRICKS_X = bricks_along(MESH_X, BRICK_X), BRICKS_Y = bricks_along(MESH_Y, BRICK_Y),
              BRICKS_Z = bricks_along(MESH_Z, BRICK_Z), BRICKS = BRICKS_X * BRICKS_Y * BRICKS_Z;
static_assert(BRICK_X % 4 == 0 && BRICK_Y % 4 == 0 && BRICK_Z % 4 == 0, "edges of bricks are multiples of four");
static_assert(MESH_X >= POINTS && MESH_Y >= POINTS && MESH_Z >= POINTS, "a charge touches no point twice");

// Whether a charge may touch a brick at both ends, because the mesh is hardly longer than the brick.
__device__ constexpr bool wraps(u32 points, u32 edge) { return points < (edge < points ? edge : points) + POINTS - 1; }
constexpr bool WRAPS_X = wraps(MESH_X, BRICK_X), WRAPS_Y = wraps(MESH_Y, BRICK_Y), WRAPS_Z = wraps(MESH_Z, BRICK_Z);

// Sums are whole numbers, so that their order does not matter.
#if MESH_DOUBLE
using fixed = i64;
#else
using fixed = i32;
#endif

// Gives solver and gatherer the cell as a barostat left it. One thread.
__device__ inline void update_cell(const MeshChangingCell& to, u32* overflow)
{
    const f64 ax = to.frame[0], by = to.frame[1], cz = to.frame[2], bx = to.frame[3], cx = to.frame[4], cy = to.frame[5];
    const f64 reciprocal[3][3] = {{1.0 / ax, -bx / (ax * by), (bx * cy - cx * by) / (ax * by * cz)},
                                  {0.0, 1.0 / by, -cy / (by * cz)},
                                  {0.0, 0.0, 1.0 / cz}};
    bool shrunk = false;
    for (u32 axis = 0; axis < 3; ++axis) {
        const f64* a = reciprocal[axis];
        for (u32 k = 0; k < 3; ++k) {
            to.solver->reciprocal[3 * axis + k] = a[k];
            to.gatherer->turn[3 * k + axis] = to.gatherer->potential * a[k];
        }
        shrunk = shrunk || to.reach * sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) > to.most[axis];
    }
    to.solver->volume = ax * by * cz;
    // Lists must have more room, before anything moves.
    if (shrunk && overflow) atomicExch(overflow, 1u);
}

// What others of this step begin with: sums of forces at nothing, and the cell. One block calls it, before they run.
__device__ __forceinline__ void make_ready(const MeshLists& l)
{
    if (l.sums && threadIdx.x < 3) l.sums[threadIdx.x] = 0;
    if (l.changing.frame && threadIdx.x == 0) update_cell(l.changing, l.overflow);
}

// Whether there is nothing to do.
__device__ __forceinline__ bool rests(const MeshParticles& p) { return p.rest && *p.rest != 0; }

// Slots that may hold particles.
__device__ __forceinline__ u32 slots_used(const MeshParticles& p)
{
    return p.used ? smaller(*p.used * p.unit, p.slots) : p.slots;
}

// The first point that a charge touches along an axis, and its way beyond the point below it.
struct Along {
    u32 start;
    mesh_real rest;
};
template <u32 SIZE> __device__ __forceinline__ u32 first_point(u32 below)
{
    const i32 start = i32(below) + FIRST;
    return u32(start < 0 ? start + i32(SIZE) : start);
}
// Of a fraction of 32 bits, and of one of 64.
template <u32 SIZE> __device__ __forceinline__ Along along(u32 position)
{
    const u64 u = u64(position) * SIZE;
    return {first_point<SIZE>(u32(u >> 32)), mesh_real(u32(u)) * mesh_real(2.3283064365386963e-10)};
}
template <u32 SIZE> __device__ __forceinline__ Along along(u64 position)
{
    return {first_point<SIZE>(u32(__umul64hi(position, SIZE))), mesh_real(position * SIZE) * mesh_real(5.421010862427522e-20)};
}

// Blocks to limit registers for: RESIDENT, or as many as the threads of a multiprocessor allow.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800
constexpr u32 THREADS_TO_FIT = 1024;
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
constexpr u32 THREADS_TO_FIT = 1536;
#else
constexpr u32 THREADS_TO_FIT = 2048;
#endif
__device__ constexpr u32 fitting(u32 threads, u32 blocks)
{
    return threads * blocks <= THREADS_TO_FIT ? blocks : THREADS_TO_FIT / threads;
}

// Where a brick begins, and how large it is.
struct Brick {
    i32 x, y, z;
    i32 nx, ny, nz;
};
__device__ __forceinline__ Brick brick(u32 number)
{
    const i32 z = i32(number % BRICKS_Z) * BRICK_Z, y = i32(number / BRICKS_Z % BRICKS_Y) * BRICK_Y,
              x = i32(number / (BRICKS_Z * BRICKS_Y)) * BRICK_X;
    return {x, y, z, min(BRICK_X, MESH_X - x), min(BRICK_Y, MESH_Y - y), min(BRICK_Z, MESH_Z - z)};
}

// A point seen from the beginning of a brick of n points: below n, at or after its beginning or as little before as can be.
template <u32 SIZE> __device__ __forceinline__ i32 seen(u32 start, i32 origin, i32 n)
{
    i32 d = i32(start) - origin;
    if (d < 0) d += i32(SIZE);
    return d >= n ? d - i32(SIZE) : d;
}

// A point of a stencil that begins at a place `seen` from a brick.
template <u32 SIZE, bool WRAPS> __device__ __forceinline__ i32 folded(i32 i)
{
    if (WRAPS) i = i < 0 ? i + i32(SIZE) : i >= i32(SIZE) ? i - i32(SIZE) : i;
    return i;
}

__device__ __forceinline__ u64 mesh_index(u32 x, u32 y, u32 z) { return (u64(x) * MESH_Y + y) * MESH_Z + z; }

// Words of a row and of a plane in shared memory: neighboring rows and planes begin in other banks.
__device__ constexpr u32 row_words(u32 n) { return n + (12 - n % 8) % 8; }
__device__ constexpr u32 plane_words(u32 rows, u32 row) { return rows * row + (48 - rows * row % 32) % 32; }

// Where a charge is: fractions of the cell.
#if MESH_DOUBLE
using fraction = u64;
#else
using fraction = u32;
#endif
struct Fractions {
    fraction x, y, z;
};

// A charge on its way to the mesh.
struct Entry {
    Fractions at;
    mesh_real charge;
};

// Particles where they are now.
struct Present {
    const uint4* pos;
    const u32* low;
    const mesh_real* charges;
    u32 slots;

    __device__ __forceinline__ explicit Present(const MeshParticles& p)
        : pos(p.pos), low(p.low), charges(p.charges), slots(p.slots)
    {
        if (!p.parity) return;
        const u64 from = u64(*p.parity) * slots;
        pos += from;
        if (low) low += 3 * from;
    }
    __device__ __forceinline__ Entry at(u32 slot) const
    {
        const uint4 upper = pos[slot];
        Entry e = {{upper.x, upper.y, upper.z}, upper.w == EMPTY_SLOT ? mesh_real(0) : charges[upper.w]};
#if MESH_DOUBLE
        e.at = {e.at.x << 32, e.at.y << 32, e.at.z << 32};
        if (low) e.at = {e.at.x | low[slot], e.at.y | low[u64(slots) + slot], e.at.z | low[2 * u64(slots) + slot]};
#endif
        return e;
    }
};

__device__ __forceinline__ f32 fused(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
__device__ __forceinline__ f64 fused(f64 a, f64 b, f64 c) { return fma(a, b, c); }
