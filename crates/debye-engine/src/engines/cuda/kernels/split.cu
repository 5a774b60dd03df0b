// A step that needs sums over all particles (thermostats that scale velocities, the removal of momentum, barostats): forces
// and sums, then motion; the last block of each does what follows from the sums. A module of its own, which is compiled
// beside that of the other steps.
//
// Defines: as step.cu.
#include "pair_forces.cuh"

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
