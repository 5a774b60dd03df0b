// A step: forces on every particle from its block's stage and its own list, then its motion. Each thread owns a
// particle, so there are no atomics and one order of every sum.
//
// A step that needs sums over all particles is in split.cu and move.cu.
//
// Where there is a mesh, the forces of pairs are a kernel of their own, beside those of the mesh; for steps that need
// sums too, unless the cell changes.
//
// Particles at fixed distances get their kick here and no more; constrain.cu moves them and ends the step.
//
// Defines: STAGE, see visit.cuh; WRAP, see engine.cuh; LANGEVIN, BONDED, SPLIT (0 or 1: whether steps may need sums);
// RESIDENT, the blocks that should fit on a multiprocessor.
#include "pair_forces.cuh"

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
    const u32 needs = f.due == DUE_WITH_SUMS ? SUMS : 0;
    if (now.idle || blockIdx.x >= now.blocks || (SPLIT && now.split != needs)) return;
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
    if (needs == 0) draw(w, f, now, slot);
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
