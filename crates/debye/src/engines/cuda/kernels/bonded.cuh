// What a link does to one of its particles, in double precision from exact differences; for large and for small systems.
//
// Includes bonded_terms.cuh, which is printed for the simulation: LINK_TERMS, the number of terms, and
// each_link_term(visit), which calls visit for each of them in order with an object that says TERM, PARTICLES, SCALED and
// act(coordinate, row, rows, tables, energy, slope).
#pragma once
#include "exact.cuh"
#include "bonded_terms.cuh"

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

// A link of one term; `me` is the position of the particle that takes its share, and p.of(id) that of another.
template <bool ENERGY, class Term, class Positions>
__device__ __forceinline__ void link(Share& s, const Term&, const uint4& packed, const Exact& me, const Positions& p,
                                     const Links& l, const f64 (&cell)[6])
{
    const u32 own = packed.w >> ROW_BITS & ((1u << PLACE_BITS) - 1);
    const Act<Term> act = {l, packed.w & ((1u << ROW_BITS) - 1)};
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
