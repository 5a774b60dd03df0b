// What a link does to one of its particles, in double precision from exact differences; for large and for small systems.
//
// Includes bonded_terms.cuh, which is printed for the simulation: LINK_TERMS, the number of terms, and
// each_link_term(visit), which calls visit for each of them in order with an object that says TERM, PARTICLES, whether it
// reads an AXIS, and act(displacements from each particle to the next, row, rows, tables, energy, forces, virial). The
// formulas are those of forces/geometry.rs and potentials/.
#pragma once
#include "exact.cuh"
#include "bonded_terms.cuh"


// What a link does to one of its particles; energy and virial count once, with the first.
struct Share {
    Vector force;
    Vector torque;
    f64 energy;
    f64 virial[6];
};

// A restraint of the axis z of a particle toward another; forces on both, and a torque on the first.
template <bool ENERGY, class Term, class Positions>
__device__ __forceinline__ void axis_link(Share& s, const Term&, const uint4& packed, const Exact& me, const Vector& my_axis,
                                          const Positions& p, const Links& l, const f64 (&cell)[6])
{
    const bool first = (packed.w >> ROW_BITS & ((1u << PLACE_BITS) - 1)) == 0;
    const Exact other = p.of(packed.x);
    const Vector way = first ? apart64(other, me, cell) : apart64(me, other, cell);
    const Vector axis = first ? my_axis : p.axis_of(packed.x);
    Vector forces[2], torque;
    f64 energy, virial[6];
    Term::act(way, axis, packed.w & ((1u << ROW_BITS) - 1), l.rows, energy, forces, torque, virial);
    s.force = s.force + (first ? forces[0] : forces[1]);
    if (!first) return;
    s.torque = s.torque + torque;
    if (ENERGY) {
        s.energy += energy;
#pragma unroll
        for (u32 k = 0; k < 6; ++k) s.virial[k] += virial[k];
    }
}

// A link of one term; `me` is the position of the particle that takes its share, and p.of(id) that of another.
template <bool ENERGY, class Term, class Positions>
__device__ __forceinline__ void link(Share& s, const Term&, const uint4& packed, const Exact& me, const Positions& p,
                                     const Links& l, const f64 (&cell)[6])
{
    constexpr u32 N = Term::PARTICLES;
    const u32 own = packed.w >> ROW_BITS & ((1u << PLACE_BITS) - 1), ids[3] = {packed.x, packed.y, packed.z};
    Exact others[N - 1], before = {};
    Vector displacements[N - 1], forces[N];
    f64 energy, virial[6];
#pragma unroll
    for (u32 k = 0; k < N - 1; ++k) others[k] = p.of(ids[k]);
#pragma unroll
    for (u32 k = 0; k < N; ++k) {
        const Exact now = own == k ? me : k == 0 ? others[0] : k == N - 1 || own < k ? others[k - 1] : others[k];
        if (k > 0) displacements[k - 1] = apart64(now, before, cell);
        before = now;
    }
    Term::act(displacements, packed.w & ((1u << ROW_BITS) - 1), l.rows, l.tables, energy, forces, virial);
    Vector force = forces[0];
#pragma unroll
    for (u32 k = 1; k < N; ++k) force = own == k ? forces[k] : force;
    s.force = s.force + force;
    if (ENERGY && own == 0) {
        s.energy += energy;
#pragma unroll
        for (u32 k = 0; k < 6; ++k) s.virial[k] += virial[k];
    }
}
