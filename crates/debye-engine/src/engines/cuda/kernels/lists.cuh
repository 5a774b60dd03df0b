// Neighbors of a block's particles: which candidates of a warp are within the radius, and their lists.
//
// Defines: MANY, EXCLUSIONS, PARTED, SHORT and SOME_APOLAR, see rebuild.cu; WRAP, see engine.cuh.
#pragma once
#include "engine.cuh"

// Of a stage.
constexpr u32 NO_PLACE = 0xffffffffu;

// Bit j of lane i becomes bit i of lane j.
__device__ __forceinline__ u32 transposed(u32 x, u32 lane)
{
    u32 low = 0xffffu; // the bits that stay with a lower lane
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        const u32 other = __shfl_xor_sync(ALL_LANES, x, step);
        const bool upper = lane & step;
        const u32 turn = upper ? WARP - step : step, kept = upper ? ~low : low;
        x = (x & kept) | ((other << turn | other >> (WARP - turn)) & ~kept);
        low ^= low << step / 2;
    }
    return x;
}

// Pairs that a particle is not in.
struct LeftOut {
    u64 near; // bit k: with the particle of number own + k - EXCLUDED_BELOW
    u32 own, begin, end; // the others in `World::excluded_far`

    __device__ __forceinline__ bool has(u32 number, const u32* far) const
    {
        const u32 bit = number - own + EXCLUDED_BELOW;
        if (bit < 64) return near >> bit & 1;
        u32 from = begin, to = end;
        while (from < to) {
            const u32 middle = (from + to) / 2, there = far[middle];
            if (there == number) return true;
            if (there < number) from = middle + 1;
            else to = middle;
        }
        return false;
    }
};

__device__ __forceinline__ ushort4 four(u64 row)
{
    ushort4 to;
    to.x = u16(row);
    to.y = u16(row >> 16);
    to.z = u16(row >> 32);
    to.w = u16(row >> 48);
    return to;
}

// Whether two places are within the radius. Without wrapping this is the sign of |a−b|²/2 − r²/2, where `a` holds −a and
// (r²−|a|²)/2, and `b` holds b and |b|²/2: three products.
//
// Its rounding: with u = 2⁻²⁴ and both places at most R from the middle of the block, |b|²/2 is off by 1.5 u R², the other
// constant by 2.5 u R² (r < R), and each of three sums by 1.5 u R²: together 8.5 u R². A margin of 16 u R² misses no pair.
__device__ __forceinline__ bool within(const float4& a, const float4& b, const Setup& f)
{
#if WRAP
    f32 x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
    nearest(x, y, z, f);
    return x * x + y * y + z * z < a.w;
#else
    (void)f;
    return a.x * b.x + (a.y * b.y + (a.z * b.z + b.w)) < a.w;
#endif
}

// A place of the stage and a particle of the block, as `within` wants them.
__device__ __forceinline__ float4 found_at(const float4& p)
{
    return make_float4(p.x, p.y, p.z, 0.5f * (p.x * p.x + p.y * p.y + p.z * p.z));
}
__device__ __forceinline__ float4 searching(const Place& d, bool there, const Box& box, const Setup& f)
{
#if WRAP
    (void)box;
    return make_float4(d.x, d.y, d.z, there ? f.radius2 : -1.0f);
#else
    const f32 x = box.half[0] + f.radius, y = box.half[1] + f.radius, z = box.half[2] + f.radius;
    const f32 margin = (x * x + y * y + z * z) * 9.5367431640625e-7f;
    const f32 limit = 0.5f * (f.radius2 - (d.x * d.x + d.y * d.y + d.z * d.z)) + margin;
    return make_float4(-d.x, -d.y, -d.z, there ? limit : -1e18f);
#endif
}

// Which of a warp's 32 particles are within the radius of this lane's candidates: a bit for every particle. A place that
// is read by all lanes costs as much as 32 places that are read by one each, so every particle is read for several
// candidates at once.
template <u32 COUNT>
__device__ __forceinline__ void search(u32 (&hits)[COUNT], const float4 (&candidate)[COUNT], const float4* particles, const Setup& f)
{
    constexpr u32 AT_ONCE = 8;
#pragma unroll
    for (u32 k = 0; k < COUNT; ++k) hits[k] = 0;
#pragma unroll 1
    for (u32 first = 0; first < WARP; first += AT_ONCE) {
#pragma unroll
        for (u32 k = 0; k < COUNT; ++k) hits[k] >>= AT_ONCE;
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            const float4 a = particles[first + j];
#pragma unroll
            for (u32 k = 0; k < COUNT; ++k) {
                if (within(a, candidate[k], f)) hits[k] |= 1u << (WARP - AT_ONCE + j);
            }
        }
    }
}

// Which of a warp's candidates are neighbors of this lane's particle: a word for 32 of them, the first in its highest
// bit, and for 32 words one that says which of those are not empty.
struct Neighbors {
    static constexpr u32 HIGHEST = 0x80000000u;
    u32 *words, *present; // of this lane, every 32nd
    const u16* candidates;
    u32 own;                       // the particle itself among the candidates
    u32 total;                     // how many there are
    u32 any, word, first, super;   // where `next` is

    // Takes the bits of 32 particles for this lane's candidate.
    __device__ __forceinline__ void keep(u32 g, u32 hits, u32 lane)
    {
        u32 bits = __brev(transposed(hits, lane));
        if (own / WARP == g) bits &= ~(HIGHEST >> own % WARP);
        words[g * WARP] = bits;
        total += u32(__popc(bits));
        if (MANY && g % WARP == 0) any = 0;
        if (bits != 0) any |= HIGHEST >> g % WARP;
        if (MANY) present[g / WARP * WARP] = any;
    }
    __device__ __forceinline__ void rewind(u32 groups)
    {
        word = first = super = 0;
        if (MANY && groups > 0) any = present[0];
    }
    // The next one's place in the stage; to be called `total` times.
    __device__ __forceinline__ u32 next()
    {
        if (word == 0) {
            while (MANY && any == 0) any = present[++super * WARP];
            const u32 group = u32(__clz(int(any)));
            any ^= HIGHEST >> group;
            first = (super * WARP + group) * WARP;
            word = words[first];
        }
        const u32 at = u32(__clz(int(word)));
        word ^= HIGHEST >> at;
        return candidates[first + at];
    }
};

// Tests all candidates of a warp.
__device__ __forceinline__ void test_all(Neighbors& n, u32 groups, const float4* places, const float4* particles, u32 lane,
                                         const Setup& f)
{
    constexpr u32 AT_ONCE = 4;
    auto place = [&](u32 g) { return found_at(places[n.candidates[g * WARP + lane]]); };
    u32 g = 0;
    for (; g + AT_ONCE <= groups; g += AT_ONCE) {
        float4 p[AT_ONCE];
        u32 hits[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) p[k] = place(g + k);
        search(hits, p, particles, f);
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) n.keep(g + k, hits[k], lane);
    }
    for (; g < groups; ++g) {
        const float4 p[1] = {place(g)};
        u32 hits[1];
        search(hits, p, particles, f);
        n.keep(g, hits[0], lane);
    }
}

// Writes the list of a particle, four to a row; the last row is filled up with padding.
__device__ __forceinline__ void write_list(ushort4* list, Neighbors& n, u32 padding)
{
    auto row_of = [&](u32 count) {
        ushort4 row;
        row.x = u16(n.next());
        row.y = u16(count > 1 ? n.next() : padding);
        row.z = u16(count > 2 ? n.next() : padding);
        row.w = u16(count > 3 ? n.next() : padding);
        return row;
    };
    const u32 full = n.total / 4, rest = n.total % 4;
    for (u32 r = 0; r < full; ++r) list[u64(r) * BODIES] = row_of(4);
    if (rest != 0) list[u64(full) * BODIES] = row_of(rest);
}

// The same without those that are left out; gives how many remain.
__device__ __forceinline__ u32 write_list(ushort4* list, Neighbors& n, u32 padding, const LeftOut& left_out, const u32* far,
                                          const float4* places)
{
    u64 row = 0;
    u32 kept = 0;
    auto add = [&](u32 at) {
        row = row >> 16 | u64(at) << 48;
        if (++kept % 4 == 0) list[u64(kept / 4 - 1) * BODIES] = four(row);
    };
    for (u32 k = 0; k < n.total; ++k) {
        const u32 at = n.next();
        if (!left_out.has(__float_as_uint(places[at].w), far)) add(at);
    }
    const u32 remaining = kept;
    while (kept % 4 != 0) add(padding);
    return remaining;
}

#if PARTED
// A list in parts: `front` rows from the beginning, of which `first` are the first part where there are three, and `back` rows
// at the end of its room.
struct Parts {
    u32 first, front, back, kept;
};

// The same in parts, each filled up to whole rows: those that are near enough for every term of orientations, those for which
// all but the short ones act, and the rest.
__device__ __forceinline__ Parts write_parts(ushort4* list, Neighbors& n, u32 groups, u32 padding, const LeftOut& left_out,
                                             const u32* far, const float4* places, const Place& me, bool polar, const Setup& f)
{
    u64 front = 0, back = 0;
    u32 before = 0, behind = 0;
    Parts parts = {};
    auto add = [&](u32 at) {
        front = front >> 16 | u64(at) << 48;
        if (++before % 4 == 0) list[u64(before / 4 - 1) * BODIES] = four(front);
    };
    auto add_back = [&](u32 at) {
        back = back >> 16 | u64(at) << 48;
        if (++behind % 4 == 0) list[u64(f.rows - behind / 4) * BODIES] = four(back);
    };
    const u32 any = n.any;
    const bool leaves_out = EXCLUSIONS && (left_out.near != 0 || left_out.begin != left_out.end);
    // With three parts, the near ones first.
    for (u32 pass = SHORT && SOME_APOLAR ? 0 : 1; pass < 2; ++pass) {
        n.rewind(groups);
        if (!MANY) n.any = any;
        for (u32 k = 0; k < n.total; ++k) {
            const u32 at = n.next();
            const float4 p = places[at];
            const u32 word = __float_as_uint(p.w);
            if (leaves_out && left_out.has(word & 0x7fffffffu, far)) continue;
            bool near = false;
            if (SHORT) {
                Place d = {p.x - me.x, p.y - me.y, p.z - me.z};
                nearest(d.x, d.y, d.z, f);
                near = d.x * d.x + d.y * d.y + d.z * d.z < f.short2;
            }
            if (SHORT && SOME_APOLAR && near != (pass == 0)) continue;
            ++parts.kept;
            const bool acts = near || (SOME_APOLAR && polar && word >> 31 != 0);
            if (acts) add(at);
            else add_back(at);
        }
        while (before % 4 != 0) add(padding);
        if (pass == 0) parts.first = before / 4;
    }
    while (behind % 4 != 0) add_back(padding);
    parts.front = before / 4;
    parts.back = behind / 4;
    return parts;
}
#endif

// Candidates of a warp: how many, and which is the lane's own particle.
struct Picked {
    u32 count, own;
};

// Picks from the stage what is near the box of a warp, in order, as far as there is room.
__device__ __forceinline__ Picked pick(u16* candidates, const float4* places, u32 staged, u32 own_place, const Box& box,
                                       const Place& middle, u32 lane, const Setup& f)
{
    constexpr u32 AT_ONCE = 4;
    Picked picked = {0, NO_PLACE};
    for (u32 base = 0; base < staged; base += WARP * AT_ONCE) {
        float4 p[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) p[j] = places[smaller(base + j * WARP + lane, staged)];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            Place d = {p[j].x - middle.x, p[j].y - middle.y, p[j].z - middle.z};
            nearest(d.x, d.y, d.z, f);
            const u32 first = base + j * WARP;
            const bool hit = first + lane < staged && near_box(d, box.half, f.radius2);
            const u32 mask = __ballot_sync(ALL_LANES, hit), at = picked.count + u32(__popc(mask & lanes_below(lane)));
            if (hit && at < f.most_groups * WARP) candidates[at] = u16(first + lane);
            if (own_place - first < WARP) picked.own = picked.count + u32(__popc(mask & lanes_below(own_place - first)));
            picked.count += u32(__popc(mask));
        }
    }
    return picked;
}
