// How a particle moves: kicks, drifts, Langevin's noise, and the words that make it the next step.
//
// The velocities kept are those before the second half kick of the last step: v(t) = v + ½ Δt F(t)/m. So the two half
// kicks that meet at a time are one, and a step needs the forces once. They are at the same time those of leapfrog.
//
// Defines: LANGEVIN; ALONE, whether there is nothing but rigid waters on a mesh; BONDED, whether there are forces of bonded
// terms or of a mesh besides those of pairs.
#pragma once
#include "engine.cuh"
#if LANGEVIN
#include "random.cuh"
#endif

// What a step reads before anything else. The last block to finish writes it for the next step, when all have read it:
// plain loads will do, and are kept in the first cache. Two words at a time.
struct Steering {
    u64 step;
    u32 parity, side, blocks;
    u32 split; // see Control
    bool idle;
    bool last; // of those that are to be done
};

// Two words of Control that stand side by side, from the first of them.
__device__ __forceinline__ const u64* both(const u32* first) { return reinterpret_cast<const u64*>(first); }
__device__ __forceinline__ u64* both(u32* first) { return reinterpret_cast<u64*>(first); }
#define SIDE_BY_SIDE(first, second)                                                                        \
    static_assert(OFFSET_OF(Control, first) % 8 == 0 &&                                                    \
                      OFFSET_OF(Control, second) == OFFSET_OF(Control, first) + 4,                         \
                  "read as one")
SIDE_BY_SIDE(parity, side);
SIDE_BY_SIDE(stale, overflow);
SIDE_BY_SIDE(failed, blocks);
SIDE_BY_SIDE(split, cell_invalid);

__device__ __forceinline__ Steering steering(const World& w)
{
    const Control* c = w.control;
    const u64 step = STEERING(&c->step), halves = STEERING(both(&c->parity)), waits = STEERING(both(&c->stale)),
              failed_and_blocks = STEERING(both(&c->failed)), split_and_invalid = STEERING(both(&c->split)),
              target = STEERING(&c->target);
    return {step,
            u32(halves),
            u32(halves >> 32),
            u32(failed_and_blocks >> 32),
            u32(split_and_invalid),
            waits != 0 || u32(failed_and_blocks) != 0 || split_and_invalid >> 32 != 0 || step >= target,
            step + 1 >= target};
}

// What a step needs besides forces and motion: the bits of Control::split.
__device__ __forceinline__ u32 needs_of(u64 step, const Setup& f)
{
    const bool removes = f.remove_every != 0 && step != 0 && step % f.remove_every == 0;
    const bool scales = f.scale_every != 0 && step % f.scale_every == 0;
    const bool rescales = f.rescale_every != 0 && step % f.rescale_every == 0;
    return (rescales || removes || scales ? SUMS : 0u) | (scales ? SCALES : 0u);
}

// Whether this is the last block of the kernel to arrive here: then it sees what all others wrote. One thread calls it,
// after all of the block are done.
__device__ __forceinline__ bool is_last_block(Control* c, u32 blocks)
{
    if (atomicAdd(&c->finished, 1u) + 1 != blocks) return false;
    __threadfence();
    atomicExch(&c->finished, 0u);
    return true;
}

// A whole coordinate of slot: the upper half is known.
__device__ __forceinline__ whole coordinate(u32 upper, const u32* low, u64 at)
{
#if PRECISION == 0
    (void)low;
    (void)at;
    return upper;
#else
    return whole(upper) << 32 | low[at];
#endif
}

// Where a particle is, with all digits.
__device__ __forceinline__ void read_place(whole (&at)[3], const World& w, const Setup& f, const Steering& now, u32 slot, uint4 own)
{
    const u32* low = half_of(w.low, low_half(now.parity, now.side), 3 * f.slots);
    at[0] = coordinate(own.x, low, slot);
    at[1] = coordinate(own.y, low, u64(f.slots) + slot);
    at[2] = coordinate(own.z, low, 2 * u64(f.slots) + slot);
}

// The velocity that is kept, as it is now.
__device__ __forceinline__ void read_velocity(speed (&v)[3], const World& w, const Setup& f, u32 side, u32 slot)
{
    const speed* velocities = half_of(w.velocities, side, 3 * f.slots);
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
        v[axis] = velocities[axis * f.slots + slot];
#if MOVING
        v[axis] = speed(v[axis] * f.frame.pending[axis]);
#endif
    }
}

__device__ __forceinline__ void write_velocity(const World& w, const Setup& f, u32 side, u32 slot, const speed (&v)[3])
{
    speed* velocities = half_of(w.velocities, side, 3 * f.slots);
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) velocities[axis * f.slots + slot] = v[axis];
}

// Adds what bonded terms and the mesh do to a particle.
__device__ __forceinline__ void add_rest(f64 (&force)[3], u32 kind, u32 slot, const World& w, const Setup& f)
{
#if BONDED
    if (kind == EMPTY_SLOT) return;
    for (u32 axis = 0; axis < 3; ++axis) force[axis] += w.bonded[u64(axis) * f.slots + slot];
#if MESHED
    // Less the mean of the mesh's forces, which are not quite opposite in pairs.
    const f64 share = mesh_share(w.mesh, kind);
    for (u32 axis = 0; axis < 3; ++axis) force[axis] -= f64(w.mesh->sums[axis]) * share;
#endif
#else
    (void)force;
    (void)kind;
    (void)slot;
    (void)w;
    (void)f;
#endif
}

// The square of a particle's way since the list. Bodies turn, which the radius of the lists allows for: of all but their
// anchors it is the way beyond their arm.
__device__ __forceinline__ f32 displacement_since_list(const World& w, const Setup& f, u32 slot, u32 x, u32 y, u32 z)
{
    const uint4 then = w.reference[slot];
    const Place way = length_of(i32(x - then.x), i32(y - then.y), i32(z - then.z), f);
    const f32 displacement2 = way.x * way.x + way.y * way.y + way.z * way.z;
#if SITES > 1
    const f32 beyond_arm = fmaxf(0.0f, sqrtf(displacement2) - f.arm);
    return slot % LANES == 0 ? displacement2 : beyond_arm * beyond_arm;
#else
    return displacement2;
#endif
}

// Writes a particle's new place and velocity; gives the square of its way since the list.
__device__ __forceinline__ f32 write_place(const World& w, const Setup& f, const Steering& now, u32 slot, u32 kind,
                                           const whole (&at)[3], const speed (&v)[3], const i32 (&image)[3])
{
    const u32 slots = f.slots;
    speed* velocities = half_of(w.velocities, now.side, 3 * slots);
    u32* low = half_of(w.low, low_half(now.parity ^ 1, now.side), 3 * slots);
    u32 upper[3];
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
        velocities[axis * slots + slot] = v[axis];
#if PRECISION == 0
        upper[axis] = at[axis];
        (void)low;
#else
        upper[axis] = u32(at[axis] >> 32);
        low[axis * slots + slot] = u32(at[axis]);
#endif
        if (image[axis] != 0) half_of(w.images, now.side, 3 * slots)[axis * slots + slot] += image[axis];
    }
    half_of(w.pos, now.parity ^ 1, slots)[slot] = make_uint4(upper[0], upper[1], upper[2], kind);
    return displacement_since_list(w, f, slot, upper[0], upper[1], upper[2]);
}

// Noise for the middle of a step; nothing without Langevin dynamics. Taken before all else, when few numbers are kept.
struct Noise {
    u32 id;
#if LANGEVIN
    f64 normals[3];
#endif
};

__device__ __forceinline__ Noise noise_of(const World& w, const Setup& f, const Steering& now, u32 slot)
{
    Noise noise;
    noise.id = half_of(w.ids, now.side, f.slots)[slot];
#if LANGEVIN
    debye_normals(f.seed, now.step, noise.id, noise.normals);
    LATER();
#endif
    return noise;
}

// Where there is nothing but rigid waters, one thread moves each and would draw nine numbers. The kernel of pairs has a thread
// to a particle and more at hand: it draws them, and leaves them in the half of the velocities that nobody needs until the
// next list.
#define DRAWN_BEFORE (LANGEVIN && ALONE && PRECISION != 0)
#if DRAWN_BEFORE
__device__ __forceinline__ speed* drawn(const World& w, const Setup& f, const Steering& now)
{
    return half_of(w.velocities, now.side ^ 1, 3 * f.slots);
}
__device__ __forceinline__ void draw(const World& w, const Setup& f, const Steering& now, u32 slot)
{
    f64 normals[3];
    debye_normals(f.seed, now.step, half_of(w.ids, now.side, f.slots)[slot], normals);
    speed* to = drawn(w, f, now);
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) to[axis * f.slots + slot] = normals[axis];
}
#endif

// Takes a particle through a step, with noise in the middle for Langevin dynamics; gives the square of its way since the
// list.
__device__ __forceinline__ f32 move(const World& w, Setup& f, const Steering& now, u32 slot, uint4 own, const Kind& kind,
                                    const Noise& noise, speed (&v)[3])
{
    whole at[3];
    read_place(at, w, f, now, slot, own);
    i32 image[3] = {0, 0, 0};
#if LANGEVIN
    bool sound = drift(at, v, 0.5 * f.dt, image, f.frame);
    reload_frame(w, f);
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) v[axis] = speed(v[axis] * kind.keep + noise.normals[axis] * kind.noise);
    sound = drift(at, v, 0.5 * f.dt, image, f.frame) && sound;
#else
    (void)kind;
    const bool sound = drift(at, v, f.dt, image, f.frame);
#endif
    if (!sound) atomicMax(&w.control->failed_now, 1 + noise.id);
    reload_frame(w, f);
    return write_place(w, f, now, slot, own.w, at, v, image);
}

// The next step; one thread of the last block.
__device__ __forceinline__ void next_step(const World& w, const Setup& f, const Steering& now)
{
    Control* c = w.control;
    store_relaxed(&c->step, now.step + 1);
    store_relaxed(both(&c->parity), u64(now.side) << 32 | (now.parity ^ 1));
    const bool stale = atomicExch(&c->moved, 0u) != 0;
    if (stale) store_relaxed(both(&c->stale), 1);
    // Only now, so that every block has done this step and the positions before it are all in the other half.
    const u32 failed_now = atomicExch(&c->failed_now, 0u);
    if (failed_now != 0) store_relaxed(both(&c->failed), u64(now.blocks) << 32 | failed_now);
    const u32 split = needs_of(now.step + 1, f);
    if (f.rescale_every != 0 || f.remove_every != 0 || f.scale_every != 0) {
        store_relaxed(both(&c->split), u64(c->cell_invalid) << 32 | split);
    }
#if MESHED
    write_rests(c, split, stale || now.last);
#endif
}
