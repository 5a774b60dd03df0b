// Pairs: the stage of a block, and the visit of every particle to its neighbors in it.
//
// Defines: STAGED, the bytes of a body in a stage; TILES, whether a list belongs to a warp instead of a particle (0 or 1), and
// GROUPS, see rebuild.cu. A warp's list
// has all that is near any of its particles, in the same order as theirs would be; what is beyond a cut-off adds exactly
// nothing. So the sums are the same to the last bit.
//
// Includes pair_terms.cuh, which is printed for the simulation: TERMS, the number of pair terms, and
// debye_pair(r2, own, other, rows, tables, energies, derivative); and what molecules.cuh needs.
#pragma once
#include "engine.cuh"
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

// The particles of a stage in shared memory, one more body than it has.
struct Stage {
    Spot* spots;
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
};

// Reads the particles of a stage into shared memory; one more body is out of everyone's reach. Threads stand to the particles
// of a body as they do to its slots, so that these are read together.
__device__ __forceinline__ void read_stage(const Stage& to, const uint4* pos, const u32* low, const u32* stage, u32 count,
                                           const Box& box, const Setup& f)
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
            to.put(k + j * STEP, site, spot_of(box, p[j], low, slot[j], f));
        }
    }
    if (threadIdx.x < SITES) to.put(count, threadIdx.x, {OUT_OF_REACH, OUT_OF_REACH, OUT_OF_REACH, 0});
}

// The list of this thread's body, from where this thread begins, or of its warp.
__device__ __forceinline__ const ushort4* list_of(const World& w, u32 b)
{
#if TILES
    return reinterpret_cast<const ushort4*>(tile_of(w, b, warp_of(threadIdx.x)));
#else
    return reinterpret_cast<const ushort4*>(w.lists) + (u64(b) * ROWS + threadIdx.x % LANES) * BODIES + threadIdx.x / LANES;
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

// Sums over the list of a particle. Forces still without their factor −2. `rows` is what World::rows_of says: the rows of the
// list, of which every thread of a body takes its share, or with tiles the particle's own place in the stage.
template <bool ENERGY>
__device__ __forceinline__ void visit(Sums& s, const Spot* shared, u32 padding, const ushort4* list, u32 rows, const Spot& me,
                                      const World& w, const Setup& f)
{
#if TILES
    // Nobody is out of everyone's reach too, on the other side.
    const Spot away = {-OUT_OF_REACH, -OUT_OF_REACH, -OUT_OF_REACH, 0};
    const Spot from = me.kind != EMPTY_SLOT ? me : away;
#else
    const Spot& from = me;
#endif
    auto meet = [&](u32 at) {
#if WRAP
        if (at == padding) return;
#endif
        const Spot other = shared[at];
        real dx = from.x - other.x, dy = from.y - other.y, dz = from.z - other.z;
        nearest(dx, dy, dz, f);
        real r2 = dx * dx + dy * dy + dz * dz;
#if TILES
        if (at == rows) r2 = real(3e18); // itself
#endif
        real energies[TERMS], derivative;
        debye_pair(r2, from.kind, other.kind, w.parameters, w.tables, energies, derivative);
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
    };
    (void)padding;
#if TILES
    const uint4* tile = reinterpret_cast<const uint4*>(list);
    const u32 eights = tile[0].x;
    uint4 next = tile[1];
    for (u32 k = 0; k < eights; ++k) {
        const uint4 row = next;
        next = tile[k + 2]; // there is room for one more
        meet(row.x & 0xffffu);
        meet(row.x >> 16);
        meet(row.y & 0xffffu);
        meet(row.y >> 16);
        meet(row.z & 0xffffu);
        meet(row.z >> 16);
        meet(row.w & 0xffffu);
        meet(row.w >> 16);
    }
#else
    const u32 count = own_rows(rows);
    if (count == 0) return;
    ushort4 next = list[0];
#pragma unroll 2
    for (u32 k = 0; k < count; ++k) {
        const ushort4 row = next;
        if (k + 1 < count) next = list[u64(k + 1) * BLOCK];
        meet(row.x);
        meet(row.y);
        meet(row.z);
        meet(row.w);
    }
#endif
}
