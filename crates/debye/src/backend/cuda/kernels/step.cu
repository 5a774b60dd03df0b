// A step: forces on every particle from its block's stage and its own list, then its motion, in one kernel. Each
// thread owns a particle, so there are no atomics and one order of every sum.
//
// The velocities kept are those before the second half kick of the last step: v(t) = v + ½ Δt F(t)/m. So the two half
// kicks that meet at a time are one, and a step needs the forces once.
//
// Defines: STAGE, ROWS and WRAP as in rebuild.cu, LANGEVIN (0 or 1).
#include "engine.cuh"
#include "visit.cuh"

// The race check does not know that the last block comes after all others.
#ifdef DEBYE_EMULATED
#define STEERING(p) load_relaxed(p)
#else
#define STEERING(p) (*(p))
#endif
#if LANGEVIN
#include "random.cuh"
#endif

// Moves one coordinate; counts the cells it has left behind.
__device__ __forceinline__ u64 moved_by(u64 at, f64 part, i32& image)
{
    const u64 now = at + u64(__double2ll_rn(part));
    if (part > 0.0 && now < at) ++image;
    if (part < 0.0 && now > at) --image;
    return now;
}

KERNEL_RESIDENT(debye_step, BLOCK, 4, World w, Setup f)
{
    DYNAMIC_SHARED(float4, shared);
    Control* c = w.control;
    const u32 b = blockIdx.x, slot = b * BLOCK + threadIdx.x;
    // Two words at a time, in the order of Control. The last block to finish writes them for the next step, when all
    // have read them: plain loads will do, and are kept in the first cache.
    const u64* words = reinterpret_cast<const u64*>(w.control);
    const u64 step = STEERING(words), halves = STEERING(words + 2), held = STEERING(words + 3),
              lost_and_blocks = STEERING(words + 4);
    const u32 blocks = u32(lost_and_blocks >> 32);
    if (held != 0 || u32(lost_and_blocks) != 0 || step >= STEERING(words + 1) || b >= blocks) return;
    const u32 parity = u32(halves), side = u32(halves >> 32), slots = f.slots;
    const f64 dt = f.dt;
    const Box box = w.boxes[b];
    const uint4* now_at = half_of(w.pos, parity, slots);
    uint4* next_at = half_of(w.pos, parity ^ 1, slots);
    const uint4 own = now_at[slot];
    const u32 rows = w.rows_of[slot];
    read_stage(shared, now_at, w.stages + u64(b) * STAGE, w.stage_counts[b], box, f);
    __syncthreads();
    Sums sums = {};
    const ushort4* list = reinterpret_cast<const ushort4*>(w.lists) + u64(b) * ROWS * BLOCK + threadIdx.x;
    visit<false>(sums, shared, w.stage_counts[b], list, rows, seen_from(box.middle, own, f), own.w, w.parameters, w.tables, f);

    if (own.w != NOBODY) {
        const Kind kind = w.kinds[own.w];
        const f32 pull[3] = {sums.fx, sums.fy, sums.fz};
        const u32 upper[3] = {own.x, own.y, own.z};
        f64* own_velocities = half_of(w.velocities, side, 3 * slots);
        u32* own_low = half_of(w.low, side, 3 * slots);
        const u32 id = half_of(w.ids, side, slots)[slot];
        f64 v[3];
        for (u32 axis = 0; axis < 3; ++axis) {
            v[axis] = own_velocities[axis * slots + slot] - 2.0 * dt * kind.inverse_mass * f64(pull[axis]);
        }
#if LANGEVIN
        f64 normals[3];
        debye_normals(f.seed, step, id, normals);
#endif
        u32 now[3];
        bool sound = true;
        for (u32 axis = 0; axis < 3; ++axis) {
            const u64 at = u64(upper[axis]) << 32 | own_low[axis * slots + slot];
            i32 image = 0;
#if LANGEVIN
            const f64 half = 0.5 * dt * f.per_length[axis];
            const u64 between = moved_by(at, half * v[axis], image);
            v[axis] = v[axis] * kind.keep + normals[axis] * kind.noise;
            const u64 there = moved_by(between, half * v[axis], image);
#else
            const u64 there = moved_by(at, dt * f.per_length[axis] * v[axis], image);
#endif
            // A quarter of the cell in one step is nowhere; neither is what is not a number.
            sound = sound && fabs(dt * f.per_length[axis] * v[axis]) < 4.6e18;
            own_velocities[axis * slots + slot] = v[axis];
            own_low[axis * slots + slot] = u32(there);
            if (image != 0) half_of(w.images, side, 3 * slots)[axis * slots + slot] += image;
            now[axis] = u32(there >> 32);
        }
        next_at[slot] = make_uint4(now[0], now[1], now[2], own.w);
        const uint4 then = w.reference[slot];
        const f32 x = apart(now[0], then.x, f.unit[0]), y = apart(now[1], then.y, f.unit[1]),
                  z = apart(now[2], then.z, f.unit[2]);
        if (x * x + y * y + z * z > f.limit2) atomicExch(&c->moved, 1u);
        if (!sound) atomicMax(&c->nowhere, 1 + id);
    } else {
        next_at[slot] = own;
    }

    // The last block to finish makes it the next step.
    __threadfence();
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (atomicAdd(&c->finished, 1u) + 1 == blocks) {
        __threadfence();
        atomicExch(&c->finished, 0u);
        u64* to = reinterpret_cast<u64*>(w.control);
        store_relaxed(to, step + 1);
        store_relaxed(to + 2, halves ^ 1);
        if (atomicExch(&c->moved, 0u)) store_relaxed(to + 3, 1);
        // Only now, so that every block has done this step and the positions before it are all in the other half.
        const u32 nowhere = atomicExch(&c->nowhere, 0u);
        if (nowhere != 0) store_relaxed(to + 4, u64(blocks) << 32 | nowhere);
    }
}

// Sum over a block in one order, to thread 0. `shared` has room for BLOCK_WARPS.
__device__ __forceinline__ f64 block_sum(f64 x, f64* shared)
{
    for (u32 step = WARP / 2; step > 0; step /= 2) x += __shfl_down_sync(ALL_LANES, x, step);
    __syncthreads();
    if (lane_of(threadIdx.x) == 0) shared[warp_of(threadIdx.x)] = x;
    __syncthreads();
    f64 sum = 0.0;
    if (threadIdx.x == 0) {
        for (u32 w = 0; w < BLOCK_WARPS; ++w) sum += shared[w];
    }
    return sum;
}

// Forces, and for every block: energies by term, virial and Σ m v⊗v (xx yy zz xy xz yz). Moves nothing.
KERNEL_RESIDENT(debye_evaluate, BLOCK, 2, World w, Setup f)
{
    DYNAMIC_SHARED(float4, shared);
    SHARED(f64, warps, BLOCK_WARPS);
    const Control* c = w.control;
    const u32 b = blockIdx.x, slot = b * BLOCK + threadIdx.x;
    if (b >= c->blocks) return;
    const Box box = w.boxes[b];
    const u32 slots = f.slots;
    const uint4* now_at = half_of(w.pos, c->parity, slots);
    const uint4 own = now_at[slot];
    const u32 rows = w.rows_of[slot];
    read_stage(shared, now_at, w.stages + u64(b) * STAGE, w.stage_counts[b], box, f);
    __syncthreads();
    Sums sums = {};
    const ushort4* list = reinterpret_cast<const ushort4*>(w.lists) + u64(b) * ROWS * BLOCK + threadIdx.x;
    visit<true>(sums, shared, w.stage_counts[b], list, rows, seen_from(box.middle, own, f), own.w, w.parameters, w.tables, f);
    const bool there = own.w != NOBODY;
    const f64 force[3] = {-2.0 * f64(sums.fx), -2.0 * f64(sums.fy), -2.0 * f64(sums.fz)};
    f64 v[3] = {0.0, 0.0, 0.0}, mass = 0.0;
    if (there) {
        const Kind kind = w.kinds[own.w];
        const f64* own_velocities = half_of(w.velocities, c->side, 3 * slots);
        mass = kind.mass;
        for (u32 axis = 0; axis < 3; ++axis) {
            v[axis] = own_velocities[axis * slots + slot] + 0.5 * f.dt * kind.inverse_mass * force[axis];
            w.forces[axis * slots + slot] = force[axis];
        }
    }
    f64* to = w.partial + u64(b) * (TERMS + 12);
    auto write = [&](u32 k, f64 x) {
        const f64 sum = block_sum(there ? x : 0.0, warps);
        if (threadIdx.x == 0) to[k] = sum;
    };
    for (u32 t = 0; t < TERMS; ++t) write(t, 0.5 * f64(sums.energy[t]));
    for (u32 k = 0; k < 6; ++k) write(TERMS + k, -f64(sums.virial[k]));
    write(TERMS + 6, mass * v[0] * v[0]);
    write(TERMS + 7, mass * v[1] * v[1]);
    write(TERMS + 8, mass * v[2] * v[2]);
    write(TERMS + 9, mass * v[0] * v[1]);
    write(TERMS + 10, mass * v[0] * v[2]);
    write(TERMS + 11, mass * v[1] * v[2]);
}
