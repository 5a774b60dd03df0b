// What an observer sees of particles at fixed distances. Included by constrain.cu.
#pragma once
#include "rigid.cuh"
#if RIGID_BODIES
#include "rigid_bodies.cuh"
#endif

// Velocities of now, and for every block: the virial of the forces that make up for those on the particles; for every group
// of thermostats Σ m v⊗v, Σ m v, and the virial of what keeps molecules together as they turn. They are apart, because a
// thermostat has yet to scale the velocities.
struct Looked {
    f64 forces[6];
    f64 turning[GROUPS_OF][6];
    f64 tensor[GROUPS_OF][6];
    f64 momentum[GROUPS_OF][3];
};

__device__ __forceinline__ void add_outer(f64 (&to)[6], const Vector& d, f64 factor)
{
    const f64 x[6] = {d.x * d.x, d.y * d.y, d.z * d.z, d.x * d.y, d.x * d.z, d.y * d.z};
    for (u32 k = 0; k < 6; ++k) to[k] += factor * x[k];
}

__device__ __forceinline__ Vector velocity_now(const World& w, const Setup& f, u32 side, u32 slot, const Kind& kind)
{
    speed kept[3];
    read_velocity(kept, w, f, side, slot);
    return Vector{f64(kept[0]), f64(kept[1]), f64(kept[2])} + force_on(w, f, slot) * (0.5 * f.dt * kind.inverse_mass);
}

__device__ __forceinline__ void look_at(Looked& l, const ConstraintTables& h, u32 place, const Kind& kind,
                                        const Vector& v)
{
    h.velocities[place] = v.x;
    h.velocities[u64(h.places) + place] = v.y;
    h.velocities[2 * u64(h.places) + place] = v.z;
    add_outer(l.tensor[kind.group], v, kind.mass);
    l.momentum[kind.group][0] += kind.mass * v.x;
    l.momentum[kind.group][1] += kind.mass * v.y;
    l.momentum[kind.group][2] += kind.mass * v.z;
}

__device__ inline void look_at_water(Looked& l, const World& w, const ConstraintTables& h, const Setup& f, u32 parity,
                                     u32 side, u32 number)
{
    const Here p = here(w, h, f, parity, side);
    const Water m = water_of(h, p, f, number);
    const Vector nothing = {0.0, 0.0, 0.0}, sides[3] = {m.r[0] - m.r[1], m.r[0] - m.r[2], m.r[1] - m.r[2]};
    Vector v[3], a[3];
    u32 group = 0;
    for (u32 k = 0; k < 3; ++k) {
        const Kind kind = w.kinds[p.pos[m.slot[k]].w];
        v[k] = velocity_now(w, f, side, m.slot[k], kind);
        a[k] = force_on(w, f, m.slot[k]) * kind.inverse_mass;
        group = kind.group;
    }
    constrain_rates(v, m.shape, m.r, nothing);
    if (!are_numbers(v)) give_up(w, h, 3 * number, worst_side(m.shape, m.r), 3 * number);
    for (u32 k = 0; k < 3; ++k) look_at(l, h, 3 * number + k, w.kinds[p.pos[m.slot[k]].w], v[k]);
    auto add = [&](f64 (&to)[6], const Vector& force) {
        add_outer(to, sides[0], force.x);
        add_outer(to, sides[1], force.y);
        add_outer(to, sides[2], force.z);
    };
    add(l.forces, constrain_rates(a, m.shape, m.r, nothing));
    const Vector u[3] = {v[0] - v[1], v[0] - v[2], v[1] - v[2]}, wanted = {-dot(u[0], u[0]), -dot(u[1], u[1]), -dot(u[2], u[2])};
    Vector still[3] = {nothing, nothing, nothing};
    add(l.turning[group], constrain_rates(still, m.shape, m.r, wanted));
}

__device__ inline void look_at_cluster(Looked& l, const World& w, const ConstraintTables& h, const Setup& f,
                                       u32 parity, u32 side, u32 number)
{
    const Here p = here(w, h, f, parity, side);
    const Cluster c = cluster_of(h, number);
    find_places(c, p, f);
    for (u32 k = 0; k < c.count; ++k) {
        const u32 slot = p.slot(c.place(k));
        const Kind kind = w.kinds[p.pos[slot].w];
        c.put(RATE, k, velocity_now(w, f, side, slot, kind));
        c.put(NEW, k, force_on(w, f, slot) * kind.inverse_mass);
    }
    Unsolved unsolved;
    auto none = [](const Bond&) { return 0.0; };
    bool solved = rattle(c, unsolved);
    solved = solved && rattle(c, NEW, unsolved, none, [&](const Vector& d, f64 force) { add_outer(l.forces, d, force); });
    u32 group = 0;
    for (u32 k = 0; k < c.count; ++k) {
        const Kind kind = w.kinds[p.pos[p.slot(c.place(k))].w];
        look_at(l, h, c.place(k), kind, c.get(RATE, k));
        c.put(NEW, k, {0.0, 0.0, 0.0});
        group = kind.group;
    }
    auto turning = [&](const Bond& b) {
        const Vector u = c.of(RATE, b);
        return -dot(u, u);
    };
    solved = solved && rattle(c, NEW, unsolved, turning, [&](const Vector& d, f64 force) { add_outer(l.turning[group], d, force); });
    if (!solved) give_up(w, h, c.first_bond(), unsolved, c.place(0));
}

#if RIGID_BODIES
// Adds (a ⊗ b + b ⊗ a)/2.
__device__ __forceinline__ void add_product(f64 (&to)[6], const Vector& a, const Vector& b)
{
    const f64 x[6] = {a.x * b.x, a.y * b.y, a.z * b.z, 0.5 * (a.x * b.y + a.y * b.x), 0.5 * (a.x * b.z + a.z * b.x),
                      0.5 * (a.y * b.z + a.z * b.y)};
    for (u32 k = 0; k < 6; ++k) to[k] += x[k];
}

// What holds a site is what its share of the accelerations of the body takes, less the force on it.
__device__ inline void look_at_body(Looked& l, const World& w, const ConstraintTables& h, const Setup& f, u32 parity, u32 side,
                                    u32 number)
{
    const Here p = here(w, h, f, parity, side);
    const RigidBody b = rigid_body(h, number);
    const Pose pose = pose_of(b, p, f);
    auto slot = [&](u32 k) { return p.slot(b.first + k); };
    auto kind = [&](u32 k) { return w.kinds[p.pos[slot(k)].w]; };
    const Motion m = gathered(b, p, f, pose, [&](u32 k) { return velocity_now(w, f, side, slot(k), kind(k)); });
    const Vector rate = rate_of(b, pose.axes, m.momentum);
    Vector force = {0.0, 0.0, 0.0}, torque = {0.0, 0.0, 0.0};
    for (u32 k = 0; k < b.count(); ++k) {
        const Vector own = force_on(w, f, slot(k));
        force = force + own;
        torque = torque + cross(pose.arm(b, k), own);
    }
    const Vector common = force * (1.0 / b.mass()), by_forces = rate_of(b, pose.axes, torque);
    const Vector by_turning = rate_of(b, pose.axes, -cross(rate, m.momentum));
    for (u32 k = 0; k < b.count(); ++k) {
        const Vector arm = pose.arm(b, k);
        const Kind own = kind(k);
        look_at(l, h, b.first + k, own, m.velocity + cross(rate, arm));
        add_product(l.forces, arm, (common + cross(by_forces, arm)) * b.mass(k) - force_on(w, f, slot(k)));
        add_product(l.turning[own.group], arm, (cross(by_turning, arm) + cross(rate, cross(rate, arm))) * b.mass(k));
    }
}
#endif
