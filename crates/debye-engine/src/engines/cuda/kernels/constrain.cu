// The motion of particles at fixed distances; what they add to sums is in constrained_sums.cu. A thread takes a rigid water (rigid.cuh), a cluster
// or a rigid body (rigid_bodies.cuh); blocks of waters come first. 120 bytes are moved for each particle, with all forces 48
// more.
//
// step.cu gives such particles their kick and no more: what a step writes of their velocities is read here, and the step is
// over when this is. Where there is nothing but rigid waters on a mesh, they get their kick here too. The impulses that take
// from v(t) what would change a distance are along the sides of the molecule as it is at t, and so are those of SETTLE and
// SHAKE after the drift that follows; the latter make up for the former. So v(t) is projected only where somebody looks at
// it: in sums.
//
// Defines: GROUPS_OF and BONDED as in step.cu; LANGEVIN, MOVING; see constrained.cuh.
#include "constrained.cuh"
#include "sums.cuh"

// What a group leaves behind: the square of the longest way since the list, and where the cell changes M V² of its center.
struct Moved {
    f32 displacement2;
    f64 kinetic[3];
};

__device__ __forceinline__ void add_displacement(Moved& m, f32 displacement2) { m.displacement2 = fmaxf(m.displacement2, displacement2); }

__device__ __forceinline__ void set_kinetic(Moved& m, const Vector& momentum, f64 mass)
{
    m.kinetic[0] = momentum.x * momentum.x / mass;
    m.kinetic[1] = momentum.y * momentum.y / mass;
    m.kinetic[2] = momentum.z * momentum.z / mass;
}

// Waters in the order of the input, which are looked up; or where all are bodies, and alike, in the order of these; or where
// there is nobody else, these with the kicks of all forces.
enum Work { OF_INPUT, OF_BODIES, WHOLE_STEP };

// Whether a thread has a water.
template <Work WORK>
__device__ __forceinline__ bool has_water(const ConstraintTables& h, const Here& p, const Steering& now, u32 thread)
{
#if SITES > 1
    // A particle by itself has nobody beside it.
    if (WORK != OF_INPUT) return thread < now.blocks * BODIES && p.pos[thread * LANES + 1].w != EMPTY_SLOT;
#endif
    return thread < h.waters;
}
template <Work WORK>
__device__ __forceinline__ Water water_of_thread(const ConstraintTables& h, const Here& p, const Setup& f, u32 thread)
{
#if SITES > 1
    const u32 anchor = thread * LANES;
    if (WORK != OF_INPUT) return water_at(h.shapes, anchor, anchor + 1, anchor + 2, p, f);
#endif
    return water_of(h, p, f, thread);
}

#if ALONE
// The velocity after the kick of a step.
__device__ __forceinline__ Vector kicked_by_all(const World& w, const Setup& f, u32 side, u32 slot, u32 number)
{
    const Vector on = force_on(w, f, slot);
    f64 force[3] = {on.x, on.y, on.z};
    add_rest(force, number, slot, w, f);
    speed v[3];
    read_velocity(v, w, f, side, slot);
    kick(v, force, f.dt, w.kinds[number]);
    return {f64(v[0]), f64(v[1]), f64(v[2])};
}

// Slots of a body without a particle stay as they are.
__device__ __forceinline__ void keep_nobody(const World& w, const Setup& f, const Steering& now, u32 body, u32 from)
{
    const uint4* here = half_of(w.pos, now.parity, f.slots);
    uint4* next = half_of(w.pos, now.parity ^ 1, f.slots);
    for (u32 slot = body * LANES + from; slot < (body + 1) * LANES; ++slot) next[slot] = here[slot];
}
#endif

template <Work WORK>
__device__ __forceinline__ void move_water(Moved& moved, const World& w, const ConstraintTables& h, const Setup& f,
                                           const Steering& now, u32 thread)
{
    const Here p = here(w, h, f, now.parity, now.side);
    const bool found = has_water<WORK>(h, p, now, thread);
#if ALONE
    if (WORK == WHOLE_STEP && thread < now.blocks * BODIES) keep_nobody(w, f, now, thread, found ? SITES : 0);
#endif
    if (!found) return;
    const Water m = water_of_thread<WORK>(h, p, f, thread);
    Triangle t = triangle_of(m);
    Vector v[3], way[3];
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
#if ALONE
        if (WORK == WHOLE_STEP) {
            v[k] = kicked_by_all(w, f, now.side, m.slot[k], p.pos[m.slot[k]].w);
            continue;
        }
#endif
        v[k] = stored_velocity(w, f, now.side, m.slot[k]);
    }
    Unsolved unsolved;
    const u32* ids = half_of(w.ids, now.side, f.slots);
#if LANGEVIN
    bool solved = drift_water(way, v, t, m.shape, 0.5 * f.dt, unsolved);
    t.move(way);
    // Particles of one molecule need not keep the same share of their velocities.
    constrain_velocities(v, t);
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
        const Kind& kind = w.kinds[p.pos[m.slot[k]].w];
#if DRAWN_BEFORE
        if (WORK == WHOLE_STEP) {
            const speed* n = drawn(w, f, now) + m.slot[k];
            v[k] = v[k] * kind.keep + Vector{n[0], n[f.slots], n[2 * u64(f.slots)]} * kind.noise;
            continue;
        }
#endif
        v[k] = noisy(v[k], f, now.step, ids[m.slot[k]], kind);
    }
    Vector rest[3] = {};
    if (solved) solved = drift_water(rest, v, t, m.shape, 0.5 * f.dt, unsolved);
#pragma unroll
    for (u32 k = 0; k < 3; ++k) way[k] = way[k] + rest[k];
#else
    const bool solved = drift_water(way, v, t, m.shape, f.dt, unsolved);
#endif
    if (!solved) {
        const u32 first = ids[m.slot[0]], water = WORK != OF_INPUT ? water_that_begins(h.atoms, h.waters, first) : thread;
        give_up(w.control, 3 * water, unsolved, first);
    }
#if MOVING
    Vector momentum = {0.0, 0.0, 0.0};
    f64 mass = 0.0;
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
        const f64 own = w.kinds[p.pos[m.slot[k]].w].mass;
        momentum = momentum + v[k] * own;
        mass += own;
    }
    set_kinetic(moved, momentum, mass);
#endif
#pragma unroll
    for (u32 k = 0; k < 3; ++k) add_displacement(moved, write_member(w, f, now, now, m.slot[k], way[k], v[k]));
}

// NEW and RATE after a drift of OLD for a time.
__device__ __forceinline__ bool drift_cluster(const Cluster& c, f64 time, Unsolved& unsolved)
{
    for (u32 k = 0; k < c.count; ++k) c.put(NEW, k, c.get(OLD, k) + c.get(RATE, k) * time);
    if (!shake(c, unsolved)) return false;
    for (u32 k = 0; k < c.count; ++k) {
        // Where the drift alone led.
        const Vector v = c.get(RATE, k), free = c.get(OLD, k) + v * time;
        c.put(RATE, k, v + (c.get(NEW, k) - free) * (1.0 / time));
    }
    return true;
}

__device__ inline void move_cluster(Moved& moved, const World& w, const ConstraintTables& h, const Setup& f,
                                    const Steering& now, u32 number)
{
    const Here p = here(w, h, f, now.parity, now.side);
    const Cluster c = cluster_of(h, number);
    find_places(c, p, f);
    for (u32 k = 0; k < c.count; ++k) c.put(RATE, k, stored_velocity(w, f, now.side, p.slot(c.place(k))));
    Unsolved unsolved;
#if LANGEVIN
    bool solved = drift_cluster(c, 0.5 * f.dt, unsolved);
    if (solved) {
        for (u32 k = 0; k < c.count; ++k) c.put(OLD, k, c.get(NEW, k));
        solved = rattle(c, unsolved);
        for (u32 k = 0; k < c.count; ++k) {
            const u32 place = c.place(k);
            c.put(RATE, k, noisy(c.get(RATE, k), f, now.step, h.atoms[place], w.kinds[p.pos[p.slot(place)].w]));
        }
        solved = solved && drift_cluster(c, 0.5 * f.dt, unsolved);
    }
    // The way is counted from where the step began.
    find_places(c, p, f);
#else
    const bool solved = drift_cluster(c, f.dt, unsolved);
#endif
    if (!solved) {
        give_up(w, h, c.first_bond(), unsolved, c.place(0));
        for (u32 k = 0; k < c.count; ++k) c.put(NEW, k, c.get(OLD, k));
    }
#if MOVING
    Vector momentum = {0.0, 0.0, 0.0};
    f64 mass = 0.0;
    for (u32 k = 0; k < c.count; ++k) {
        const f64 own = 1.0 / c.inverse_mass(k);
        momentum = momentum + c.get(RATE, k) * own;
        mass += own;
    }
    set_kinetic(moved, momentum, mass);
#endif
    for (u32 k = 0; k < c.count; ++k) {
        const Vector way = c.get(NEW, k) - c.get(OLD, k);
        add_displacement(moved, write_member(w, f, now, now, p.slot(c.place(k)), way, c.get(RATE, k)));
    }
}

__device__ inline void move_body(Moved& moved, const World& w, const ConstraintTables& h, const Setup& f, const Steering& now,
                                 u32 number)
{
    const Here p = here(w, h, f, now.parity, now.side);
    const RigidBody b = rigid_body(h, number);
    Pose pose = pose_of(b, p, f);
    Motion m = gathered(b, p, f, pose, [&](u32 k) { return stored_velocity(w, f, now.side, p.slot(b.first + k)); });
#if LANGEVIN
    advance(pose, b, m, 0.5 * f.dt);
    const Vector common = m.velocity, turns = rate_of(b, pose.axes, m.momentum);
    m = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    for (u32 k = 0; k < b.count(); ++k) {
        if (b.mass(k) == 0.0) continue;
        const Vector arm = pose.arm(b, k);
        const u32 place = b.first + k;
        const Kind& kind = w.kinds[p.pos[p.slot(place)].w];
        gather(m, arm, noisy(common + cross(turns, arm), f, now.step, h.atoms[place], kind), b.mass(k));
    }
    m.velocity = m.velocity * (1.0 / b.mass());
    advance(pose, b, m, 0.5 * f.dt);
#else
    advance(pose, b, m, f.dt);
#endif
#if MOVING
    set_kinetic(moved, m.velocity * b.mass(), b.mass());
#endif
    const Vector rate = rate_of(b, pose.axes, m.momentum);
    // The first is where the others are counted from: it goes last.
    for (u32 left = b.count(); left > 0; --left) {
        const u32 k = left - 1;
        const Vector arm = pose.arm(b, k), way = pose.center + arm - site_at(b, p, f, k);
        const Vector v = b.mass(k) > 0.0 ? m.velocity + cross(rate, arm) : Vector{0.0, 0.0, 0.0};
        add_displacement(moved, write_member(w, f, now, now, p.slot(b.first + k), way, v));
    }
}

// The rest of a step, after the kernel that gave the kicks: Setup::due says whether it has sums.
template <Work WORK>
__device__ __forceinline__ void constrain(const World& w, const ConstraintTables& h, Setup& f)
{
    SHARED(u32, last, 1);
    const Steering now = steering(w);
    if (now.idle || (f.due == DUE_WITHOUT_SUMS ? now.split != 0 : !(now.split & SUMMED))) return;
    load_frame(w, f);
    Moved moved = {0.0f, {0.0, 0.0, 0.0}};
    if (ONLY_WATERS) {
        move_water<WORK>(moved, w, h, f, now, blockIdx.x * CONSTRAIN_THREADS + threadIdx.x);
    } else {
        const ThreadGroup mine = group_of_thread(h);
        if (WATERS && mine.what == WATER) move_water<WORK>(moved, w, h, f, now, mine.number);
        if (CLUSTERS && mine.what == CLUSTER) move_cluster(moved, w, h, f, now, mine.number);
        if (RIGID_BODIES && mine.what == RIGID_BODY) move_body(moved, w, h, f, now, mine.number);
    }
    if (moved.displacement2 > f.frame.limit2) atomicExch(&w.control->moved, 1u);
#if MOVING
    SHARED(f64, warps, 3 * CONSTRAIN_WARPS);
    SHARED(f64, others, 3);
    const bool scales = now.split & SCALES;
    if (scales) {
        atomicMax(&w.control->farthest, __float_as_uint(moved.displacement2));
        publish_sums<CONSTRAIN_WARPS>(h.partial + u64(blockIdx.x) * 3, moved.kinetic, warps);
    }
#endif
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last[0] = is_last_block(w.control, gridDim.x);
    __syncthreads();
    if (!last[0]) return;
#if MOVING
    if (scales) {
        add_blocks<3, CONSTRAIN_WARPS>(warps, h.partial, gridDim.x);
        add_blocks<3, CONSTRAIN_WARPS>(others, w.partial, now.blocks);
    }
    if (threadIdx.x == 0) {
        for (u32 k = 0; k < 3; ++k) publish(w.frame->pending + k, 1.0);
        if (scales) {
            for (u32 k = 0; k < 3; ++k) others[k] += warps[k];
            const f64 dt = f.dt * f.scale_every;
            change_cell(w.frame, w.ensemble, w.control, dt, f.seed, f.radius, f.cutoff, now.step, others);
        }
    }
#endif
    if (threadIdx.x == 0) next_step(w, f, now);
}

#if ONLY_WATERS
KERNEL_RESIDENT(debye_constrain, CONSTRAIN_THREADS, CONSTRAIN_RESIDENT, World w, ConstraintTables h, Setup f)
#else
KERNEL(debye_constrain, CONSTRAIN_THREADS, World w, ConstraintTables h, Setup f)
#endif
{
    constrain<OF_INPUT>(w, h, f);
}
#if ONLY_WATERS && SITES > 1
KERNEL_RESIDENT(debye_constrain_bodies, CONSTRAIN_THREADS, CONSTRAIN_RESIDENT, World w, ConstraintTables h, Setup f)
{
    constrain<OF_BODIES>(w, h, f);
}
#if ALONE
KERNEL_RESIDENT(debye_step_bodies, CONSTRAIN_THREADS, CONSTRAIN_RESIDENT, World w, ConstraintTables h, Setup f)
{
    constrain<WHOLE_STEP>(w, h, f);
}
#endif
#endif

#if MOVING
// Gives a particle of a group back its distance from the center after the cell has changed by `c.factors`, and to its
// velocity what is to be multiplied with it later, of which only the center's is to change. `from` is its way from the
// center by the fractions of now.
__device__ __forceinline__ f32 reshape_member(const World& w, const Setup& f, const Steering& now, u32 slot, const Vector& from,
                                              const Vector& common, bool massless)
{
    const f64* by = w.control->factors;
    const f64* pending = f.frame.pending;
    const Vector v = stored_velocity(w, f, now.side, slot);
    const Vector way = {from.x * (1.0 / by[0] - 1.0), from.y * (1.0 / by[1] - 1.0), from.z * (1.0 / by[2] - 1.0)};
    const Vector kept = {(v.x - common.x) / pending[0] + common.x, (v.y - common.y) / pending[1] + common.y,
                         (v.z - common.z) / pending[2] + common.z};
    const Vector nothing = {0.0, 0.0, 0.0};
    // To where it is: this is no step.
    Steering same = now;
    same.parity ^= 1;
    return write_member(w, f, now, same, slot, way, massless ? nothing : kept);
}

template <class Place, class Slot>
__device__ __forceinline__ f32 reshape(const World& w, const Setup& f, const Steering& now, u32 count, Place place, Slot slot)
{
    const uint4* pos = half_of(w.pos, now.parity, f.slots);
    Vector center = {0.0, 0.0, 0.0}, common = {0.0, 0.0, 0.0};
    f64 mass = 0.0;
    for (u32 k = 0; k < count; ++k) {
        const f64 own = w.kinds[pos[slot(k)].w].mass;
        center = center + place(k) * own;
        common = common + stored_velocity(w, f, now.side, slot(k)) * own;
        mass += own;
    }
    center = center * (1.0 / mass);
    common = common * (1.0 / mass);
    f32 displacement2 = 0.0f;
    // Places may be counted from the first: it goes last.
    for (u32 left = count; left > 0; --left) {
        const u32 k = left - 1;
        const bool massless = w.kinds[pos[slot(k)].w].mass == 0.0;
        displacement2 = fmaxf(displacement2, reshape_member(w, f, now, slot(k), place(k) - center, common, massless));
    }
    return displacement2;
}

// After a change of the cell: fractions have scaled all distances, and those within groups must be as before.
KERNEL(debye_reshape, CONSTRAIN_THREADS, World w, ConstraintTables h, Setup f)
{
    Control* c = w.control;
    if (STEERING(&c->stretched) == 0) return;
    load_frame(w, f);
    const Steering now = steering(w);
    const Here p = here(w, h, f, now.parity, now.side);
    f32 displacement2 = 0.0f;
    const ThreadGroup mine = group_of_thread(h);
    if (WATERS && mine.what == WATER) {
        const Water m = water_of(h, p, f, mine.number);
        displacement2 = reshape(w, f, now, 3, [&](u32 k) { return m.r[k]; }, [&](u32 k) { return m.slot[k]; });
    }
    if (CLUSTERS && mine.what == CLUSTER) {
        const Cluster k = cluster_of(h, mine.number);
        find_places(k, p, f);
        displacement2 = reshape(w, f, now, k.count, [&](u32 n) { return k.get(OLD, n); }, [&](u32 n) { return p.slot(k.place(n)); });
    }
    if (RIGID_BODIES && mine.what == RIGID_BODY) {
        const RigidBody b = rigid_body(h, mine.number);
        displacement2 = reshape(w, f, now, b.count(), [&](u32 k) { return site_at(b, p, f, k); }, [&](u32 k) { return p.slot(b.first + k); });
    }
    if (displacement2 > f.frame.limit2) atomicExch(&c->moved, 1u);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && is_last_block(c, gridDim.x)) {
        if (atomicExch(&c->moved, 0u)) {
            atomicExch(&c->stale, 1u);
            write_rests(c, c->split, true);
        }
        atomicExch(&c->stretched, 0u);
    }
}
#endif
