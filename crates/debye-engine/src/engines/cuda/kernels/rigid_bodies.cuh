// Rigid bodies of several sites, a thread to each: what acts on the sites is gathered to the body, which moves and turns freely
// and takes them along. The formulas are those of forces/constraints/rigid.rs; how axes turn is printed (rigid_formulas.cuh).
//
// Sites without mass have no velocity between two steps: a kick gives them their impulse in its place, which goes to the body.
#pragma once
#include "constraints.cuh"
#include "rigid_formulas.cuh"

// The axes of a body.
struct Axes {
    Vector x, y, z;
    __device__ __forceinline__ Vector out(const Vector& v) const { return x * v.x + y * v.y + z * v.z; }
};

// A body and its shape.
struct RigidBody {
    const ConstraintTables& h;
    const f64* numbers;
    const u32* counts;
    u32 first; // place

    __device__ __forceinline__ u32 count() const { return counts[0]; }
    __device__ __forceinline__ f64 mass() const { return numbers[0]; }
    __device__ __forceinline__ const f64* site(u32 k) const { return h.rigid_sites + RIGID_SITE * u64(counts[5] + k); }
    __device__ __forceinline__ Vector place(u32 k) const
    {
        const f64* s = site(k);
        return {s[0], s[1], s[2]};
    }
    __device__ __forceinline__ f64 mass(u32 k) const { return site(k)[3]; }
};

__device__ __forceinline__ RigidBody rigid_body(const ConstraintTables& h, u32 number)
{
    const u32 shape = h.rigid[2 * u64(number)], first = h.rigid[2 * u64(number) + 1];
    return {h, h.rigid_numbers + RIGID_NUMBERS * u64(shape), h.rigid_counts + RIGID_COUNTS * u64(shape), first};
}

// Where a body is, from its first site, and how it lies.
struct Pose {
    Vector center;
    Axes axes;
    __device__ __forceinline__ Vector arm(const RigidBody& b, u32 k) const { return axes.out(b.place(k)); }
};

// What a body does: the velocity of its center, and its angular momentum about it.
struct Motion {
    Vector velocity, momentum;
};

// A site, from the first.
__device__ __forceinline__ Vector site_at(const RigidBody& b, const Here& p, const Setup& f, u32 k)
{
    return apart64(p.at(p.slot(b.first + k)), p.at(p.slot(b.first)), f.frame.cell);
}

__device__ __forceinline__ Pose pose_of(const RigidBody& b, const Here& p, const Setup& f)
{
    Pose pose = {{0.0, 0.0, 0.0}, {}};
    for (u32 k = 0; k < b.count(); ++k) pose.center = pose.center + site_at(b, p, f, k) * b.mass(k);
    pose.center = pose.center * (1.0 / b.mass());
    const Vector from = site_at(b, p, f, b.counts[2]), u = site_at(b, p, f, b.counts[3]) - from;
    const f64* d = b.numbers + 7;
    Vector &x = pose.axes.x, &y = pose.axes.y, &z = pose.axes.z;
    if (b.counts[1] != 0) {
        rigid_axes_linear(u.x, u.y, u.z, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], d[8], x.x, x.y, x.z, y.x, y.y, y.z, z.x,
                          z.y, z.z);
    } else {
        const Vector v = site_at(b, p, f, b.counts[4]) - from;
        rigid_axes(u.x, u.y, u.z, v.x, v.y, v.z, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], d[8], x.x, x.y, x.z, y.x, y.y,
                   y.z, z.x, z.y, z.z);
    }
    return pose;
}

// Adds a site with this velocity, or without mass with this impulse.
__device__ __forceinline__ void gather(Motion& m, const Vector& arm, const Vector& v, f64 mass)
{
    const Vector impulse = mass > 0.0 ? v * mass : v;
    m.velocity = m.velocity + impulse;
    m.momentum = m.momentum + cross(arm, impulse);
}

// The motion of sites whose velocities `of` gives.
template <class Velocity>
__device__ __forceinline__ Motion gathered(const RigidBody& b, const Here& p, const Setup& f, const Pose& pose, Velocity of)
{
    Motion m = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    for (u32 k = 0; k < b.count(); ++k) gather(m, site_at(b, p, f, k) - pose.center, of(k), b.mass(k));
    m.velocity = m.velocity * (1.0 / b.mass());
    return m;
}

// The angular velocity of an angular momentum, or its rate of change by a torque.
__device__ __forceinline__ Vector rate_of(const RigidBody& b, const Axes& a, const Vector& l)
{
    const f64* i = b.numbers + 4;
    const Vector &x = a.x, &y = a.y, &z = a.z;
    Vector rate;
    angular_velocity(x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z, l.x, l.y, l.z, i[0], i[1], i[2], rate.x, rate.y, rate.z);
    return rate;
}

// Free motion for a time.
__device__ __forceinline__ void advance(Pose& pose, const RigidBody& b, const Motion& m, f64 time)
{
    const f64* i = b.numbers + 1;
    const Vector x = pose.axes.x, y = pose.axes.y, z = pose.axes.z, l = m.momentum;
    Vector &nx = pose.axes.x, &ny = pose.axes.y, &nz = pose.axes.z;
    pose.center = pose.center + m.velocity * time;
    if (b.counts[1] != 0) {
        turn_axes_linear(x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z, l.x, l.y, l.z, i[0], time, nx.x, nx.y, nx.z, ny.x, ny.y,
                         ny.z, nz.x, nz.y, nz.z);
    } else {
        turn_axes(x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z, l.x, l.y, l.z, i[0], i[1], i[2], time, nx.x, nx.y, nx.z, ny.x,
                  ny.y, ny.z, nz.x, nz.y, nz.z);
    }
}
