// What the host asks for now and then: forces, energies and sums of a configuration. A module of its own, which is compiled
// beside that of the steps.
//
// Defines: STAGE, see visit.cuh; GROUPS_OF, how many groups have thermostats of their own; WRAP, see engine.cuh.
#include "pair_forces.cuh"

// Sets the step to stop at, unless the last one has not been reached: then what follows waits for it too.
KERNEL(debye_aim, WARP, World w, u64 from, u64 to)
{
    Control* c = w.control;
    if (threadIdx.x != 0 || c->step != from) return;
    c->target = to;
    write_rests(c, c->split, c->stale != 0 || c->step >= to);
}

// Whether steps are left that can be done: decides about a graph that may be one too many.
KERNEL(debye_steps_left, WARP, World w, u64 condition)
{
    const Control* c = w.control;
    const bool stopped = c->overflow != 0 || c->failed != 0 || c->cell_invalid != 0;
    if (threadIdx.x == 0) set_condition(condition, c->step != c->target && !stopped);
}

// What is left for every block: energies by term, virial, for every group Σ m v⊗v (xx yy zz xy xz yz) and Σ m v, and where
// particles turn for every group Σ L·ω.
constexpr u32 OF_PAIRS = TERMS + VIRIAL_SUMS, OF_MOTION = (GROUP_SUMS + TURNING) * GROUPS_OF, WIDTH = OF_PAIRS + OF_MOTION;

// Without a list there is nothing to go by.
__device__ __forceinline__ bool rests(const Control* c) { return blockIdx.x >= c->blocks || c->stale != 0; }

__device__ __forceinline__ void leave_pairs(const World& w, const PairForces& p)
{
    SHARED(f64, warps, OF_PAIRS * BLOCK_WARPS);
    const bool there = p.own.w != EMPTY_SLOT;
    f64 x[OF_PAIRS];
    for (u32 t = 0; t < TERMS; ++t) x[t] = there ? 0.5 * f64(p.sums.energy[t]) : 0.0;
    for (u32 k = 0; k < 6; ++k) x[TERMS + k] = there ? -f64(p.sums.virial[k]) : 0.0;
    publish_sums<BLOCK_WARPS>(w.partial + u64(blockIdx.x) * WIDTH, x, warps);
}

// Keeps all forces, and leaves sums over the velocities that they lead to.
__device__ __forceinline__ void leave_motion(const World& w, const Setup& f, const Control* c, u32 own, const f64 (&force)[3],
                                             const f64* torque)
{
    SHARED(f64, warps, OF_MOTION * BLOCK_WARPS);
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x, slots = f.slots;
    f64 v[3] = {0.0, 0.0, 0.0}, mass = 0.0, turning = 0.0;
    u32 group = GROUPS_OF;
    if (own != EMPTY_SLOT) {
        const Kind kind = w.kinds[own];
        speed kept[3];
        read_velocity(kept, w, f, c->side, slot);
        // constrained_sums.cu looks at the others, whose velocities of now need more than a kick.
        mass = is_constrained(kind) ? 0.0 : kind.mass;
        group = kind.group;
        for (u32 axis = 0; axis < 3; ++axis) {
            v[axis] = f64(kept[axis]) + 0.5 * f.dt * kind.inverse_mass * force[axis];
            w.forces[axis * slots + slot] = force[axis];
        }
#if TURNING
        const f64 around[3] = {torque[0], torque[1], torque[2]};
        Rotation r = read_rotation(w, f, c->side, slot);
        kick_rotation(r, around, 0.5 * f.dt);
        turning = twice_rotation(r, kind);
        for (u32 axis = 0; axis < 3; ++axis) w.torques[u64(axis) * slots + slot] = around[axis];
#endif
    }
    f64 x[OF_MOTION];
#pragma unroll
    for (u32 g = 0; g < GROUPS_OF; ++g) {
        const f64 m = group == g ? mass : 0.0;
        f64* of = x + GROUP_SUMS * g;
        of[0] = m * v[0] * v[0];
        of[1] = m * v[1] * v[1];
        of[2] = m * v[2] * v[2];
        of[3] = m * v[0] * v[1];
        of[4] = m * v[0] * v[2];
        of[5] = m * v[1] * v[2];
        for (u32 k = 0; k < 3; ++k) of[6 + k] = m * v[k];
        if (TURNING) x[GROUP_SUMS * GROUPS_OF + g] = group == g ? turning : 0.0;
    }
    publish_sums<BLOCK_WARPS>(w.partial + u64(blockIdx.x) * WIDTH + OF_PAIRS, x, warps);
}

#if MESHED
// Forces of pairs, their energies and virial, beside the mesh.
KERNEL_RESIDENT(debye_evaluate_pairs, BLOCK, 2, World w, Setup f)
{
    DYNAMIC_SHARED(Spot, shared);
    const Control* c = w.control;
    if (rests(c)) return;
    load_frame(w, f);
    PairForces p;
    pair_forces<true>(p, shared, w, f, c->parity, c->side);
    leave_pairs(w, p);
    if (p.own.w == EMPTY_SLOT) return;
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x;
    for (u32 axis = 0; axis < 3; ++axis) w.forces[u64(axis) * f.slots + slot] = p.force[axis];
#if TURNING
    for (u32 axis = 0; axis < 3; ++axis) w.torques[u64(axis) * f.slots + slot] = p.torque[axis];
#endif
}

// All forces, and what follows from them. Moves nothing.
KERNEL(debye_evaluate, BLOCK, World w, Setup f)
{
    const Control* c = w.control;
    if (rests(c)) return;
    load_frame(w, f);
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x, own = half_of(w.pos, c->parity, f.slots)[slot].w;
    f64 force[3] = {0.0, 0.0, 0.0}, torque[3] = {0.0, 0.0, 0.0};
    if (own != EMPTY_SLOT) {
        for (u32 axis = 0; axis < 3; ++axis) force[axis] = w.forces[u64(axis) * f.slots + slot];
#if TURNING
        for (u32 axis = 0; axis < 3; ++axis) torque[axis] = w.torques[u64(axis) * f.slots + slot];
        add_bonded_torque(torque, w, f, slot);
#endif
    }
    add_rest(force, own, slot, w, f);
    leave_motion(w, f, c, own, force, torque);
}
#else
// All forces, energies, and what follows from them. Moves nothing.
KERNEL_RESIDENT(debye_evaluate, BLOCK, 2, World w, Setup f)
{
    DYNAMIC_SHARED(Spot, shared);
    const Control* c = w.control;
    if (rests(c)) return;
    load_frame(w, f);
    PairForces p;
    all_forces<true>(p, shared, w, f, c->parity, c->side);
    leave_pairs(w, p);
#if TURNING
    leave_motion(w, f, c, p.own.w, p.force, p.torque);
#else
    leave_motion(w, f, c, p.own.w, p.force, nullptr);
#endif
}
#endif
