// Forces of a step that needs sums over all particles (thermostats that scale velocities, the removal of momentum,
// barostats), and these sums; the last block does what follows from them. Modules of their own, which are compiled beside
// that of the other steps. move.cu has the motion.
//
// Defines: as step.cu; VIRIAL, whether there is one, before the cell changes.
#include "pair_forces.cuh"

#if MESHED && !VIRIAL
// Adds to the forces of pairs, which debye_pairs has put into memory.
__device__ __forceinline__ void rest_of_forces(PairForces& p, const World& w, const Setup& f, const Steering& now)
{
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x;
    p.own = half_of(w.pos, now.parity, f.slots)[slot];
    if (p.own.w == EMPTY_SLOT) return;
    for (u32 k = 0; k < 3; ++k) p.force[k] = w.forces[u64(k) * f.slots + slot];
    add_rest(p.force, p.own.w, slot, w, f);
#if TURNING
    for (u32 k = 0; k < 3; ++k) p.torque[k] = w.torques[u64(k) * f.slots + slot];
    add_bonded_torque(p.torque, w, f, slot);
#endif
}
#endif

// Forces, and the sums that decide what happens to the velocities: for every group Σ m v² and Σ m v, then the virial.
// `shared` is for stages.
__device__ __forceinline__ void forces_and_sum(const World& w, Setup& f, const Steering& now, Spot* shared)
{
    constexpr u32 N = 4 * GROUPS_OF + (VIRIAL ? 3 : 0);
    SHARED(f64, warps, N * BLOCK_WARPS);
    load_frame(w, f);
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x, slots = f.slots;
    PairForces p;
#if MESHED && !VIRIAL
    (void)shared;
    rest_of_forces(p, w, f, now);
#else
    all_forces<VIRIAL>(p, shared, w, f, now.parity, now.side);
    load_frame(w, f);
#endif
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
    publish_sums<BLOCK_WARPS>(w.partial + u64(blockIdx.x) * N, x, warps);
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

#if VIRIAL
KERNEL_RESIDENT(debye_forces_sums_virial, BLOCK, 2, World w, Setup f)
#else
KERNEL_RESIDENT(debye_forces_sums, BLOCK, RESIDENT, World w, Setup f)
#endif
{
    DYNAMIC_SHARED(Spot, shared);
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks || now.split != (VIRIAL ? SUMS | SCALES : SUMS)) return;
    forces_and_sum(w, f, now, shared);
}
