// A step: forces on every particle from its block's stage and its own list, then its motion. Each thread owns a
// particle, so there are no atomics and one order of every sum.
//
// Mostly this is one kernel. A step that needs sums over all particles (thermostats that scale velocities, the removal of
// momentum, barostats) is two: forces and sums, then motion; the last block of each does what follows from the sums.
//
// Where there is a mesh, the forces of pairs are a kernel of their own, beside those of the mesh.
//
// Particles at fixed distances get their kick here and no more; constrain.cu moves them and ends the step.
//
// Defines: STAGE, see visit.cuh; WRAP, see engine.cuh; LANGEVIN, BONDED, SPLIT (0 or 1: whether steps may need sums);
// RESIDENT, the blocks that should fit on a multiprocessor.
#include "pair_forces.cuh"

__device__ __forceinline__ void write_velocity(const World& w, const Setup& f, u32 side, u32 slot, const speed (&v)[3])
{
    speed* velocities = half_of(w.velocities, side, 3 * f.slots);
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) velocities[axis * f.slots + slot] = v[axis];
}

// What forces do to a particle in a step that needs no sums.
__device__ __forceinline__ void kick_and_move(const World& w, Setup& f, const Steering& now, u32 slot, uint4 own,
#if TURNING
                                              const f64 (&torque)[3],
#endif
                                              const f64 (&force)[3])
{
#if TURNING
    if (own.w != EMPTY_SLOT) {
        const Kind& kind = w.kinds[own.w];
        if (kind.turns != 0) {
            Rotation r = read_rotation(w, f, now.side, slot);
            kick_rotation(r, torque, f.dt);
            turn(r, w, f, now, slot, kind);
        } else {
            keep_facing(w, f, now, slot);
        }
    }
#endif
    if (CONSTRAINED && own.w != EMPTY_SLOT && is_constrained(w.kinds[own.w])) {
        load_frame(w, f);
        speed v[3];
        read_velocity(v, w, f, now.side, slot);
        kick(v, force, f.dt, w.kinds[own.w]);
        write_velocity(w, f, now.side, slot, v);
    } else if (own.w != EMPTY_SLOT) {
        const Noise noise = noise_of(w, f, now, slot);
        // Once more: what moves particles need not be kept in registers while pairs are computed.
        load_frame(w, f);
        const Kind kind = w.kinds[own.w];
        speed v[3];
        read_velocity(v, w, f, now.side, slot);
        kick(v, force, f.dt, kind);
        reload_frame(w, f);
        const f32 displacement2 = move(w, f, now, slot, own, kind, noise, v);
        if (displacement2 > f.frame.limit2) atomicExch(&w.control->moved, 1u);
    } else {
        half_of(w.pos, now.parity ^ 1, f.slots)[slot] = own;
    }
#if !CONSTRAINED
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && is_last_block(w.control, now.blocks)) {
#if MOVING
        for (u32 k = 0; k < 3; ++k) publish(w.frame->pending + k, 1.0);
#endif
        next_step(w, f, now);
    }
#endif
}

#if MESHED
KERNEL_RESIDENT(debye_pairs, BLOCK, RESIDENT, World w, Setup f)
{
    DYNAMIC_SHARED(Spot, shared);
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks || (SPLIT && now.split != 0)) return;
    load_frame(w, f);
    PairForces p;
    pair_forces<false>(p, shared, w, f, now.parity, now.side);
    if (p.own.w == EMPTY_SLOT) return;
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x;
    for (u32 axis = 0; axis < 3; ++axis) w.forces[u64(axis) * f.slots + slot] = p.force[axis];
#if TURNING
    for (u32 axis = 0; axis < 3; ++axis) w.torques[u64(axis) * f.slots + slot] = p.torque[axis];
#endif
#if DRAWN_BEFORE
    LATER();
    draw(w, f, now, slot);
#endif
}

KERNEL_RESIDENT(debye_step, BLOCK, 4, World w, Setup f)
{
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks || (SPLIT && now.split != 0)) return;
    load_frame(w, f);
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x;
    const uint4 own = half_of(w.pos, now.parity, f.slots)[slot];
    f64 force[3] = {0.0, 0.0, 0.0};
    if (own.w != EMPTY_SLOT) {
        for (u32 axis = 0; axis < 3; ++axis) force[axis] = w.forces[u64(axis) * f.slots + slot];
    }
    add_rest(force, own.w, slot, w, f);
#if TURNING
    f64 torque[3] = {0.0, 0.0, 0.0};
    if (own.w != EMPTY_SLOT) {
        for (u32 axis = 0; axis < 3; ++axis) torque[axis] = w.torques[u64(axis) * f.slots + slot];
        add_bonded_torque(torque, w, f, slot);
    }
    kick_and_move(w, f, now, slot, own, torque, force);
#else
    kick_and_move(w, f, now, slot, own, force);
#endif
}
#else
KERNEL_RESIDENT(debye_step, BLOCK, RESIDENT, World w, Setup f)
{
    DYNAMIC_SHARED(Spot, shared);
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks || (SPLIT && now.split != 0)) return;
    load_frame(w, f);
    PairForces p;
    all_forces<false>(p, shared, w, f, now.parity, now.side);
#if TURNING
    kick_and_move(w, f, now, blockIdx.x * BLOCK + threadIdx.x, p.own, p.torque, p.force);
#else
    kick_and_move(w, f, now, blockIdx.x * BLOCK + threadIdx.x, p.own, p.force);
#endif
}
#endif

#if SPLIT
// Forces, and the sums that decide what happens to the velocities: for every group Σ m v² and Σ m v, then the virial.
template <bool VIRIAL> __device__ __forceinline__ void forces_and_sum(const World& w, Setup& f, const Steering& now, Spot* shared)
{
    constexpr u32 N = 4 * GROUPS_OF + (VIRIAL ? 3 : 0);
    SHARED(f64, warps, N * BLOCK_WARPS);
    load_frame(w, f);
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x, slots = f.slots;
    PairForces p;
    all_forces<VIRIAL>(p, shared, w, f, now.parity, now.side);
    load_frame(w, f);
    f64 x[N] = {};
    if (p.own.w != EMPTY_SLOT) {
        const Kind kind = w.kinds[p.own.w];
        speed v[3];
        read_velocity(v, w, f, now.side, slot);
        kick(v, p.force, w.ensemble->leapfrog ? f.dt : 0.5 * f.dt, kind);
        const f64 u[3] = {v[0], v[1], v[2]};
        f64 turning = 0.0;
#if TURNING
        Rotation r = read_rotation(w, f, now.side, slot);
        kick_rotation(r, p.torque, w.ensemble->leapfrog ? f.dt : 0.5 * f.dt);
        turning = twice_rotation(r, kind);
        for (u32 k = 0; k < 3; ++k) w.torques[u64(k) * slots + slot] = p.torque[k];
#endif
#pragma unroll
        for (u32 g = 0; g < GROUPS_OF; ++g) {
            const f64 m = kind.group == g && !is_constrained(kind) ? kind.mass : 0.0;
            x[4 * g] = m * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) + (kind.group == g ? turning : 0.0);
            for (u32 k = 0; k < 3; ++k) x[4 * g + 1 + k] = m * u[k];
        }
#pragma unroll
        for (u32 k = 0; k < 3; ++k) {
            w.forces[u64(k) * slots + slot] = p.force[k];
            if (VIRIAL) {
                x[N - 3 + k] = -f64(p.sums.virial[k]);
#if BONDED && MOVING
                x[N - 3 + k] += w.bonded[u64(3 + k) * slots + slot];
#endif
            }
        }
    }
    publish_sums(w.partial + u64(blockIdx.x) * N, x, warps);
#if !CONSTRAINED
    SHARED(u32, last, 1);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last[0] = is_last_block(w.control, now.blocks);
    __syncthreads();
    if (!last[0]) return;
    add_blocks<N>(warps, w.partial, now.blocks);
    if (threadIdx.x != 0) return;
    for (u32 k = 0; k < 3 && VIRIAL; ++k) w.control->virial[k] = warps[N - 3 + k] + mesh_virial(w, f, k);
    w.control->farthest = 0;
    change_velocities(w.ensemble, w.thermostats, w.groups, f.dt, f.seed, f.remove_every, now.step, warps);
    const u32 cell_invalid = w.control->cell_invalid;
    store_relaxed(both(&w.control->split), u64(cell_invalid) << 32 | now.split | SUMMED);
#endif
}

KERNEL_RESIDENT(debye_forces_sums, BLOCK, RESIDENT, World w, Setup f)
{
    DYNAMIC_SHARED(Spot, shared);
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks || now.split != SUMS) return;
    forces_and_sum<false>(w, f, now, shared);
}

#if MOVING
// The same with the virial, before the cell changes.
KERNEL_RESIDENT(debye_forces_sums_virial, BLOCK, 2, World w, Setup f)
{
    DYNAMIC_SHARED(Spot, shared);
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks || now.split != (SUMS | SCALES)) return;
    forces_and_sum<true>(w, f, now, shared);
}
#endif

// Motion when the sums are there, and what changes the cell.
KERNEL_RESIDENT(debye_move, BLOCK, 4, World w, Setup f)
{
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks || !(now.split & SUMMED)) return;
    load_frame(w, f);
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x, slots = f.slots;
    const uint4 own = half_of(w.pos, now.parity, slots)[slot];
#if MOVING
    SHARED(f64, warps, 3 * BLOCK_WARPS);
    const bool scales = now.split & SCALES;
    f64 kinetic[3] = {0.0, 0.0, 0.0};
#endif
    f32 displacement2 = 0.0f;
    if (own.w != EMPTY_SLOT) {
        const Noise noise = noise_of(w, f, now, slot);
        const Kind kind = w.kinds[own.w];
        const bool constrained = is_constrained(kind);
        const VelocityScaling group = w.groups[kind.group];
        const f64 force[3] = {w.forces[slot], w.forces[u64(slots) + slot], w.forces[2 * u64(slots) + slot]};
        const f64 first = w.ensemble->leapfrog ? f.dt : 0.5 * f.dt;
        speed v[3];
        read_velocity(v, w, f, now.side, slot);
        kick(v, force, first, kind);
        // What a site without mass has is no velocity.
        const f64 shifted = kind.mass > 0.0 ? 1.0 : 0.0;
        for (u32 axis = 0; axis < 3; ++axis) v[axis] = speed(v[axis] * group.factor - shifted * group.shift[axis]);
        kick(v, force, f.dt - first, kind);
#if TURNING
        if (kind.turns != 0) {
            const f64 torque[3] = {w.torques[slot], w.torques[u64(slots) + slot], w.torques[2 * u64(slots) + slot]};
            Rotation r = read_rotation(w, f, now.side, slot);
            kick_rotation(r, torque, first);
            for (u32 k = 0; k < 3; ++k) r.l[k] *= group.factor;
            kick_rotation(r, torque, f.dt - first);
            turn(r, w, f, now, slot, kind);
        } else {
            keep_facing(w, f, now, slot);
        }
#endif
        reload_frame(w, f);
        if (constrained) write_velocity(w, f, now.side, slot, v);
        else displacement2 = move(w, f, now, slot, own, kind, noise, v);
#if MOVING
        for (u32 k = 0; k < 3; ++k) kinetic[k] = constrained ? 0.0 : kind.mass * f64(v[k]) * f64(v[k]);
#endif
        if (displacement2 > f.frame.limit2) atomicExch(&w.control->moved, 1u);
    } else {
        half_of(w.pos, now.parity ^ 1, slots)[slot] = own;
    }
#if MOVING
    if (scales) {
        atomicMax(&w.control->farthest, __float_as_uint(displacement2));
        publish_sums(w.partial + u64(blockIdx.x) * 3, kinetic, warps);
    }
#endif
#if !CONSTRAINED
    SHARED(u32, last, 1);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last[0] = is_last_block(w.control, now.blocks);
    __syncthreads();
    if (!last[0]) return;
#if MOVING
    if (scales) add_blocks<3>(warps, w.partial, now.blocks);
    if (threadIdx.x == 0) {
        for (u32 k = 0; k < 3; ++k) publish(w.frame->pending + k, 1.0);
        const f64 dt = f.dt * f.scale_every;
        if (scales) change_cell(w.frame, w.ensemble, w.control, dt, f.seed, f.radius, f.cutoff, now.step, warps);
    }
#endif
    if (threadIdx.x == 0) next_step(w, f, now);
#endif
}
#endif
