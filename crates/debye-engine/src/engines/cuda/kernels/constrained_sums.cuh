// What particles at fixed distances add to the sums of a step. Included by constrain.cu.
#pragma once
#include "rigid.cuh"
#if RIGID_BODIES
#include "rigid_bodies.cuh"
#endif

// What a group adds to the sums that decide what happens to the velocities: for every group of thermostats Σ m v² and Σ m v
// of projected velocities; then the virial of its center rather than of its particles.
template <u32 N, bool VIRIAL> struct Share {
    f64 x[N] = {};

    __device__ __forceinline__ void add(const Kind& kind, const Vector& v)
    {
#pragma unroll
        for (u32 g = 0; g < GROUPS_OF; ++g) {
            const f64 m = kind.group == g ? kind.mass : 0.0;
            x[4 * g] += m * dot(v, v);
            x[4 * g + 1] += m * v.x;
            x[4 * g + 2] += m * v.y;
            x[4 * g + 3] += m * v.z;
        }
    }
    __device__ __forceinline__ void take(const Vector& from_center, const Vector& force)
    {
        if (VIRIAL) {
            x[N - 3] -= from_center.x * force.x;
            x[N - 2] -= from_center.y * force.y;
            x[N - 1] -= from_center.z * force.z;
        }
    }
};

template <class Sum>
__device__ __forceinline__ void sum_water(Sum& sum, const World& w, const ConstraintTables& h, const Setup& f,
                                          const Steering& now, u32 number)
{
    const Here p = here(w, h, f, now.parity, now.side);
    const Water m = water_of(h, p, f, number);
    const f64 first = w.ensemble->leapfrog ? f.dt : 0.5 * f.dt;
    Vector v[3], center = {0.0, 0.0, 0.0};
    f64 mass = 0.0;
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
        const Kind kind = w.kinds[p.pos[m.slot[k]].w];
        v[k] = kicked(w, f, now.side, m.slot[k], first, kind);
        center = center + m.r[k] * kind.mass;
        mass += kind.mass;
    }
    constrain_velocities(v, triangle_of(m));
    if (!are_numbers(v)) give_up(w, h, 3 * number, worst_side(m.shape, m.r), 3 * number);
    center = center * (1.0 / mass);
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
        sum.add(w.kinds[p.pos[m.slot[k]].w], v[k]);
        sum.take(m.r[k] - center, force_on(w, f, m.slot[k]));
    }
}

template <class Sum>
__device__ inline void sum_cluster(Sum& sum, const World& w, const ConstraintTables& h, const Setup& f,
                                   const Steering& now, u32 number)
{
    const Here p = here(w, h, f, now.parity, now.side);
    const Cluster c = cluster_of(h, number);
    find_places(c, p, f);
    const f64 first = w.ensemble->leapfrog ? f.dt : 0.5 * f.dt;
    Vector center = {0.0, 0.0, 0.0};
    f64 mass = 0.0;
    for (u32 k = 0; k < c.count; ++k) {
        const u32 slot = p.slot(c.place(k));
        const Kind kind = w.kinds[p.pos[slot].w];
        c.put(RATE, k, kicked(w, f, now.side, slot, first, kind));
        center = center + c.get(OLD, k) * kind.mass;
        mass += kind.mass;
    }
    Unsolved unsolved;
    if (!rattle(c, unsolved)) give_up(w, h, c.first_bond(), unsolved, c.place(0));
    center = center * (1.0 / mass);
    for (u32 k = 0; k < c.count; ++k) {
        const u32 slot = p.slot(c.place(k));
        sum.add(w.kinds[p.pos[slot].w], c.get(RATE, k));
        sum.take(c.get(OLD, k) - center, force_on(w, f, slot));
    }
}

#if RIGID_BODIES
template <class Sum>
__device__ inline void sum_body(Sum& sum, const World& w, const ConstraintTables& h, const Setup& f, const Steering& now, u32 number)
{
    const Here p = here(w, h, f, now.parity, now.side);
    const RigidBody b = rigid_body(h, number);
    const f64 first = w.ensemble->leapfrog ? f.dt : 0.5 * f.dt;
    const Pose pose = pose_of(b, p, f);
    auto slot = [&](u32 k) { return p.slot(b.first + k); };
    auto kind = [&](u32 k) { return w.kinds[p.pos[slot(k)].w]; };
    const Motion m = gathered(b, p, f, pose, [&](u32 k) { return kicked(w, f, now.side, slot(k), first, kind(k)); });
    const Vector rate = rate_of(b, pose.axes, m.momentum);
    for (u32 k = 0; k < b.count(); ++k) {
        const Vector arm = pose.arm(b, k);
        sum.add(kind(k), m.velocity + cross(rate, arm));
        sum.take(arm, force_on(w, f, slot(k)));
    }
}
#endif
