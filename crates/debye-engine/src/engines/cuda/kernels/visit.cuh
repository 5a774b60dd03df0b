// Pairs: the stage of a block, and the visit of every particle to its neighbors in it.
//
// Defines: STAGE, the room of a stage where bodies are molecules, whose coordinates are found by it at no cost, else 0;
// STAGED, the bytes of a body in it; STAGED_NUMBERS, how many numbers of the terms are kept beside it; PARTED,
// SHORT and SOME_APOLAR, see rebuild.cu; TILES, whether a list belongs to a warp instead of a particle (0 or 1).
// A warp's list has all that is near any of its particles, in the same order as theirs would be; what is
// beyond a cut-off adds exactly nothing. So the sums are the same to the last bit.
//
// Includes pair_terms.cuh, which is printed for the simulation: TERMS, the number of pair terms, read_rows, debye_pair,
// where particles turn debye_oriented, and what molecules.cuh needs.
#pragma once
#include "engine.cuh"
#if TURNING
#include "oriented.cuh"
#endif
#include "pair_terms.cuh"

// A particle seen from the middle of a block, with all the digits that pairs are computed with.
__device__ __forceinline__ Spot spot_of(const Box& box, uint4 p, const u32* low, u32 slot, const Setup& f)
{
#if PRECISION == 2
    const f64* cell = f.frame.cell;
    const f64 part = 1.0 / 18446744073709551616.0;
    const u32 upper[3] = {p.x, p.y, p.z};
    f64 s[3];
    for (u32 k = 0; k < 3; ++k) {
        s[k] = part * f64(i64((u64(upper[k] - box.middle[k]) << 32) | low[u64(k) * f.slots + slot]));
    }
#if TRICLINIC
    return {s[0] * cell[0] + s[1] * cell[3] + s[2] * cell[4], s[1] * cell[1] + s[2] * cell[5], product(s[2], cell[2]), p.w};
#else
    return {product(s[0], cell[0]), product(s[1], cell[1]), product(s[2], cell[2]), p.w};
#endif
#else
    (void)low;
    (void)slot;
    const Place d = seen_from(box.middle, p, f);
    return {d.x, d.y, d.z, p.w};
#endif
}

// The same with the row class of its kind.
__device__ __forceinline__ Spot with_row_class(const Spot& spot, const World& w)
{
    Spot p = spot;
#if ROW_CLASSES
    if (p.kind != EMPTY_SLOT) p.kind = w.row_classes[p.kind];
#else
    (void)w;
#endif
    return p;
}

#if VARIED
__device__ __forceinline__ Traits traits_of(const Kind& kind) { return {real(kind.charge), real(kind.dipole)}; }
#endif

// The particles of a stage in shared memory, one more body than it has.
struct Stage {
    Spot* spots;
    u32 room; // in bodies
#if SITES > 1 && PRECISION != 2
    // Coordinates by site, x beside y, and kinds where there are others than molecules: a quarter less memory than with kinds
    // for all of them, and one block more on a multiprocessor.
    static_assert(STAGED == SITES * (sizeof(float2) + sizeof(f32)) + (PURE ? 0 : sizeof(u32)), "a body in a stage");
    __device__ __forceinline__ float2* flat() const { return reinterpret_cast<float2*>(spots); }
    __device__ __forceinline__ f32* height() const { return reinterpret_cast<f32*>(flat() + SITES * STAGE); }
    __device__ __forceinline__ u32* kind() const { return reinterpret_cast<u32*>(height() + SITES * STAGE); }
    __device__ __forceinline__ void put(u32 body, u32 site, const Spot& p) const
    {
        flat()[site * STAGE + body] = make_float2(p.x, p.y);
        height()[site * STAGE + body] = p.z;
        if (!PURE && site == 0) kind()[body] = p.kind;
    }
    __device__ __forceinline__ Spot get(u32 body, u32 site) const
    {
        const float2 p = flat()[site * STAGE + body];
        return {p.x, p.y, height()[site * STAGE + body], PURE || site > 0 ? KIND_OF_SITE[site] : kind()[body]};
    }
#else
    __device__ __forceinline__ void put(u32 body, u32 site, const Spot& p) const { spots[body * SITES + site] = p; }
    __device__ __forceinline__ Spot get(u32 body, u32 site) const { return spots[body * SITES + site]; }
#endif
#if TURNING
    __device__ __forceinline__ Facing* facings() const { return reinterpret_cast<Facing*>(spots + room); }
#endif
#if VARIED
    __device__ __forceinline__ Traits* traits() const
    {
#if TURNING
        return reinterpret_cast<Traits*>(facings() + room);
#else
        return reinterpret_cast<Traits*>(spots + room);
#endif
    }
#endif
    // Rows of numbers, where they are few enough to be in shared memory too.
    __device__ __forceinline__ const real* parameters(const World& w) const
    {
#if STAGED_NUMBERS
        (void)w;
        return reinterpret_cast<const real*>(reinterpret_cast<const char*>(spots) + u64(room) * STAGED);
#else
        return w.parameters;
#endif
    }
    static_assert(SITES > 1 || STAGED == sizeof(Spot) + TURNING * sizeof(Facing) + VARIED * sizeof(Traits), "a body in a stage");
};

// Reads the particles of a stage into shared memory; one more body is out of everyone's reach. Threads stand to the particles
// of a body as they do to its slots, so that these are read together.
__device__ __forceinline__ void read_stage(const Stage& to, const World& w, const uint4* pos, const u32* low, const u32* stage,
                                           u32 count, const Box& box, const Setup& f)
{
    constexpr u32 SIDE = SITES == 1 ? 1 : LANES, AT_ONCE = 4, STEP = BLOCK / SIDE;
    const u32 site = threadIdx.x % SIDE;
    for (u32 k = threadIdx.x / SIDE; k < count && site < SITES; k += STEP * AT_ONCE) {
        u32 slot[AT_ONCE];
        uint4 p[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * STEP < count) slot[j] = stage[k + j * STEP] * LANES + site;
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * STEP < count) p[j] = pos[slot[j]];
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * STEP >= count) continue;
#if VARIED
            to.traits()[k + j * STEP] = traits_of(w.kinds[p[j].w]);
#endif
            to.put(k + j * STEP, site, with_row_class(spot_of(box, p[j], low, slot[j], f), w));
        }
    }
#if VARIED
    if (threadIdx.x == 0) to.traits()[count] = {real(0), real(0)};
#endif
    if (threadIdx.x < SITES) to.put(count, threadIdx.x, {OUT_OF_REACH, OUT_OF_REACH, OUT_OF_REACH, 0});
#if STAGED_NUMBERS
    real* numbers = const_cast<real*>(to.parameters(w));
    for (u32 k = threadIdx.x; k < STAGED_NUMBERS; k += BLOCK) numbers[k] = w.parameters[k];
#endif
}

#if TURNING
// The same for what others see of how they lie.
__device__ __forceinline__ void read_facings(const Stage& to, const Facing* facings, const u32* stage, u32 count)
{
    constexpr u32 AT_ONCE = 4;
    for (u32 k = threadIdx.x; k < count; k += BLOCK * AT_ONCE) {
        Facing p[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * BLOCK < count) p[j] = facings[stage[k + j * BLOCK] * LANES];
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * BLOCK < count) to.facings()[k + j * BLOCK] = p[j];
        }
    }
    if (threadIdx.x == 0) to.facings()[count] = {real(0), real(0), real(1), real(0)};
}
#endif

// The list of this thread's body, from where this thread begins, or of its warp.
__device__ __forceinline__ const ushort4* list_of(const World& w, u32 b, const Setup& f)
{
#if TILES
    return reinterpret_cast<const ushort4*>(tile_of(w, b, warp_of(threadIdx.x), f));
#else
    return reinterpret_cast<const ushort4*>(w.lists) + (u64(b) * f.rows + threadIdx.x % LANES) * BODIES + threadIdx.x / LANES;
#endif
}

// Rows of a list that this thread takes: every LANES-th.
__device__ __forceinline__ u32 own_rows(u32 rows)
{
    return (rows + LANES - 1 - threadIdx.x % LANES) / LANES;
}

// Adds up over the threads of a body, and gives the sum to each of them.
template <class R> __device__ __forceinline__ void join(R& x)
{
#pragma unroll
    for (u32 step = LANES / 2; step > 0; step /= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
}

struct Sums {
    real fx, fy, fz;
    real energy[TERMS];
    real virial[6];
#if TURNING
    OrientedSums oriented;
#endif
};

// Energies and virial that the threads of a body found, given to the first of them.
__device__ __forceinline__ void join_sums(Sums& to, Sums& found)
{
    const bool first = threadIdx.x % LANES == 0;
#pragma unroll
    for (u32 t = 0; t < TERMS; ++t) {
        join(found.energy[t]);
        to.energy[t] = first ? found.energy[t] : real(0);
    }
#pragma unroll
    for (u32 k = 0; k < 6; ++k) {
        join(found.virial[k]);
        to.virial[k] = first ? found.virial[k] : real(0);
    }
}

// A particle that visits its neighbors.
struct Visitor {
    Spot spot;
#if PARTED
    u32 parts[2]; // World::parts_of
#endif
#if VARIED
    Traits traits;
#endif
#if TURNING
    Directed directed;
#endif
};

__device__ __forceinline__ Visitor visitor_of(const Box& box, uint4 p, const u32* low, u32 slot, u32 parity, const World& w,
                                              const Setup& f)
{
    Visitor v = {};
    v.spot = with_row_class(spot_of(box, p, low, slot, f), w);
    if (p.w == EMPTY_SLOT) return v;
#if VARIED
    v.traits = traits_of(w.kinds[p.w]);
#endif
#if TURNING
    direct(v.directed, half_of(w.facings, parity, f.slots)[slot]);
    v.directed.charge = real(w.kinds[p.w].charge);
    v.directed.dipole = real(w.kinds[p.w].dipole);
#if PARTED
    v.parts[0] = w.parts_of[2 * (slot / LANES)];
    v.parts[1] = w.parts_of[2 * (slot / LANES) + 1];
#endif
#else
    (void)parity;
#endif
    return v;
}

// What a neighbor does to a visitor, who stands at `from`. `rows` is what World::rows_of says. All terms of orientations act in
// part 0 of a list, all but the short ones in part 1, none in part 2.
template <bool ENERGY, u32 PART>
__device__ __forceinline__ void meet(Sums& s, u32 at, const Stage& stage, u32 padding, u32 rows, const Spot& from,
                                     const Visitor& visitor, const World& w, const Setup& f)
{
    (void)padding;
    (void)rows;
    (void)visitor;
#if WRAP
    if (at == padding) return;
#endif
    const Spot other = stage.spots[at];
    real dx = from.x - other.x, dy = from.y - other.y, dz = from.z - other.z;
    nearest(dx, dy, dz, f);
    real r2 = dx * dx + dy * dy + dz * dz;
#if TILES
    if (at == rows) r2 = real(3e18); // itself
#endif
    real energies[TERMS], derivative;
    Rows row;
    read_rows(row, from.kind, other.kind, stage.parameters(w));
#if VARIED
    const Traits traits = stage.traits()[at];
    row.charges = visitor.traits.charge * traits.charge;
#endif
    debye_pair(r2, row, w.tables, ~0u, energies, derivative);
#if TURNING
    if (PART < 2) {
        Directed directed;
        direct(directed, stage.facings()[at]);
#if VARIED
        directed.charge = traits.charge;
        directed.dipole = traits.dipole;
#endif
        const real d[3] = {-dx, -dy, -dz};
        real sideways[3] = {real(0), real(0), real(0)};
        debye_oriented<ENERGY, PART == 0>(r2, d, visitor.directed, directed, row, w.tables, energies, derivative, s.oriented,
                                          sideways);
        if (ENERGY) {
            s.virial[0] -= real(0.5) * dx * sideways[0];
            s.virial[1] -= real(0.5) * dy * sideways[1];
            s.virial[2] -= real(0.5) * dz * sideways[2];
            s.virial[3] -= real(0.5) * dx * sideways[1];
            s.virial[4] -= real(0.5) * dx * sideways[2];
            s.virial[5] -= real(0.5) * dy * sideways[2];
        }
    } else {
        for (u32 t = PAIR_TERMS; t < TERMS; ++t) energies[t] = real(0);
    }
#endif
    s.fx += derivative * dx;
    s.fy += derivative * dy;
    s.fz += derivative * dz;
    if (ENERGY) {
#pragma unroll
        for (u32 t = 0; t < TERMS; ++t) s.energy[t] += energies[t];
        s.virial[0] += derivative * dx * dx;
        s.virial[1] += derivative * dy * dy;
        s.virial[2] += derivative * dz * dz;
        s.virial[3] += derivative * dx * dy;
        s.virial[4] += derivative * dx * dz;
        s.virial[5] += derivative * dy * dz;
    }
}

#if !TILES
// Sums over some rows of the list of a particle, of which every thread of a body takes its share.
template <bool ENERGY, u32 PART>
__device__ __forceinline__ void visit_part(Sums& s, const Stage& stage, u32 padding, const ushort4* list, u32 begin, u32 end,
                                           const Visitor& visitor, const World& w, const Setup& f)
{
    u32 k = own_rows(begin);
    const u32 count = own_rows(end);
    if (k >= count) return;
    ushort4 next = list[u64(k) * BLOCK];
#pragma unroll 2
    for (; k < count; ++k) {
        const ushort4 row = next;
        if (k + 1 < count) next = list[u64(k + 1) * BLOCK];
        meet<ENERGY, PART>(s, row.x, stage, padding, 0, visitor.spot, visitor, w, f);
        meet<ENERGY, PART>(s, row.y, stage, padding, 0, visitor.spot, visitor, w, f);
        meet<ENERGY, PART>(s, row.z, stage, padding, 0, visitor.spot, visitor, w, f);
        meet<ENERGY, PART>(s, row.w, stage, padding, 0, visitor.spot, visitor, w, f);
    }
}
#endif

// Sums over the list of a particle. Forces still without their factor −2. `rows` is what World::rows_of says: the rows of the
// list, or with tiles the particle's own place in the stage.
template <bool ENERGY>
__device__ __forceinline__ void visit(Sums& s, const Stage& stage, u32 padding, const ushort4* list, u32 rows,
                                      const Visitor& visitor, const World& w, const Setup& f)
{
#if TILES
    // Nobody is out of everyone's reach too, on the other side.
    const Spot away = {-OUT_OF_REACH, -OUT_OF_REACH, -OUT_OF_REACH, 0};
    const Spot from = visitor.spot.kind != EMPTY_SLOT ? visitor.spot : away;
    auto one = [&](u32 at) { meet<ENERGY, 0>(s, at, stage, padding, rows, from, visitor, w, f); };
    const uint4* tile = reinterpret_cast<const uint4*>(list);
    const u32 eights = tile[0].x;
    uint4 next = tile[1];
    for (u32 k = 0; k < eights; ++k) {
        const uint4 row = next;
        next = tile[k + 2]; // there is room for one more
        one(row.x & 0xffffu);
        one(row.x >> 16);
        one(row.y & 0xffffu);
        one(row.y >> 16);
        one(row.z & 0xffffu);
        one(row.z >> 16);
        one(row.w & 0xffffu);
        one(row.w >> 16);
    }
#elif PARTED
    // See `Parts` in lists.cuh.
    const u32 first = visitor.parts[0], front = visitor.parts[1], back = f.rows - rows;
    if (SHORT && SOME_APOLAR) visit_part<ENERGY, 0>(s, stage, padding, list, 0, first, visitor, w, f);
    visit_part<ENERGY, SOME_APOLAR ? 1 : 0>(s, stage, padding, list, first, front, visitor, w, f);
    visit_part<ENERGY, SOME_APOLAR ? 2 : 1>(s, stage, padding, list, back, f.rows, visitor, w, f);
#else
    visit_part<ENERGY, 0>(s, stage, padding, list, 0, rows, visitor, w, f);
#endif
}
