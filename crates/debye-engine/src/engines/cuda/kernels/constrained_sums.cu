// What particles at fixed distances add to sums: those of a step that decide what happens to the velocities, and those of an
// observer. A module of its own, which is compiled beside that of the motion.
//
// Defines: as constrain.cu; SUMMING, whether steps may need sums.
#include "constrained.cuh"
#include "sums.cuh"

#if SUMMING
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

// Sums of the constrained particles, added to those of the others that split.cu has published; and what follows from them.
template <bool VIRIAL>
__device__ __forceinline__ void sum_constrained(const World& w, const ConstraintTables& h, Setup& f, const Steering& now)
{
    constexpr u32 N = 4 * GROUPS_OF + (VIRIAL ? 3 : 0);
    SHARED(f64, warps, N * CONSTRAIN_WARPS);
    SHARED(f64, others, N);
    SHARED(u32, last, 1);
    load_frame(w, f);
    Share<N, VIRIAL> sum;
    const ThreadGroup mine = group_of_thread(h);
    if (WATERS && mine.what == WATER) sum_water(sum, w, h, f, now, mine.number);
    if (CLUSTERS && mine.what == CLUSTER) sum_cluster(sum, w, h, f, now, mine.number);
    if (RIGID_BODIES && mine.what == RIGID_BODY) sum_body(sum, w, h, f, now, mine.number);
    publish_sums<CONSTRAIN_WARPS>(h.partial + u64(blockIdx.x) * N, sum.x, warps);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last[0] = is_last_block(w.control, gridDim.x);
    __syncthreads();
    if (!last[0]) return;
    add_blocks<N, CONSTRAIN_WARPS>(warps, h.partial, gridDim.x);
    add_blocks<N, CONSTRAIN_WARPS>(others, w.partial, now.blocks);
    if (threadIdx.x != 0) return;
    for (u32 k = 0; k < N; ++k) others[k] += warps[k];
    for (u32 k = 0; k < 3 && VIRIAL; ++k) w.control->virial[k] = others[N - 3 + k] + mesh_virial(w, f, k);
    w.control->farthest = 0;
    change_velocities(w.ensemble, w.thermostats, w.groups, f.dt, f.seed, f.remove_every, now.step, others);
    const u32 cell_invalid = w.control->cell_invalid;
    store_relaxed(both(&w.control->split), u64(cell_invalid) << 32 | now.split | SUMMED);
}

KERNEL(debye_constraint_sums, CONSTRAIN_THREADS, World w, ConstraintTables h, Setup f)
{
    const Steering now = steering(w);
    if (now.idle || !(now.split & SUMS) || (now.split & SUMMED)) return;
#if MOVING
    if (now.split & SCALES) {
        sum_constrained<true>(w, h, f, now);
        return;
    }
#endif
    sum_constrained<false>(w, h, f, now);
}
#endif

// Velocities of now, and for every block: the virial of the forces that make up for those on the particles; for every group
// of thermostats Σ m v⊗v, Σ m v, and the virial of what keeps molecules together as they turn. They are apart, because a
// thermostat has yet to scale the velocities.
struct Looked {
    f64 forces[VIRIAL_SUMS];
    struct {
        f64 turning[VIRIAL_SUMS];
        f64 tensor[6];
        f64 momentum[3];
    } group[GROUPS_OF];
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
    add_outer(l.group[kind.group].tensor, v, kind.mass);
    f64(&momentum)[3] = l.group[kind.group].momentum;
    momentum[0] += kind.mass * v.x;
    momentum[1] += kind.mass * v.y;
    momentum[2] += kind.mass * v.z;
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
    add(l.group[group].turning, constrain_rates(still, m.shape, m.r, wanted));
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
    solved = solved && rattle(c, NEW, unsolved, turning, [&](const Vector& d, f64 force) { add_outer(l.group[group].turning, d, force); });
    if (!solved) give_up(w, h, c.first_bond(), unsolved, c.place(0));
}

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
        add_product(l.group[own.group].turning, arm, (cross(by_turning, arm) + cross(rate, cross(rate, arm))) * b.mass(k));
    }
}

// Velocities of now, and for every block what `Looked` says.
KERNEL(debye_constrain_now, CONSTRAIN_THREADS, World w, ConstraintTables h, Setup f)
{
    constexpr u32 WIDTH = VIRIAL_SUMS + CONSTRAINT_SUMS * GROUPS_OF;
    static_assert(sizeof(Looked) == WIDTH * sizeof(f64), "what the host reads");
    SHARED(f64, warps, WIDTH * CONSTRAIN_WARPS);
    const Control* c = w.control;
    // Without a list there are no forces to go by.
    if (c->stale != 0) return;
    const u32 parity = c->parity, side = c->side;
    load_frame(w, f);
    Looked l = {};
    const ThreadGroup mine = group_of_thread(h);
    if (WATERS && mine.what == WATER) look_at_water(l, w, h, f, parity, side, mine.number);
    if (CLUSTERS && mine.what == CLUSTER) look_at_cluster(l, w, h, f, parity, side, mine.number);
    if (RIGID_BODIES && mine.what == RIGID_BODY) look_at_body(l, w, h, f, parity, side, mine.number);
    publish_sums<CONSTRAIN_WARPS>(h.partial + u64(blockIdx.x) * WIDTH, reinterpret_cast<f64(&)[WIDTH]>(l), warps);
}
