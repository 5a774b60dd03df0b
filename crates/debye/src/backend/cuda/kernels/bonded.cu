// Bonds, angles, dihedrals and scaled pairs, in double precision from exact differences.
//
// A thread owns a particle and evaluates every link that it is part of, in full, to add its own share of the force. So a
// link is evaluated as often as it has particles, but nothing is shared and sums have one order. The links of a particle
// are sorted by term, and all threads go through the terms together. A link is 16 bytes, a partner of it 28.
//
// Includes bonded_terms.cuh, which is printed for the simulation: LINK_TERMS, the number of terms, and
// each_link_term(visit), which calls visit for each of them in order with an object that says TERM, PARTICLES, SCALED and
// act(coordinate, row, rows, tables, energy, slope).
#include "block_sum.cuh"
#include "exact.cuh"
#include "motion.cuh"
#include "bonded_terms.cuh"

// Tables of all links, and where sums go.
struct Links {
    const u32* starts;  // links[starts[id]] is the first of a particle
    const uint4* links; // the other particles in order, and packed: term, place of this particle among them, row
    const f64* rows;    // numbers of the terms, row by row
    const f64* tables;
    f64* partial;       // block by block: energies by term, virial
};

constexpr f64 SMALLEST_SINE = 1e-8; // beyond it an angle is taken as straight

// What a link does to one of its particles; energy and virial count once, with the first.
struct Share {
    Vector force;
    f64 energy;
    f64 virial[6];
};

__device__ __forceinline__ void add_virial(f64 (&virial)[6], const Vector& d, const Vector& f)
{
    virial[0] += d.x * f.x;
    virial[1] += d.y * f.y;
    virial[2] += d.z * f.z;
    virial[3] += d.x * f.y;
    virial[4] += d.x * f.z;
    virial[5] += d.y * f.z;
}

// Where the particles are: the positions of now.
struct Positions {
    const uint4* pos;
    const u32* low;
    const u32* slot_of;
    u32 slots;
    __device__ __forceinline__ Exact at(u32 slot) const { return exact_at(pos, low, slot, slots); }
    __device__ __forceinline__ Exact of(u32 id) const { return at(slot_of[id]); }
};

// A term with the row of one link: energy and slope by its coordinate.
template <class Term> struct Act {
    const Links& l;
    u32 row;
    __device__ __forceinline__ void operator()(f64 x, f64& energy, f64& slope) const
    {
        Term::act(x, row, l.rows, l.tables, energy, slope);
    }
};

// A pair: by its distance, or by the square of that where it is a scaled pair.
template <bool ENERGY, bool SCALED, class A>
__device__ __forceinline__ void pair(Share& s, const A& act, u32 own, const Exact& i, const Exact& j, const f64 (&cell)[6])
{
    const Vector d = apart64(j, i, cell);
    const f64 r2 = dot(d, d), r = SCALED ? r2 : sqrt(r2);
    f64 energy, slope;
    act(r, energy, slope);
    const Vector force = d * (SCALED ? -2.0 * slope : -(slope / r));
    s.force = s.force + (own == 0 ? -force : force);
    if (ENERGY && own == 0) {
        s.energy += energy;
        add_virial(s.virial, d, force);
    }
}

// An angle i-j-k.
template <bool ENERGY, class A>
__device__ __forceinline__ void angle(Share& s, const A& act, u32 own, const Exact& i, const Exact& j, const Exact& k,
                                      const f64 (&cell)[6])
{
    const Vector ji = apart64(i, j, cell), jk = apart64(k, j, cell), normal = cross(ji, jk);
    const f64 a2 = dot(ji, ji), b2 = dot(jk, jk), sine_ab = sqrt(dot(normal, normal)), cosine_ab = dot(ji, jk);
    f64 energy, slope;
    act(atan2(sine_ab, cosine_ab), energy, slope);
    const f64 per_ab = 1.0 / (sqrt(a2) * sqrt(b2)), cosine = cosine_ab * per_ab;
    const f64 scale = -slope / fmax(sine_ab * per_ab, SMALLEST_SINE);
    const Vector of_i = (ji * (cosine / a2) - jk * per_ab) * scale, of_k = (jk * (cosine / b2) - ji * per_ab) * scale;
    s.force = s.force + (own == 0 ? of_i : own == 1 ? -(of_i + of_k) : of_k);
    if (ENERGY && own == 0) {
        s.energy += energy;
        add_virial(s.virial, ji, of_i);
        add_virial(s.virial, jk, of_k);
    }
}

// A dihedral angle i-j-k-l, zero when i and l are cis (Blondel & Karplus 1996, Eq. 27; no division by a sine).
template <bool ENERGY, class A>
__device__ __forceinline__ void dihedral(Share& s, const A& act, u32 own, const Exact& i, const Exact& j, const Exact& k,
                                         const Exact& l, const f64 (&cell)[6])
{
    const Vector ji = apart64(i, j, cell), kj = apart64(j, k, cell), kl = apart64(l, k, cell);
    const Vector a = cross(ji, kj), b = cross(kl, kj);
    const f64 g2 = dot(kj, kj), g = sqrt(g2);
    f64 energy, slope;
    act(atan2(dot(cross(b, a), kj), dot(a, b) * g), energy, slope);
    // Three particles in a line leave the angle undefined: the gradient vanishes there with the normal.
    constexpr f64 SMALLEST = SMALLEST_SINE * SMALLEST_SINE;
    const f64 per_a2 = 1.0 / fmax(dot(a, a), dot(ji, ji) * g2 * SMALLEST);
    const f64 per_b2 = 1.0 / fmax(dot(b, b), dot(kl, kl) * g2 * SMALLEST), per_g = 1.0 / g;
    const Vector of_i = a * (g * per_a2 * slope), of_l = b * (-g * per_b2 * slope);
    const Vector shared = (a * (dot(ji, kj) * per_a2 * per_g) - b * (dot(kl, kj) * per_b2 * per_g)) * -slope;
    const Vector of_j = shared - of_i, of_k = -shared - of_l;
    s.force = s.force + (own == 0 ? of_i : own == 1 ? of_j : own == 2 ? of_k : of_l);
    if (ENERGY && own == 0) {
        s.energy += energy;
        add_virial(s.virial, ji, of_i);
        add_virial(s.virial, -kj, of_k);
        add_virial(s.virial, kl - kj, of_l);
    }
}

// A link of one term; `me` is the position of the particle that takes its share.
template <bool ENERGY, class Term>
__device__ __forceinline__ void link(Share& s, const Term&, const uint4& packed, const Exact& me, const Positions& p,
                                     const Links& l, const f64 (&cell)[6])
{
    const u32 own = packed.w >> 22 & 3;
    const Act<Term> act = {l, packed.w & 0x3fffffu};
    const Exact first = p.of(packed.x);
    if constexpr (Term::PARTICLES == 2) {
        pair<ENERGY, Term::SCALED>(s, act, own, own == 0 ? me : first, own == 0 ? first : me, cell);
    } else if constexpr (Term::PARTICLES == 3) {
        const Exact second = p.of(packed.y);
        angle<ENERGY>(s, act, own, own == 0 ? me : first, own == 0 ? first : own == 1 ? me : second,
                      own == 2 ? me : second, cell);
    } else {
        const Exact second = p.of(packed.y), third = p.of(packed.z);
        dihedral<ENERGY>(s, act, own, own == 0 ? me : first, own == 0 ? first : own == 1 ? me : second,
                         own < 2 ? second : own == 2 ? me : third, own == 3 ? me : third, cell);
    }
}

// A particle on its way through its links, term by term.
template <bool ENERGY> struct Walk {
    const Links& l;
    const Positions& p;
    const f64 (&cell)[6];
    const Exact me;
    u32 at;
    const u32 end;
    f64* sums;  // of this block
    f64* warps; // room for a sum over the block
    uint4 next;
    Share s;

    template <class Term> __device__ __forceinline__ void operator()(const Term& term)
    {
        s.energy = 0.0;
        while (at < end && next.w >> 24 == Term::TERM) {
            const uint4 now = next;
            if (++at < end) next = l.links[at];
            link<ENERGY>(s, term, now, me, p, l, cell);
        }
        if (ENERGY) {
            const f64 sum = block_sum(s.energy, warps);
            if (threadIdx.x == 0) sums[Term::TERM] = sum;
        }
    }
};

// Forces of all links on the particle of this slot. With energies, all threads of a block must be here.
template <bool ENERGY>
__device__ __forceinline__ void all_links(const World& w, const Links& l, const Setup& f, u32 parity, u32 side, f64* warps)
{
    const u32 slots = f.slots, slot = blockIdx.x * BLOCK + threadIdx.x;
    const Positions p = {half_of(w.pos, parity, slots), half_of(w.low, low_half(parity, side), 3 * slots), half_of(w.slot_of, side, slots),
                         slots};
    const bool there = p.pos[slot].w != NOBODY;
    const u32 id = there ? half_of(w.ids, side, slots)[slot] : 0;
    const u32 begin = there ? l.starts[id] : 0, end = there ? l.starts[id + 1] : 0;
    f64* sums = l.partial + u64(blockIdx.x) * (LINK_TERMS + 6);
    Walk<ENERGY> walk = {l, p, f.frame.cell, p.at(slot), begin, end, sums, warps, {}, {}};
    if (begin < end) walk.next = l.links[begin];
    each_link_term(walk);
    const Share& s = walk.s;
    if (there) {
        w.bonded[slot] = s.force.x;
        w.bonded[u64(slots) + slot] = s.force.y;
        w.bonded[2 * u64(slots) + slot] = s.force.z;
#if MOVING
        for (u32 k = 0; k < 3; ++k) w.bonded[u64(3 + k) * slots + slot] = s.virial[k];
#endif
    }
    if (ENERGY) {
        for (u32 k = 0; k < 6; ++k) {
            const f64 sum = block_sum(s.virial[k], warps);
            if (threadIdx.x == 0) sums[LINK_TERMS + k] = sum;
        }
    }
}

// Before every step. Returns at once whenever the step will.
KERNEL_RESIDENT(debye_bonded, BLOCK, 2, World w, Links l, Setup f)
{
    SHARED(f64, warps, BLOCK_WARPS);
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks || (now.split & SUMMED) ||
        (f.links != 0 && (f.links == 2) != (now.split != 0))) return;
    follow(w, f);
    // A barostat needs the virial.
    if (MOVING && (now.split & SCALES)) all_links<true>(w, l, f, now.parity, now.side, warps);
    else all_links<false>(w, l, f, now.parity, now.side, warps);
}

// Forces, and for every block: energies by term and virial (xx yy zz xy xz yz).
KERNEL_RESIDENT(debye_bonded_sums, BLOCK, 1, World w, Links l, Setup f)
{
    SHARED(f64, warps, BLOCK_WARPS);
    const Control* c = w.control;
    if (blockIdx.x >= c->blocks) return;
    follow(w, f);
    all_links<true>(w, l, f, c->parity, c->side, warps);
}
