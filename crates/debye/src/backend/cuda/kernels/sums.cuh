// Sums over all particles of a large system, and what the last block does with them.
#pragma once
#include "baths.cuh"
#include "block_sum.cuh"
#include "motion.cuh"

// Adds what all blocks wrote, in one order, to thread 0 of the last block. All its threads call it.
template <u32 WIDTH> __device__ inline void add_blocks(f64 (&to)[WIDTH], const f64* partial, u32 width, u32 blocks, f64* shared)
{
    for (u32 k = 0; k < WIDTH; ++k) {
        f64 x = 0.0;
        for (u32 b = threadIdx.x; b < blocks; b += BLOCK) x += published(partial + u64(b) * width + k);
        to[k] = block_sum(x, shared);
    }
}

// What ends a step and begins the next one, from Σ m v² and Σ m v of every group. One thread.
__device__ inline void change_velocities(const World& w, const Setup& f, u64 step, const f64 (&sums)[4 * GROUPS_OF])
{
    const bool removes = f.remove_every != 0 && step != 0 && step % f.remove_every == 0;
    change_velocities(*w.rules, w.baths, w.groups, f.dt, f.seed, step, removes, sums);
}

#if MOVING
// Changes the cell between drift and forces. One thread.
__device__ inline void change_cell(const World& w, const Setup& f, u64 step, const f64 (&kinetic)[3])
{
    Control* c = w.control;
    Frame frame = f.frame;
    const f32 farthest2 = __uint_as_float(atomicMax(&c->farthest, 0u));
    const Stretch found = change_cell(frame, *w.rules, f.dt * f.scale_every, f.seed, step, c->virial, kinetic, farthest2,
                                      f64(f.radius), f.cutoff);
    if (!found.sound) {
        c->torn = 1;
        return;
    }
    if (found.held) c->held += 1;
    if (found.moved) atomicExch(&c->moved, 1u);
    const u64* words = reinterpret_cast<const u64*>(&frame);
    for (u32 k = 0; k < sizeof(Frame) / 8; ++k) store_relaxed(reinterpret_cast<u64*>(w.frame) + k, words[k]);
}
#endif
