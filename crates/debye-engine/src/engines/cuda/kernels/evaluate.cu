// What the host asks for now and then: forces, energies and sums of a configuration. A module of its own, which is compiled
// beside that of the steps.
//
// Defines: STAGE, see visit.cuh; GROUPS_OF, how many groups have thermostats of their own; WRAP, see engine.cuh.
#include "pair_forces.cuh"

// Sets the step to stop at, unless the last one has not been reached: then what follows waits for it too.
KERNEL(debye_aim, WARP, World w, u64 from, u64 to)
{
    if (threadIdx.x == 0 && w.control->step == from) w.control->target = to;
}

// Whether steps are left that can be done: decides about a graph that may be one too many.
KERNEL(debye_steps_left, WARP, World w, u64 condition)
{
    const Control* c = w.control;
    const bool stopped = c->overflow != 0 || c->failed != 0 || c->cell_invalid != 0;
    if (threadIdx.x == 0) set_condition(condition, c->step != c->target && !stopped);
}

// Forces, and for every block: energies by term, virial, for every group Σ m v⊗v (xx yy zz xy xz yz) and Σ m v, and where
// particles turn for every group Σ L·ω. Moves nothing.
KERNEL_RESIDENT(debye_evaluate, BLOCK, 2, World w, Setup f)
{
    constexpr u32 WIDTH = TERMS + VIRIAL_SUMS + (GROUP_SUMS + TURNING) * GROUPS_OF;
    DYNAMIC_SHARED(Spot, shared);
    SHARED(f64, warps, WIDTH * BLOCK_WARPS);
    const Control* c = w.control;
    const u32 b = blockIdx.x, slot = b * BLOCK + threadIdx.x, slots = f.slots;
    // Without a list there is nothing to go by.
    if (b >= c->blocks || c->stale != 0) return;
    load_frame(w, f);
    PairForces p;
    all_forces<true>(p, shared, w, f, c->parity, c->side);
    const bool there = p.own.w != EMPTY_SLOT;
    f64 v[3] = {0.0, 0.0, 0.0}, mass = 0.0;
#if TURNING
    f64 turning = 0.0;
#endif
    u32 group = 0;
    if (there) {
        const Kind kind = w.kinds[p.own.w];
        speed kept[3];
        read_velocity(kept, w, f, c->side, slot);
        // constrain.cu looks at the others, whose velocities of now need more than a kick.
        mass = is_constrained(kind) ? 0.0 : kind.mass;
        group = kind.group;
        for (u32 axis = 0; axis < 3; ++axis) {
            v[axis] = f64(kept[axis]) + 0.5 * f.dt * kind.inverse_mass * p.force[axis];
            w.forces[axis * slots + slot] = p.force[axis];
        }
#if TURNING
        Rotation r = read_rotation(w, f, c->side, slot);
        kick_rotation(r, p.torque, 0.5 * f.dt);
        turning = twice_rotation(r, kind);
        for (u32 axis = 0; axis < 3; ++axis) w.torques[u64(axis) * slots + slot] = p.torque[axis];
#endif
    }
    f64 x[WIDTH];
    for (u32 t = 0; t < TERMS; ++t) x[t] = there ? 0.5 * f64(p.sums.energy[t]) : 0.0;
    for (u32 k = 0; k < 6; ++k) x[TERMS + k] = there ? -f64(p.sums.virial[k]) : 0.0;
#pragma unroll
    for (u32 g = 0; g < GROUPS_OF; ++g) {
        const f64 m = there && group == g ? mass : 0.0;
        f64* own = x + TERMS + VIRIAL_SUMS + GROUP_SUMS * g;
        own[0] = m * v[0] * v[0];
        own[1] = m * v[1] * v[1];
        own[2] = m * v[2] * v[2];
        own[3] = m * v[0] * v[1];
        own[4] = m * v[0] * v[2];
        own[5] = m * v[1] * v[2];
        for (u32 k = 0; k < 3; ++k) own[6 + k] = m * v[k];
#if TURNING
        x[TERMS + VIRIAL_SUMS + GROUP_SUMS * GROUPS_OF + g] = there && group == g ? turning : 0.0;
#endif
    }
    publish_sums<BLOCK_WARPS>(w.partial + u64(b) * WIDTH, x, warps);
}
