// FIRE (Bitzek et al. 2006) as in engines/cpu/minimize.rs: velocities here are those of the descent, not of the particles.
//
// Defines: as step.cu.
#include "pair_forces.cuh"

// Power and squares of velocities and forces; where particles turn, squares of angular momenta and torques too.
constexpr u32 DESCENT_SUMS = TURNING ? 5 : 3;

#if TURNING
// Descents turn all particles about all axes with the largest of their moments.
__device__ __forceinline__ f64 largest_moment(const Kind& kind)
{
    return fmax(kind.inertia[0], fmax(kind.inertia[1], kind.inertia[2]));
}
#endif

// Forces, their power, and what that does to the descent.
KERNEL_RESIDENT(debye_descent_forces, BLOCK, 2, World w, Setup f)
{
    DYNAMIC_SHARED(Spot, shared);
    SHARED(f64, warps, DESCENT_SUMS * BLOCK_WARPS);
    SHARED(u32, last, 1);
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks) return;
    load_frame(w, f);
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x, slots = f.slots;
    PairForces p;
    all_forces<false>(p, shared, w, f, now.parity, now.side);
    f64 products[DESCENT_SUMS] = {}, largest = 0.0;
    if (p.own.w != EMPTY_SLOT) {
        const speed* velocities = half_of(w.velocities, now.side, 3 * slots);
        for (u32 axis = 0; axis < 3; ++axis) {
            const f64 force = p.force[axis], v = velocities[axis * slots + slot];
            w.forces[axis * slots + slot] = force;
            products[0] += force * v;
            products[1] += v * v;
            products[2] += force * force;
            largest = fmax(largest, fabs(force));
        }
#if TURNING
        const Kind& kind = w.kinds[p.own.w];
        if (kind.turns != 0) {
            const Rotation r = read_rotation(w, f, now.side, slot);
            const f64 moment = largest_moment(kind);
            for (u32 axis = 0; axis < 3; ++axis) {
                w.torques[u64(axis) * slots + slot] = p.torque[axis];
                products[0] += p.torque[axis] * r.l[axis] / moment;
                products[3] += r.l[axis] * r.l[axis];
                products[4] += p.torque[axis] * p.torque[axis];
            }
            // Torques as the forces they are at the radius of gyration.
            largest = fmax(largest, sqrt(products[4] * kind.mass / moment));
        }
#endif
        if (!(products[2] < 1e300) || !(products[DESCENT_SUMS - 1] < 1e300)) atomicMax(&w.control->failed_now, 1 + half_of(w.ids, now.side, slots)[slot]);
    }
    atomicMax(&w.fire->largest, u64(__double_as_longlong(largest)));
    publish_sums<BLOCK_WARPS>(w.partial + u64(blockIdx.x) * DESCENT_SUMS, products, warps);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last[0] = is_last_block(w.control, now.blocks);
    __syncthreads();
    if (!last[0]) return;
    add_blocks<DESCENT_SUMS>(warps, w.partial, now.blocks);
    if (threadIdx.x != 0) return;
    const f64 sums[3] = {warps[0], warps[1], warps[2]};
    Fire& fire = *w.fire;
    if (__longlong_as_double(i64(atomicMax(&fire.largest, u64(0)))) <= fire.tolerance) {
        store_relaxed(&w.control->target, now.step);
        return;
    }
    if (sums[0] > 0.0) {
        fire.mix = sums[2] > 0.0 ? fire.alpha * sqrt(sums[1] / sums[2]) : 0.0;
#if TURNING
        fire.turning_mix = warps[4] > 0.0 ? fire.alpha * sqrt(warps[3] / warps[4]) : 0.0;
#endif
        fire.keep = 1.0 - fire.alpha;
        fire.positive_steps += 1;
        if (fire.positive_steps > 5) {
            fire.dt = fmin(fire.dt * 1.1, 10.0 * fire.first);
            fire.alpha *= 0.99;
        }
    } else {
        fire.positive_steps = 0;
        fire.alpha = 0.1;
        fire.dt *= 0.5;
        fire.keep = 0.0;
        fire.mix = 0.0;
        fire.turning_mix = 0.0;
    }
}

KERNEL(debye_descent_move, BLOCK, World w, Setup f)
{
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks) return;
    load_frame(w, f);
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x, slots = f.slots;
    const uint4 own = half_of(w.pos, now.parity, slots)[slot];
    if (own.w != EMPTY_SLOT) {
        const Fire& fire = *w.fire;
#if TURNING
        const Kind& kind = w.kinds[own.w];
        if (kind.turns != 0) {
            Rotation r = read_rotation(w, f, now.side, slot);
            f64(&q)[4] = r.q, (&l)[3] = r.l;
            for (u32 k = 0; k < 3; ++k) l[k] = l[k] * fire.keep + w.torques[u64(k) * slots + slot] * (fire.turning_mix + fire.dt);
            const f64 moment = largest_moment(kind);
            turn_to_minimum(q[0], q[1], q[2], q[3], l[0] / moment, l[1] / moment, l[2] / moment, fire.dt, q[0], q[1], q[2], q[3]);
            write_rotation(w, f, now, slot, kind, r);
        } else {
            keep_facing(w, f, now, slot);
        }
#endif
        const speed* velocities = half_of(w.velocities, now.side, 3 * slots);
        speed v[3], way[3];
        f64 far2 = 0.0;
        for (u32 axis = 0; axis < 3; ++axis) {
            const f64 force = w.forces[axis * slots + slot], old = velocities[axis * slots + slot];
            const f64 now_v = old * fire.keep + force * fire.mix + force * (fire.dt * w.kinds[own.w].inverse_mass);
            v[axis] = speed(now_v);
            way[axis] = speed(now_v * fire.dt);
            far2 += now_v * fire.dt * now_v * fire.dt;
        }
        const f64 shorter = far2 > fire.longest * fire.longest ? fire.longest / sqrt(far2) : 1.0;
        whole at[3];
        i32 image[3] = {0, 0, 0};
        read_place(at, w, f, now, slot, own);
        drift(at, way, shorter, image, f.frame);
        if (write_place(w, f, now, slot, own.w, at, v, image) > f.frame.limit2) atomicExch(&w.control->moved, 1u);
    } else {
        half_of(w.pos, now.parity ^ 1, slots)[slot] = own;
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && is_last_block(w.control, now.blocks)) {
        atomicExch(&w.fire->largest, u64(0));
        next_step(w, f, now);
    }
}
