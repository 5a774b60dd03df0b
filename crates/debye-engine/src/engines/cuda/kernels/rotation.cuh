// How particles turn: kicks by torques, free rotation, Langevin's noise. Angular momenta are those of the laboratory's axes
// and half a kick behind, as velocities are.
//
// Includes rotation_formulas.cuh, which is printed of integrate/rotation.rs.
#pragma once
#include "motion.cuh"
#include "rotation_formulas.cuh"

// Where torques of bonded terms stand in World::bonded.
constexpr u32 BONDED_TORQUES = MOVING ? 6 : 3;

struct Rotation {
    f64 q[4], l[3];
};

__device__ __forceinline__ Rotation read_rotation(const World& w, const Setup& f, u32 side, u32 slot)
{
    const speed* turns = half_of(w.turns, side, 4 * f.slots);
    const speed* momenta = half_of(w.momenta, side, 3 * f.slots);
    Rotation r;
    for (u32 k = 0; k < 4; ++k) r.q[k] = turns[u64(k) * f.slots + slot];
    for (u32 k = 0; k < 3; ++k) r.l[k] = momenta[u64(k) * f.slots + slot];
    return r;
}

// What others see of it.
__device__ __forceinline__ Facing facing_of(const f64 (&q)[4], const Kind& kind)
{
#if AXES == 1
    f64 z[3];
    z_axis_of(q[0], q[1], q[2], q[3], z[0], z[1], z[2]);
    return {real(z[0]), real(z[1]), real(z[2]), real(kind.dipole)};
#else
    (void)kind;
    return {real(q[1]), real(q[2]), real(q[3]), real(q[0])};
#endif
}

__device__ __forceinline__ void write_rotation(const World& w, const Setup& f, const Steering& now, u32 slot, const Kind& kind,
                                               const Rotation& r)
{
    speed* turns = half_of(w.turns, now.side, 4 * f.slots);
    speed* momenta = half_of(w.momenta, now.side, 3 * f.slots);
    for (u32 k = 0; k < 4; ++k) turns[u64(k) * f.slots + slot] = speed(r.q[k]);
    for (u32 k = 0; k < 3; ++k) momenta[u64(k) * f.slots + slot] = speed(r.l[k]);
    half_of(w.facings, now.parity ^ 1, f.slots)[slot] = facing_of(r.q, kind);
}

// Adds the torque of bonded terms.
__device__ __forceinline__ void add_bonded_torque(f64 (&torque)[3], const World& w, const Setup& f, u32 slot)
{
#if BONDED
    for (u32 k = 0; k < 3; ++k) torque[k] += w.bonded[u64(BONDED_TORQUES + k) * f.slots + slot];
#else
    (void)torque;
    (void)w;
    (void)f;
    (void)slot;
#endif
}

__device__ __forceinline__ void kick_rotation(Rotation& r, const f64 (&torque)[3], f64 time)
{
    for (u32 k = 0; k < 3; ++k) r.l[k] += torque[k] * time;
}

// Free rotation.
__device__ __forceinline__ void turn_freely(Rotation& r, const Kind& kind, f64 time)
{
    f64(&q)[4] = r.q, (&l)[3] = r.l;
    const f64* i = kind.inertia;
    if (kind.turns == LINEAR) turn_linear(q[0], q[1], q[2], q[3], l[0], l[1], l[2], i[0], time, q[0], q[1], q[2], q[3], l[0], l[1], l[2]);
    else turn_body(q[0], q[1], q[2], q[3], l[0], l[1], l[2], i[0], i[1], i[2], time, q[0], q[1], q[2], q[3]);
}

// L·ω: twice the kinetic energy.
__device__ __forceinline__ f64 twice_rotation(const Rotation& r, const Kind& kind)
{
    if (kind.turns == 0) return 0.0;
    f64 j[3], sum = 0.0;
    to_body(r.q[0], r.q[1], r.q[2], r.q[3], r.l[0], r.l[1], r.l[2], j[0], j[1], j[2]);
    for (u32 k = 0; k < 3; ++k) sum += kind.inertia[k] > 0.0 ? j[k] * j[k] / kind.inertia[k] : 0.0;
    return sum;
}

// Goes on with the rotation for a step, with noise in its middle for Langevin dynamics.
__device__ __forceinline__ void turn(Rotation& r, const World& w, const Setup& f, const Steering& now, u32 slot, const Kind& kind)
{
#if LANGEVIN
    turn_freely(r, kind, 0.5 * f.dt);
    if (kind.keep < 1.0) {
        f64 normals[3], given[3];
        debye_normals(f.seed, now.step, half_of(w.ids, now.side, f.slots)[slot], STREAM_LANGEVIN_ROTATIONS, normals);
        for (u32 k = 0; k < 3; ++k) normals[k] *= kind.turning_noise[k];
        to_laboratory(r.q[0], r.q[1], r.q[2], r.q[3], normals[0], normals[1], normals[2], given[0], given[1], given[2]);
        for (u32 k = 0; k < 3; ++k) r.l[k] = r.l[k] * kind.keep + given[k];
    }
    turn_freely(r, kind, 0.5 * f.dt);
#else
    turn_freely(r, kind, f.dt);
#endif
    write_rotation(w, f, now, slot, kind, r);
}

// A point stays as it is; others see the same of it in the next step.
__device__ __forceinline__ void keep_facing(const World& w, const Setup& f, const Steering& now, u32 slot)
{
    half_of(w.facings, now.parity ^ 1, f.slots)[slot] = half_of(w.facings, now.parity, f.slots)[slot];
}
