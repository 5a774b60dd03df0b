// Motion of a step that needs sums over all particles, after split.cu. The last block does what ends the step.
//
// Defines: GROUPS_OF, how many groups have thermostats of their own; LANGEVIN, MOVING.
#include "sums.cuh"
#if TURNING
#include "rotation.cuh"
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
        publish_sums<BLOCK_WARPS>(w.partial + u64(blockIdx.x) * 3, kinetic, warps);
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
