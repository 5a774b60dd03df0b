// A step: forces on every particle from its block's stage and its own list, then its motion, in one kernel. Each
// thread owns a particle, so there are no atomics and one order of every sum.
//
// The velocities kept are those before the second half kick of the last step: v(t) = v + ½ Δt F(t)/m. So the two half
// kicks that meet at a time are one, and a step needs the forces once.
//
// Includes pair_terms.cuh, which is printed for the simulation: TERMS, the number of pair terms, and
// debye_pair(r2, own, other, rows, tables, energies, slope). Defines: STAGE, ROWS and WRAP as in rebuild.cu,
// LANGEVIN (0 or 1).
#include "engine.cuh"
#include "pair_terms.cuh"

// The race check does not know that the last block comes after all others.
#ifdef DEBYE_EMULATED
#define STEERING(p) load_relaxed(p)
#else
#define STEERING(p) (*(p))
#endif
#if LANGEVIN
#include "random.cuh"
#endif

// What belongs to a kind of particle: inverse mass, and for Langevin dynamics what is kept and what is added.
struct Kind {
    f64 inverse_mass;
    f64 keep;
    f64 noise;
    f64 mass;
};

// Reads the places of a stage into shared memory; one more is out of everyone's reach.
__device__ __forceinline__ void read_stage(float4* shared, const uint4* pos, const u32* stage, u32 count,
                                           const Box& box, const Setup& f)
{
    constexpr u32 AT_ONCE = 4;
    for (u32 k = threadIdx.x; k < count; k += BLOCK * AT_ONCE) {
        u32 slot[AT_ONCE];
        uint4 p[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * BLOCK < count) slot[j] = stage[k + j * BLOCK];
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * BLOCK < count) p[j] = pos[slot[j]];
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * BLOCK >= count) continue;
            const Place d = seen_from(box.middle, p[j], f);
            shared[k + j * BLOCK] = make_float4(d.x, d.y, d.z, __uint_as_float(p[j].w));
        }
    }
    if (threadIdx.x == 0) shared[count] = make_float4(OUT_OF_REACH, OUT_OF_REACH, OUT_OF_REACH, __uint_as_float(0));
}

struct Sums {
    f32 fx, fy, fz;
    f32 energy[TERMS];
    f32 virial[6];
};

// Sums over the list of a particle. Forces still without their factor −2.
template <bool ENERGY>
__device__ __forceinline__ void visit(Sums& s, const float4* shared, u32 nobody, const ushort4* list, u32 rows, const Place& me,
                                      u32 own, const f32* parameters, const f32* tables, const Setup& f)
{
    auto meet = [&](u32 at) {
#if WRAP
        if (at == nobody) return;
#endif
        const float4 other = shared[at];
        const f32 dx = nearest(me.x - other.x, 0, f), dy = nearest(me.y - other.y, 1, f),
                  dz = nearest(me.z - other.z, 2, f);
        const f32 r2 = dx * dx + dy * dy + dz * dz;
        f32 energies[TERMS], slope;
        debye_pair(r2, own, __float_as_uint(other.w), parameters, tables, energies, slope);
        s.fx += slope * dx;
        s.fy += slope * dy;
        s.fz += slope * dz;
        if (ENERGY) {
#pragma unroll
            for (u32 t = 0; t < TERMS; ++t) s.energy[t] += energies[t];
            s.virial[0] += slope * dx * dx;
            s.virial[1] += slope * dy * dy;
            s.virial[2] += slope * dz * dz;
            s.virial[3] += slope * dx * dy;
            s.virial[4] += slope * dx * dz;
            s.virial[5] += slope * dy * dz;
        }
    };
    (void)nobody;
    if (rows == 0) return;
    ushort4 next = list[0];
#pragma unroll 2
    for (u32 k = 0; k < rows; ++k) {
        const ushort4 row = next;
        if (k + 1 < rows) next = list[u64(k + 1) * BLOCK];
        meet(row.x);
        meet(row.y);
        meet(row.z);
        meet(row.w);
    }
}

// Moves one coordinate; counts the cells it has left behind.
__device__ __forceinline__ u64 moved_by(u64 at, f64 part, i32& image)
{
    const u64 now = at + u64(__double2ll_rn(part));
    if (part > 0.0 && now < at) ++image;
    if (part < 0.0 && now > at) --image;
    return now;
}

KERNEL_RESIDENT(debye_step, BLOCK, 4, u32* control_words, u32* pos, u32* low, f64* velocities, const u32* ids, i32* images,
                const u32* reference, const u32* boxes, const u32* stage_counts, const u32* stages, const u16* lists,
                const u16* rows_of, const f32* parameters, const f32* tables, const f64* kinds, Setup f)
{
    DYNAMIC_SHARED(float4, shared);
    Control* c = reinterpret_cast<Control*>(control_words);
    const u32 b = blockIdx.x, slot = b * BLOCK + threadIdx.x;
    // Two words at a time, in the order of Control. The last block to finish writes them for the next step, when all
    // have read them: plain loads will do, and are kept in the first cache.
    const u64* words = reinterpret_cast<const u64*>(control_words);
    const u64 step = STEERING(words), halves = STEERING(words + 2), held = STEERING(words + 3),
              lost_and_blocks = STEERING(words + 4);
    const u32 blocks = u32(lost_and_blocks >> 32);
    if (held != 0 || u32(lost_and_blocks) != 0 || step >= STEERING(words + 1) || b >= blocks) return;
    const u32 parity = u32(halves), side = u32(halves >> 32), slots = f.slots;
    const f64 dt = f.dt;
    const Box box = reinterpret_cast<const Box*>(boxes)[b];
    const uint4* now_at = half_of(as_uint4(pos), parity, slots);
    uint4* next_at = half_of(as_uint4(pos), parity ^ 1, slots);
    const uint4 own = now_at[slot];
    const u32 rows = rows_of[slot];
    read_stage(shared, now_at, stages + u64(b) * STAGE, stage_counts[b], box, f);
    __syncthreads();
    Sums sums = {};
    const ushort4* list = reinterpret_cast<const ushort4*>(lists) + u64(b) * ROWS * BLOCK + threadIdx.x;
    visit<false>(sums, shared, stage_counts[b], list, rows, seen_from(box.middle, own, f), own.w, parameters, tables, f);

    if (own.w != NOBODY) {
        const Kind kind = reinterpret_cast<const Kind*>(kinds)[own.w];
        const f32 pull[3] = {sums.fx, sums.fy, sums.fz};
        const u32 upper[3] = {own.x, own.y, own.z};
        f64* own_velocities = half_of(velocities, side, 3 * slots);
        u32* own_low = half_of(low, side, 3 * slots);
        const u32 id = half_of(ids, side, slots)[slot];
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
            if (image != 0) half_of(images, side, 3 * slots)[axis * slots + slot] += image;
            now[axis] = u32(there >> 32);
        }
        next_at[slot] = make_uint4(now[0], now[1], now[2], own.w);
        const uint4 then = as_uint4(reference)[slot];
        const f32 x = apart(now[0], then.x, f.unit[0]), y = apart(now[1], then.y, f.unit[1]),
                  z = apart(now[2], then.z, f.unit[2]);
        if (x * x + y * y + z * z > f.limit2) atomicExch(&c->moved, 1u);
        if (!sound) atomicMax(&c->lost, 1 + id);
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
        u64* to = reinterpret_cast<u64*>(control_words);
        store_relaxed(to, step + 1);
        store_relaxed(to + 2, halves ^ 1);
        if (atomicExch(&c->moved, 0u)) store_relaxed(to + 3, 1);
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
KERNEL_RESIDENT(debye_evaluate, BLOCK, 2, const u32* control_words, const u32* pos, const f64* velocities,
                const u32* boxes, const u32* stage_counts, const u32* stages, const u16* lists, const u16* rows_of,
                const f32* parameters, const f32* tables, const f64* kinds, f64* forces, f64* partial, Setup f)
{
    DYNAMIC_SHARED(float4, shared);
    SHARED(f64, warps, BLOCK_WARPS);
    const Control* c = reinterpret_cast<const Control*>(control_words);
    const u32 b = blockIdx.x, slot = b * BLOCK + threadIdx.x;
    if (b >= c->blocks) return;
    const Box box = reinterpret_cast<const Box*>(boxes)[b];
    const u32 slots = f.slots;
    const uint4* now_at = half_of(as_uint4(pos), c->parity, slots);
    const uint4 own = now_at[slot];
    const u32 rows = rows_of[slot];
    read_stage(shared, now_at, stages + u64(b) * STAGE, stage_counts[b], box, f);
    __syncthreads();
    Sums sums = {};
    const ushort4* list = reinterpret_cast<const ushort4*>(lists) + u64(b) * ROWS * BLOCK + threadIdx.x;
    visit<true>(sums, shared, stage_counts[b], list, rows, seen_from(box.middle, own, f), own.w, parameters, tables, f);
    const bool there = own.w != NOBODY;
    const f64 force[3] = {-2.0 * f64(sums.fx), -2.0 * f64(sums.fy), -2.0 * f64(sums.fz)};
    f64 v[3] = {0.0, 0.0, 0.0}, mass = 0.0;
    if (there) {
        const Kind kind = reinterpret_cast<const Kind*>(kinds)[own.w];
        const f64* own_velocities = half_of(velocities, c->side, 3 * slots);
        mass = kind.mass;
        for (u32 axis = 0; axis < 3; ++axis) {
            v[axis] = own_velocities[axis * slots + slot] + 0.5 * f.dt * kind.inverse_mass * force[axis];
            forces[axis * slots + slot] = force[axis];
        }
    }
    f64* to = partial + u64(b) * (TERMS + 12);
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
