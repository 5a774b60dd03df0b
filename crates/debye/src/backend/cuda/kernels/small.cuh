// Small systems: what their kernels share, and how particles see each other.
//
// Particles stay in the order of their ids; LANES lanes of a warp own one, and its list is theirs alone. Coordinates are
// kept as in engine.cuh. The w of a position is the kind of particle and, where IMAGES is 1, also the number of cells it has
// left behind, modulo 32 along each vector (bits 16, 21 and 26). An entry of a list is a particle and, where IMAGES is 1,
// an image in the same bits: differences are then those of whole numbers of 37 bits, of which the upper 5 count cells. They
// stay right when a particle crosses a face, and the radius may be many cells long.
//
// Defines: LANES (a power of two up to 32), IMAGES (1: the cell is shorter than twice the radius of the lists), TRICLINIC
// (1: the cell is not orthorhombic), EXCLUSIONS (1: some pairs are left out), CACHED (1: positions are read through the first
// cache, which the meeting of the blocks empties).
#pragma once
#include "common.cuh"
#include "pair_terms.cuh"

static_assert(LANES >= 1 && LANES <= WARP && (LANES & (LANES - 1)) == 0, "lanes of a particle");

// What does not change during a launch. Matrices are lower triangular: xx, yx, yy, zx, zy, zz.
struct SmallSetup {
    f64 whole[6]; // whole coordinates per length
    f64 dt;
    u64 seed;
    u64 target;   // steps to do
    f32 unit[6];  // lengths per unit of the upper halves
    f32 limit2;   // a particle that moved farther than the root of this makes the lists stale
    f32 radius2;  // of the lists
    u32 particles;
    u32 settle;   // make a new list even if there is no step to do
    i32 reach[3]; // images to look at on either side
    u32 capacity; // entries that a list has room for
};

// Words in device memory that steer a run.
struct SmallControl {
    u64 step;     // steps done
    u32 parity;   // which of the two `pos` is now
    u32 stale;    // the lists must be made anew before the next step
    u32 overflow; // a list did not fit
    u32 lost;     // 1 + a particle that is nowhere
    u32 builds;   // times that lists were made
    u32 needed;   // entries of the longest list that did not fit
};

// Everything in device memory.
struct SmallWorld {
    SmallControl* control;
    u64* meetings;     // two words at which the blocks meet, by turns
    uint4* pos;        // two halves, by SmallControl::parity
    u32* low;          // axis by axis, like all that follow
    f64* velocities;
    i32* images;
    uint4* reference;  // positions the lists were made from
    u32* lists;        // SmallSetup::capacity to a particle
    u32* counts;
    f64* forces;
    f64* partial;
    const u32* excluded_starts; // partners of every particle that are left out
    const u32* excluded;
    const real* parameters;
    const real* tables;
    const Kind* kinds;
};

struct Apart {
    f32 x, y, z;
};

__device__ __forceinline__ u32 kind_of(u32 w)
{
#if IMAGES
    return w & 0xffffu;
#else
    return w;
#endif
}

__device__ __forceinline__ u32 partner_of(u32 entry)
{
#if IMAGES
    return entry & 0xffffu;
#else
    return entry;
#endif
}

// From fractions of the cell to lengths.
__device__ __forceinline__ Apart lengths(f32 x, f32 y, f32 z, const SmallSetup& f)
{
#if TRICLINIC
    return {x * f.unit[0] + y * f.unit[1] + z * f.unit[3], y * f.unit[2] + z * f.unit[4], z * f.unit[5]};
#else
    return {x * f.unit[0], y * f.unit[2], z * f.unit[5]};
#endif
}

#if IMAGES
// a − b, `cells` further; both count cells from bit `shift` of their w.
__device__ __forceinline__ f32 across(u32 a, u32 b, u32 aw, u32 bw, u32 entry, u32 shift)
{
    const u64 cells = ((aw >> shift) - (bw >> shift) + (entry >> shift)) & 31u;
    const u64 whole = (cells << 32) + (u64(a) - u64(b));
    return f32(i64(whole << 27) >> 27);
}
#endif

// a − b, where `entry` names the image of b.
__device__ __forceinline__ Apart apart(uint4 a, uint4 b, u32 entry, const SmallSetup& f)
{
#if IMAGES
    return lengths(across(a.x, b.x, a.w, b.w, entry, 16), across(a.y, b.y, a.w, b.w, entry, 21),
                   across(a.z, b.z, a.w, b.w, entry, 26), f);
#else
    (void)entry;
    return lengths(f32(i32(a.x - b.x)), f32(i32(a.y - b.y)), f32(i32(a.z - b.z)), f);
#endif
}

__device__ __forceinline__ f32 square(const Apart& d) { return d.x * d.x + d.y * d.y + d.z * d.z; }

#if IMAGES
// The image of b that is n cells from the one whose fractions are nearest to those of a, as entries name it.
__device__ __forceinline__ u32 image_along(u32 a, u32 b, u32 aw, u32 bw, i32 n, u32 shift)
{
    const i64 whole = i64(a) - i64(b), nearest = i64(i32(a - b));
    const u32 carried = u32((whole - nearest) >> 32);
    return ((u32(n) - ((aw >> shift) - (bw >> shift)) - carried) & 31u) << shift;
}

__device__ __forceinline__ u32 image_of(uint4 a, uint4 b, i32 nx, i32 ny, i32 nz)
{
    return image_along(a.x, b.x, a.w, b.w, nx, 16) | image_along(a.y, b.y, a.w, b.w, ny, 21) |
           image_along(a.z, b.z, a.w, b.w, nz, 26);
}

// What an image counter looks like in w after it changed by `by`.
__device__ __forceinline__ u32 counted(u32 w, i32 by, u32 shift)
{
    return (w & ~(31u << shift)) | ((((w >> shift) + u32(by)) & 31u) << shift);
}
#endif

// The position of another particle. Other multiprocessors wrote it before the last meeting.
__device__ __forceinline__ uint4 position(const uint4* pos, u32 which)
{
#if CACHED
    return pos[which];
#else
    return load_through(pos + which);
#endif
}

struct Sums {
    f32 fx, fy, fz;
    f32 energy[TERMS];
    f32 virial[6];
};

// One lane's share of a list: forces still without their factor −2.
template <bool ENERGY>
__device__ __forceinline__ void visit(Sums& s, const uint4* pos, const u32* list, u32 count, u32 lane, uint4 own,
                                      const SmallWorld& w, const SmallSetup& f)
{
    constexpr u32 AT_ONCE = 4, NOBODY = 0xffffffffu;
    for (u32 k = lane; k < count; k += AT_ONCE * LANES) {
        u32 entry[AT_ONCE];
        uint4 other[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) entry[j] = k + j * LANES < count ? list[k + j * LANES] : NOBODY;
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (entry[j] != NOBODY) other[j] = position(pos, partner_of(entry[j]));
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (entry[j] == NOBODY) continue;
            const Apart d = apart(own, other[j], entry[j], f);
            f32 energies[TERMS], slope;
            debye_pair(square(d), kind_of(own.w), kind_of(other[j].w), w.parameters, w.tables, energies, slope);
            s.fx += slope * d.x;
            s.fy += slope * d.y;
            s.fz += slope * d.z;
            if (ENERGY) {
#pragma unroll
                for (u32 t = 0; t < TERMS; ++t) s.energy[t] += energies[t];
                s.virial[0] += slope * d.x * d.x;
                s.virial[1] += slope * d.y * d.y;
                s.virial[2] += slope * d.z * d.z;
                s.virial[3] += slope * d.x * d.y;
                s.virial[4] += slope * d.x * d.z;
                s.virial[5] += slope * d.y * d.z;
            }
        }
    }
}

// The sum over the lanes of a particle, the same bits to all of them.
__device__ __forceinline__ f32 over_lanes(f32 x)
{
#pragma unroll
    for (u32 step = LANES / 2; step > 0; step /= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    return x;
}

__device__ __forceinline__ void add_forces(Sums& s)
{
    s.fx = over_lanes(s.fx);
    s.fy = over_lanes(s.fy);
    s.fz = over_lanes(s.fz);
}
