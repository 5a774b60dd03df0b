// The force on a particle.
#pragma once
#include "sums.cuh"
#include "visit.cuh"
#if TURNING
#include "rotation.cuh"
#endif
#if SITES > 1
#include "molecules.cuh"
#endif

// Reads the stage and visits the neighbors. Forces come with their factor.
struct PairForces {
    uint4 own;
    Sums sums;
    f64 force[3];
#if TURNING
    f64 torque[3];
#endif
};

// Forces of pairs.
template <bool ENERGY>
__device__ __forceinline__ void pair_forces(PairForces& p, Spot* shared, const World& w, const Setup& f, u32 parity, u32 side)
{
    const u32 b = blockIdx.x, slot = b * BLOCK + threadIdx.x, count = w.stage_counts[b];
    const u32 body = b * BODIES + threadIdx.x / LANES, anchor = body * LANES;
    const Box box = w.boxes[b];
    const uint4* now_at = half_of(w.pos, parity, f.slots);
    const u32* low = half_of(w.low, low_half(parity, side), 3 * f.slots);
    p.own = now_at[slot];
    const u32 rows = w.rows_of[body];
    const u32 room = STAGE > 0 ? STAGE : f.stage;
    const Stage stage = {shared, room};
    read_stage(stage, w, now_at, low, w.stages + u64(b) * room, count, box, f);
#if TURNING
    read_facings(stage, half_of(w.facings, parity, f.slots), w.stages + u64(b) * room, count);
#endif
    __syncthreads();
#if SITES > 1
    Spot from[SITES];
#pragma unroll
    for (u32 s = 0; s < SITES; ++s) from[s] = spot_of(box, now_at[anchor + s], low, anchor + s, f);
    MoleculeSums molecule = {};
    visit_molecule<ENERGY>(molecule, stage, count, list_of(w, b, f), rows, from, w, f);
    distribute<ENERGY>(p.sums, molecule);
#else
    const Visitor visitor = visitor_of(box, LANES == 1 ? p.own : now_at[anchor], low, anchor, parity, w, f);
    p.sums = {};
    visit<ENERGY>(p.sums, stage, count, list_of(w, b, f), rows, visitor, w, f);
#if LANES > 1
    join(p.sums.fx);
    join(p.sums.fy);
    join(p.sums.fz);
    if (ENERGY) join_sums(p.sums, p.sums);
#if TURNING
    OrientedSums& t = p.sums.oriented;
    for (u32 k = 0; k < 3; ++k) join(t.rest[k]);
    for (u32 a = 0; a < AXES; ++a) {
        join(t.along[a]);
        for (u32 k = 0; k < 3; ++k) join(t.toward[a][k]);
    }
#endif
#endif
#endif
    p.force[0] = -2.0 * f64(p.sums.fx);
    p.force[1] = -2.0 * f64(p.sums.fy);
    p.force[2] = -2.0 * f64(p.sums.fz);
#if TURNING
    oriented_forces(p.force, p.torque, p.sums.oriented, visitor.directed);
#endif
}

// All forces.
template <bool ENERGY>
__device__ __forceinline__ void all_forces(PairForces& p, Spot* shared, const World& w, const Setup& f, u32 parity, u32 side)
{
    pair_forces<ENERGY>(p, shared, w, f, parity, side);
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x;
    add_rest(p.force, p.own.w, slot, w, f);
#if TURNING
    if (p.own.w != EMPTY_SLOT) add_bonded_torque(p.torque, w, f, slot);
#endif
}
