// A step: forces on every particle from its block's stage and its own list, then its motion. Each thread owns a
// particle, so there are no atomics and one order of every sum.
//
// Mostly this is one kernel. A step that needs sums over all particles (thermostats that scale velocities, the removal of
// momentum, barostats) is two: forces and sums, then motion; the last block of each does what follows from the sums.
//
// Defines: STAGE, ROWS and WRAP as in rebuild.cu; LANGEVIN, BONDED, SPLIT (0 or 1: whether steps may need sums);
// RESIDENT, the blocks that should fit on a multiprocessor.
#include "pull.cuh"

KERNEL_RESIDENT(debye_step, BLOCK, RESIDENT, World w, Setup f)
{
    DYNAMIC_SHARED(Spot, shared);
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks || (SPLIT && now.split)) return;
    follow(w, f);
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x;
    Pull p;
    pull<false>(p, shared, w, f, now.parity, now.side);
    if (p.own.w != NOBODY) {
        const Kind kind = w.kinds[p.own.w];
        speed v[3];
        read_velocity(v, w, f, now.side, slot);
        kick(v, p.force, f.dt, kind);
        const f32 way2 = move(w, f, now, slot, p.own, kind, v);
        if (way2 > f.frame.limit2) atomicExch(&w.control->moved, 1u);
    } else {
        half_of(w.pos, now.parity ^ 1, f.slots)[slot] = p.own;
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && is_last_block(w.control, now.blocks)) {
#if MOVING
        for (u32 k = 0; k < 3; ++k) publish(w.frame->pending + k, 1.0);
#endif
        next_step(w, f, now);
    }
}

#if SPLIT
// Numbers of a block for the sums of `debye_pull`: for every group Σ m v² and Σ m v, then the virial.
constexpr u32 PULL_WIDTH = 4 * GROUPS_OF + 3;

// Forces, and the sums that decide what happens to the velocities.
KERNEL_RESIDENT(debye_pull, BLOCK, 2, World w, Setup f)
{
    DYNAMIC_SHARED(Spot, shared);
    SHARED(f64, warps, BLOCK_WARPS);
    SHARED(u32, last, 1);
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks || !now.split) return;
    follow(w, f);
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x, slots = f.slots;
    const bool scales = f.scale_every != 0 && now.step % f.scale_every == 0;
    Pull p;
    if (MOVING && scales) pull<true>(p, shared, w, f, now.parity, now.side);
    else pull<false>(p, shared, w, f, now.parity, now.side);
    f64 v[3] = {0.0, 0.0, 0.0}, mass = 0.0;
    u32 group = 0;
    if (p.own.w != NOBODY) {
        const Kind kind = w.kinds[p.own.w];
        speed kept[3];
        read_velocity(kept, w, f, now.side, slot);
        kick(kept, p.force, w.rules->leapfrog ? f.dt : 0.5 * f.dt, kind);
        mass = kind.mass;
        group = kind.group;
        for (u32 axis = 0; axis < 3; ++axis) {
            v[axis] = kept[axis];
            w.forces[axis * slots + slot] = p.force[axis];
        }
    }
    f64* to = w.partial + u64(blockIdx.x) * PULL_WIDTH;
    auto write = [&](u32 k, f64 x) {
        const f64 sum = block_sum(x, warps);
        if (threadIdx.x == 0) publish(to + k, sum);
    };
    for (u32 g = 0; g < GROUPS_OF; ++g) {
        const f64 m = group == g ? mass : 0.0;
        write(4 * g, m * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
        for (u32 k = 0; k < 3; ++k) write(4 * g + 1 + k, m * v[k]);
    }
    for (u32 k = 0; k < 3 && scales; ++k) {
        f64 virial = p.own.w != NOBODY ? -f64(p.sums.virial[k]) : 0.0;
#if BONDED && MOVING
        if (p.own.w != NOBODY) virial += w.bonded[u64(3 + k) * slots + slot];
#endif
        write(4 * GROUPS_OF + k, virial);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last[0] = is_last_block(w.control, now.blocks);
    __syncthreads();
    if (!last[0]) return;
    f64 sums[4 * GROUPS_OF], virial[3];
    add_blocks(sums, w.partial, PULL_WIDTH, now.blocks, warps);
    if (scales) add_blocks(virial, w.partial + 4 * GROUPS_OF, PULL_WIDTH, now.blocks, warps);
    if (threadIdx.x != 0) return;
    for (u32 k = 0; k < 3 && scales; ++k) w.control->virial[k] = virial[k];
    w.control->farthest = 0;
    change_velocities(w, f, now.step, sums);
}

// Motion after `debye_pull`, and what changes the cell.
KERNEL(debye_move, BLOCK, World w, Setup f)
{
    SHARED(f64, warps, BLOCK_WARPS);
    SHARED(u32, last, 1);
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks || !now.split) return;
    follow(w, f);
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x, slots = f.slots;
    const bool scales = f.scale_every != 0 && now.step % f.scale_every == 0;
    const uint4 own = half_of(w.pos, now.parity, slots)[slot];
    f64 kinetic[3] = {0.0, 0.0, 0.0};
    f32 way2 = 0.0f;
    if (own.w != NOBODY) {
        const Kind kind = w.kinds[own.w];
        const Group group = w.groups[kind.group];
        const f64 force[3] = {w.forces[slot], w.forces[u64(slots) + slot], w.forces[2 * u64(slots) + slot]};
        const f64 first = w.rules->leapfrog ? f.dt : 0.5 * f.dt;
        speed v[3];
        read_velocity(v, w, f, now.side, slot);
        kick(v, force, first, kind);
        for (u32 axis = 0; axis < 3; ++axis) v[axis] = speed(v[axis] * group.factor - group.shift[axis]);
        kick(v, force, f.dt - first, kind);
        way2 = move(w, f, now, slot, own, kind, v);
        for (u32 k = 0; k < 3; ++k) kinetic[k] = kind.mass * f64(v[k]) * f64(v[k]);
        if (way2 > f.frame.limit2) atomicExch(&w.control->moved, 1u);
    } else {
        half_of(w.pos, now.parity ^ 1, slots)[slot] = own;
    }
#if MOVING
    f64* to = w.partial + u64(blockIdx.x) * 3;
    if (scales) {
        atomicMax(&w.control->farthest, __float_as_uint(way2));
        for (u32 k = 0; k < 3; ++k) {
            const f64 sum = block_sum(kinetic[k], warps);
            if (threadIdx.x == 0) publish(to + k, sum);
        }
    }
#else
    (void)kinetic;
    (void)scales;
    (void)warps;
#endif
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last[0] = is_last_block(w.control, now.blocks);
    __syncthreads();
    if (!last[0]) return;
#if MOVING
    f64 sums[3];
    if (scales) add_blocks(sums, w.partial, 3, now.blocks, warps);
    if (threadIdx.x == 0) {
        for (u32 k = 0; k < 3; ++k) publish(w.frame->pending + k, 1.0);
        if (scales) change_cell(w, f, now.step, sums);
    }
#endif
    if (threadIdx.x == 0) next_step(w, f, now);
}
#endif

// Forces, and for every block: energies by term, virial, and for every group Σ m v⊗v (xx yy zz xy xz yz) and Σ m v. Moves
// nothing.
KERNEL_RESIDENT(debye_evaluate, BLOCK, 2, World w, Setup f)
{
    constexpr u32 WIDTH = TERMS + 6 + 9 * GROUPS_OF;
    DYNAMIC_SHARED(Spot, shared);
    SHARED(f64, warps, BLOCK_WARPS);
    const Control* c = w.control;
    const u32 b = blockIdx.x, slot = b * BLOCK + threadIdx.x, slots = f.slots;
    if (b >= c->blocks) return;
    follow(w, f);
    Pull p;
    pull<true>(p, shared, w, f, c->parity, c->side);
    const bool there = p.own.w != NOBODY;
    f64 v[3] = {0.0, 0.0, 0.0}, mass = 0.0;
    u32 group = 0;
    if (there) {
        const Kind kind = w.kinds[p.own.w];
        speed kept[3];
        read_velocity(kept, w, f, c->side, slot);
        mass = kind.mass;
        group = kind.group;
        for (u32 axis = 0; axis < 3; ++axis) {
            v[axis] = f64(kept[axis]) + 0.5 * f.dt * kind.inverse_mass * p.force[axis];
            w.forces[axis * slots + slot] = p.force[axis];
        }
    }
    f64* to = w.partial + u64(b) * WIDTH;
    auto write = [&](u32 k, f64 x) {
        const f64 sum = block_sum(there ? x : 0.0, warps);
        if (threadIdx.x == 0) to[k] = sum;
    };
    for (u32 t = 0; t < TERMS; ++t) write(t, 0.5 * f64(p.sums.energy[t]));
    for (u32 k = 0; k < 6; ++k) write(TERMS + k, -f64(p.sums.virial[k]));
    for (u32 g = 0; g < GROUPS_OF; ++g) {
        const f64 m = group == g ? mass : 0.0;
        const u32 first = TERMS + 6 + 9 * g;
        write(first, m * v[0] * v[0]);
        write(first + 1, m * v[1] * v[1]);
        write(first + 2, m * v[2] * v[2]);
        write(first + 3, m * v[0] * v[1]);
        write(first + 4, m * v[0] * v[2]);
        write(first + 5, m * v[1] * v[2]);
        for (u32 k = 0; k < 3; ++k) write(first + 6 + k, m * v[k]);
    }
}
