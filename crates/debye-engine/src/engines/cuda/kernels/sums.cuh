// Sums over all particles of a large system, and what the last block does with them.
#pragma once
#include "ensemble.cuh"
#include "motion.cuh"

// Adds what all blocks published, N numbers each, in one order, into shared memory. A warp takes a number, so that its loads
// are under way together. All threads of the last block call it.
template <u32 N, u32 WARPS = BLOCK_WARPS>
__device__ __forceinline__ void add_blocks(f64* shared, const f64* partial, u32 blocks)
{
    __syncthreads();
    for (u32 k = warp_of(threadIdx.x); k < N; k += WARPS) {
        f64 x = 0.0;
#pragma unroll 8
        for (u32 b = lane_of(threadIdx.x); b < blocks; b += WARP) x += published(partial + u64(b) * N + k);
        for (u32 step = WARP / 2; step > 0; step /= 2) x += __shfl_down_sync(ALL_LANES, x, step);
        if (lane_of(threadIdx.x) == 0) shared[k] = x;
    }
    __syncthreads();
}

// What ends a step and begins the next one, from Σ m v² and Σ m v of every group. One thread.
//
// Called, not put in place, and given numbers instead of structures: what one thread does once must take no registers and no
// stack from all others.
CALLED void change_velocities(const Ensemble* ensemble, ScalingThermostat* thermostats, VelocityScaling* groups, f64 dt,
                              u64 seed, u32 remove_every, u64 step, const f64* sums)
{
    const bool removes = remove_every != 0 && step != ensemble->first && step % remove_every == 0;
    change_velocities(*ensemble, thermostats, groups, dt, seed, step, removes, sums);
}

#if MOVING
// Changes the cell between drift and forces: virial of the step's beginning, Σ m v² of its middle. One thread.
CALLED void change_cell(Frame* to, const Ensemble* ensemble, Control* c, f64 dt, u64 seed, f64 radius, f64 cutoff,
                        u64 step, const f64* kinetic)
{
    Frame frame;
    u64* words = reinterpret_cast<u64*>(&frame);
    for (u32 k = 0; k < sizeof(Frame) / 8; ++k) words[k] = load_relaxed(reinterpret_cast<const u64*>(to) + k);
    const f64 before[3] = {frame.cell[0], frame.cell[1], frame.cell[2]};
    const f32 farthest2 = __uint_as_float(atomicMax(&c->farthest, 0u));
    const Stretch found = change_cell(frame, *ensemble, dt, seed, step, c->virial, kinetic, farthest2, radius, cutoff);
    if (!found.sound) {
        c->cell_invalid = 1;
        return;
    }
    if (found.limited) c->limited += 1;
    if (found.moved) atomicExch(&c->moved, 1u);
    // For those that must not change with it.
    for (u32 k = 0; k < 3; ++k) c->factors[k] = frame.cell[k] / before[k];
    c->stretched = CONSTRAINED;
    for (u32 k = 0; k < sizeof(Frame) / 8; ++k) store_relaxed(reinterpret_cast<u64*>(to) + k, words[k]);
}
#endif
