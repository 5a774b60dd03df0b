// Pairs where bodies are rigid molecules of SITES particles, all alike, and particles by themselves: a thread visits with
// all particles of its molecule at once, so that a place is read once for each of them and distances do not wait for each
// other.
//
// pair_terms.cuh says what the molecules are: KIND_OF_SITE, their kinds; LIKE, the first site of the same kind; ACTIVE, a bit
// for every term that is not zero between two sites; PURE, whether there is nothing but these molecules.
#pragma once
#include "visit.cuh"

struct Crew {
    Sums site[SITES]; // energies and virial are all in the first
};

// Sums over this thread's share of the list of its molecule. Forces still without their factor −2.
template <bool ENERGY>
__device__ __forceinline__ void visit_crew(Crew& c, const Stage& stage, u32 nobody, const ushort4* list, u32 rows,
                                           const Spot (&from)[SITES], const World& w, const Setup& f)
{
    const bool whole = PURE || from[0].kind == KIND_OF_SITE[0];
    // Numbers of the terms between own sites and those of a molecule.
    Rows numbers[SITES][SITES];
#pragma unroll
    for (u32 s = 0; s < SITES; ++s) {
#pragma unroll
        for (u32 t = 0; t < SITES; ++t) {
            if (LIKE[s] != s || LIKE[t] != t) continue;
            const u32 own = s == 0 && !PURE && from[0].kind != NOBODY ? from[0].kind : KIND_OF_SITE[s];
            read_rows(numbers[s][t], own, KIND_OF_SITE[t], w.parameters);
        }
    }
    auto meet = [&](u32 s, const Spot& other, const Rows& row, u32 active) {
        Sums& to = c.site[s];
        real dx = from[s].x - other.x, dy = from[s].y - other.y, dz = from[s].z - other.z;
        nearest(dx, dy, dz, f);
        const real r2 = dx * dx + dy * dy + dz * dz;
        real energies[TERMS], slope;
        debye_pair(r2, row, w.tables, active, energies, slope);
        to.fx += slope * dx;
        to.fy += slope * dy;
        to.fz += slope * dz;
        if (ENERGY) {
            Sums& all = c.site[0];
#pragma unroll
            for (u32 k = 0; k < TERMS; ++k) all.energy[k] += energies[k];
            all.virial[0] += slope * dx * dx;
            all.virial[1] += slope * dy * dy;
            all.virial[2] += slope * dz * dz;
            all.virial[3] += slope * dx * dy;
            all.virial[4] += slope * dx * dz;
            all.virial[5] += slope * dy * dz;
        }
    };
    auto meet_body = [&](u32 at) {
#if WRAP
        if (at == nobody) return;
#endif
        const Spot anchor = stage.get(at, 0);
        if (!PURE && anchor.kind != KIND_OF_SITE[0]) {
            // A particle by itself: its numbers are looked up.
            Rows row;
#pragma unroll 1
            for (u32 s = 0; s < SITES; ++s) {
                if (s > 0 && !whole) break;
                read_rows(row, from[s].kind, anchor.kind, w.parameters);
                if (s == 0) meet(0, anchor, row, ~0u);
#pragma unroll
                for (u32 k = 1; k < SITES; ++k) {
                    if (s == k) meet(k, anchor, row, ~0u);
                }
            }
            return;
        }
#pragma unroll
        for (u32 t = 0; t < SITES; ++t) {
            const Spot other = t == 0 ? anchor : stage.get(at, t);
#pragma unroll
            for (u32 s = 0; s < SITES; ++s) {
                if (ACTIVE[s][t] == 0 || (s > 0 && !whole)) continue;
                meet(s, other, numbers[LIKE[s]][LIKE[t]], ACTIVE[s][t]);
            }
        }
    };
    (void)nobody;
    const u32 count = own_rows(rows);
    if (count == 0) return;
    ushort4 next = list[0];
#pragma unroll 1
    for (u32 k = 0; k < count; ++k) {
        const ushort4 row = next;
        if (k + 1 < count) next = list[u64(k + 1) * BLOCK];
        meet_body(row.x);
        meet_body(row.y);
        meet_body(row.z);
        meet_body(row.w);
    }
}

// What all threads of a molecule found, and of that what belongs to this thread's slot; energies and virial to the first.
template <bool ENERGY> __device__ __forceinline__ void share_out(Sums& own, Crew& c)
{
    const u32 site = threadIdx.x % LANES;
    own = {};
#pragma unroll
    for (u32 s = 0; s < SITES; ++s) {
        Sums& of = c.site[s];
        join(of.fx);
        join(of.fy);
        join(of.fz);
        if (site != s) continue;
        own.fx = of.fx;
        own.fy = of.fy;
        own.fz = of.fz;
    }
    if (ENERGY) join_sums(own, c.site[0]);
}
