// Small systems: what their kernels share, and how particles see each other.
//
// Particles stay in the order of their ids; LANES lanes of a warp own one, and its list is theirs alone. Coordinates are
// kept as in engine.cuh. The w of a position is the kind of particle and, where IMAGES is 1, also the number of cells it
// has left behind, modulo 32 along each vector (from bits IMAGE_X, IMAGE_Y and IMAGE_Z). An entry of a list is a particle
// and, where IMAGES is 1, an image in the same bits: differences are then those of whole numbers of 37 bits, of which the
// upper 5 count cells. They stay right when a particle crosses a face, and the radius may be many cells long. In double
// precision the lower halves of all are published too, and differences of pairs have all digits (of 69 bits where IMAGES
// is 1). Bonded terms always see all digits.
//
// Defines: PRECISION (see precision.cuh), LANES (a power of two up to 32), IMAGES (1: the cell is shorter than twice the
// radius of the lists), TRICLINIC (1: the cell is not orthorhombic), EXCLUSIONS (1: some pairs are left out), CACHED (1:
// positions are read through the first cache, which the meeting of the blocks empties), BONDED (1: there are bonded
// terms), FINE (1: lower halves are published, for pairs of double precision and for bonded terms).
#pragma once
#include "frame.cuh"
#include "pair_terms.cuh"
#if BONDED
#include "bonded.cuh"
#endif

static_assert(LANES >= 1 && LANES <= WARP && (LANES & (LANES - 1)) == 0, "lanes of a particle");

constexpr u32 IMAGE_MASK = (1u << IMAGE_BITS) - 1;

template <class R> struct Apart {
    R x, y, z;
};

__device__ __forceinline__ u32 kind_of(u32 w)
{
#if IMAGES
    return w & ((1u << IMAGE_X) - 1);
#else
    return w;
#endif
}

__device__ __forceinline__ u32 partner_of(u32 entry)
{
#if IMAGES
    return entry & ((1u << IMAGE_X) - 1);
#else
    return entry;
#endif
}

// From parts of the frame to lengths.
template <class R> __device__ __forceinline__ Apart<R> lengths(R x, R y, R z, const R (&unit)[6])
{
#if TRICLINIC
    return {x * unit[0] + y * unit[3] + z * unit[4], y * unit[1] + z * unit[5], z * unit[2]};
#else
    return {x * unit[0], y * unit[1], z * unit[2]};
#endif
}

#if IMAGES
// a − b, `cells` further; both count cells from bit `shift` of their w.
__device__ __forceinline__ f32 across(u32 a, u32 b, u32 aw, u32 bw, u32 entry, u32 shift)
{
    const u64 cells = ((aw >> shift) - (bw >> shift) + (entry >> shift)) & IMAGE_MASK;
    const u64 whole = (cells << 32) + (u64(a) - u64(b));
    return f32(i64(whole << (32 - IMAGE_BITS)) >> (32 - IMAGE_BITS));
}
#endif

// a − b by their upper halves, where `entry` names the image of b.
__device__ __forceinline__ Apart<f32> apart(uint4 a, uint4 b, u32 entry, const Frame& frame)
{
#if IMAGES
    return lengths(across(a.x, b.x, a.w, b.w, entry, IMAGE_X), across(a.y, b.y, a.w, b.w, entry, IMAGE_Y),
                   across(a.z, b.z, a.w, b.w, entry, IMAGE_Z), frame.unit);
#else
    (void)entry;
    return lengths(f32(i32(a.x - b.x)), f32(i32(a.y - b.y)), f32(i32(a.z - b.z)), frame.unit);
#endif
}

template <class R> __device__ __forceinline__ R square(const Apart<R>& d) { return d.x * d.x + d.y * d.y + d.z * d.z; }

// Where a particle is, as far as pairs know it.
struct Seen {
    uint4 at;
#if PRECISION == 2
    uint4 low;
#endif
};

#if PRECISION == 2
// The same with all digits, as a part of the frame.
__device__ __forceinline__ f64 across64(u64 a, u64 b, u32 aw, u32 bw, u32 entry, u32 shift)
{
    const f64 part = 1.0 / 18446744073709551616.0;
    const u64 whole = a - b;
    const f64 nearest = part * f64(i64(whole));
#if IMAGES
    // From the image whose fractions are nearest: their difference is negative, or one was taken from the cells.
    const u32 cells = (aw >> shift) - (bw >> shift) + (entry >> shift) - u32(a < b) + u32(whole >> 63);
    return f64(i32(cells << (32 - IMAGE_BITS)) >> (32 - IMAGE_BITS)) + nearest;
#else
    (void)aw;
    (void)bw;
    (void)entry;
    (void)shift;
    return nearest;
#endif
}

__device__ __forceinline__ Apart<f64> apart(const Seen& a, const Seen& b, u32 entry, const Frame& frame)
{
    auto both = [](u32 upper, u32 lower) { return u64(upper) << 32 | lower; };
    return lengths(across64(both(a.at.x, a.low.x), both(b.at.x, b.low.x), a.at.w, b.at.w, entry, IMAGE_X),
                   across64(both(a.at.y, a.low.y), both(b.at.y, b.low.y), a.at.w, b.at.w, entry, IMAGE_Y),
                   across64(both(a.at.z, a.low.z), both(b.at.z, b.low.z), a.at.w, b.at.w, entry, IMAGE_Z), frame.cell);
}
#else
__device__ __forceinline__ Apart<f32> apart(const Seen& a, const Seen& b, u32 entry, const Frame& frame)
{
    return apart(a.at, b.at, entry, frame);
}
#endif

#if IMAGES
// The image of b that is n cells from the one whose fractions are nearest to those of a, as entries name it.
__device__ __forceinline__ u32 image_along(u32 a, u32 b, u32 aw, u32 bw, i32 n, u32 shift)
{
    const i64 whole = i64(a) - i64(b), nearest = i64(i32(a - b));
    const u32 carried = u32((whole - nearest) >> 32);
    return ((u32(n) - ((aw >> shift) - (bw >> shift)) - carried) & IMAGE_MASK) << shift;
}

__device__ __forceinline__ u32 image_of(uint4 a, uint4 b, i32 nx, i32 ny, i32 nz)
{
    return image_along(a.x, b.x, a.w, b.w, nx, IMAGE_X) | image_along(a.y, b.y, a.w, b.w, ny, IMAGE_Y) |
           image_along(a.z, b.z, a.w, b.w, nz, IMAGE_Z);
}

// What an image counter looks like in w after it changed by `by`.
__device__ __forceinline__ u32 counted(u32 w, i32 by, u32 shift)
{
    return (w & ~(IMAGE_MASK << shift)) | ((((w >> shift) + u32(by)) & IMAGE_MASK) << shift);
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

// Places that all can see: one of the two halves.
struct Published {
    uint4* pos;
#if FINE
    uint4* low;
#endif
};

__device__ __forceinline__ Published published_half(const SmallWorld& w, u32 parity, u32 particles)
{
    const u64 first = u64(parity) * particles;
#if FINE
    return {w.pos + first, reinterpret_cast<uint4*>(w.low) + first};
#else
    return {w.pos + first};
#endif
}

__device__ __forceinline__ Seen seen(const Published& all, u32 which)
{
#if PRECISION == 2
    return {position(all.pos, which), position(all.low, which)};
#else
    return {position(all.pos, which)};
#endif
}

struct Sums {
    real fx, fy, fz;
    real energy[TERMS];
    real virial[6];
};

// One lane's share of a list: forces still without their factor −2.
template <bool ENERGY>
__device__ __forceinline__ void visit(Sums& s, const Published& all, const u32* list, u32 count, u32 lane, const Seen& own,
                                      const SmallWorld& w, const Frame& frame)
{
    constexpr u32 AT_ONCE = 4, NO_ENTRY = 0xffffffffu;
    for (u32 k = lane; k < count; k += AT_ONCE * LANES) {
        u32 entry[AT_ONCE];
        Seen other[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) entry[j] = k + j * LANES < count ? list[k + j * LANES] : NO_ENTRY;
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (entry[j] != NO_ENTRY) other[j] = seen(all, partner_of(entry[j]));
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (entry[j] == NO_ENTRY) continue;
            const Apart<real> d = apart(own, other[j], entry[j], frame);
            real energies[TERMS], derivative;
            debye_pair(square(d), kind_of(own.at.w), kind_of(other[j].at.w), w.parameters, w.tables, energies, derivative);
            s.fx += derivative * d.x;
            s.fy += derivative * d.y;
            s.fz += derivative * d.z;
            if (ENERGY) {
#pragma unroll
                for (u32 t = 0; t < TERMS; ++t) s.energy[t] += energies[t];
                s.virial[0] += derivative * d.x * d.x;
                s.virial[1] += derivative * d.y * d.y;
                s.virial[2] += derivative * d.z * d.z;
                s.virial[3] += derivative * d.x * d.y;
                s.virial[4] += derivative * d.x * d.z;
                s.virial[5] += derivative * d.y * d.z;
            }
        }
    }
}

// The sum over the lanes of a particle, the same bits to all of them.
__device__ __forceinline__ real over_lanes(real x)
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

__device__ __forceinline__ f64 over_lanes64(f64 x)
{
#pragma unroll
    for (u32 step = LANES / 2; step > 0; step /= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    return x;
}

#if BONDED
// Where everybody is, for links.
struct Everybody {
    const Published& all;
    __device__ __forceinline__ Exact of(u32 id) const
    {
        const uint4 upper = position(all.pos, id);
#if FINE
        const uint4 lower = position(all.low, id);
        return {u64(upper.x) << 32 | lower.x, u64(upper.y) << 32 | lower.y, u64(upper.z) << 32 | lower.z};
#else
        return {u64(upper.x) << 32, u64(upper.y) << 32, u64(upper.z) << 32};
#endif
    }
};

// One lane on its way through its share of a particle's links, term by term.
template <bool ENERGY> struct Walk {
    const Links& l;
    const Everybody p;
    const f64 (&cell)[6];
    const Exact me;
    u32 at;
    const u32 end;
    uint4 next;
    Share s;
    f64 energies[ENERGY ? LINK_TERMS : 1];

    template <class Term> __device__ __forceinline__ void operator()(const Term& term)
    {
        s.energy = 0.0;
        while (at < end && next.w >> (ROW_BITS + PLACE_BITS) == Term::TERM) {
            const uint4 now = next;
            at += LANES;
            if (at < end) next = l.links[at];
            link<ENERGY>(s, term, now, me, p, l, cell);
        }
        if (ENERGY) energies[Term::TERM] = s.energy;
    }
};

// One lane's share of the links of particle i.
template <bool ENERGY>
__device__ __forceinline__ Walk<ENERGY> all_links(const Published& all, u32 i, bool there, u32 lane, const SmallWorld& w,
                                                  const Frame& frame)
{
    const Links& l = w.links;
    const Everybody p = {all};
    const u32 begin = (there ? l.starts[i] : 0) + lane, end = there ? l.starts[i + 1] : 0;
    Walk<ENERGY> walk = {l, p, frame.cell, p.of(i), begin, end, {}, {}, {}};
    if (begin < end) walk.next = l.links[begin];
    each_link_term(walk);
    return walk;
}
#endif
