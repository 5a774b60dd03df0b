// What sums over all particles lead to: thermostats that scale velocities, the removal of momentum, and barostats; for large
// and for small systems. The formulas are those of integrate/, printed as coupling.cuh; here are the loops around them.
//
// Defines: GROUPS_OF, the number of groups of particles (one for every such thermostat, and one for the rest); MOVING (1: a
// barostat changes the cell), and those of frame.cuh.
#pragma once
#include "frame.cuh"
#include "random.cuh"
#include "coupling.cuh"

// Numbers through which the blocks of a kernel talk.
__device__ __forceinline__ void publish(f64* to, f64 x)
{
    store_relaxed(reinterpret_cast<u64*>(to), u64(__double_as_longlong(x)));
}
__device__ __forceinline__ f64 published(const f64* from)
{
    return __longlong_as_double(i64(load_relaxed(reinterpret_cast<const u64*>(from))));
}

// Publishes sums over a block, in one order. `shared` has room for N × WARPS, of which a block has so many. All threads call it.
template <u32 WARPS, u32 N>
__device__ __forceinline__ void publish_sums(f64* to, f64 (&x)[N], f64* shared)
{
#pragma unroll
    for (u32 k = 0; k < N; ++k) {
        for (u32 step = WARP / 2; step > 0; step /= 2) x[k] += __shfl_down_sync(ALL_LANES, x[k], step);
        if (lane_of(threadIdx.x) == 0) shared[k * WARPS + warp_of(threadIdx.x)] = x[k];
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < N; k += WARPS * WARP) {
        f64 sum = 0.0;
        for (u32 w = 0; w < WARPS; ++w) sum += shared[k * WARPS + w];
        publish(to + k, sum);
    }
}

__device__ inline f64 half_chain(ScalingThermostat& b, f64 kinetic, f64 dt)
{
    f64 twice = 2.0 * kinetic, factor;
    auto freedom = [&](u32 k) { return k == 0 ? b.freedom : 1.0; };
    auto push = [&](u32 k) {
        f64 below = twice, friction = 1.0, &v = b.links[k][1];
        if (k > 0) chain_twice_kinetic(freedom(k - 1), b.kt, b.time, b.links[k - 1][1], below);
        if (k + 1 < b.chain) chain_decay(b.links[k + 1][1], 0.125 * dt, friction);
        chain_velocity(freedom(k), b.kt, b.time, v, below, friction, 0.25 * dt, v);
    };
    for (u32 k = b.chain; k > 0; --k) push(k - 1);
    chain_decay(b.links[0][1], 0.5 * dt, factor);
    twice *= factor * factor;
    for (u32 k = 0; k < b.chain; ++k) b.links[k][0] += b.links[k][1] * (0.5 * dt);
    for (u32 k = 0; k < b.chain; ++k) push(k);
    return factor;
}

__device__ inline f64 rescale(ScalingThermostat& b, f64 kinetic, f64 dt, u64 step, u64 seed)
{
    if (!(kinetic > 0.0) || !(b.freedom > 0.0)) return 1.0;
    f64 normals[3] = {}, squares = 0.0, factor = 1.0, gain = 0.0;
    if (thermostat_draws(b.kind)) {
        debye_normals(seed, step, b.number, STREAM_BUSSI, normals);
        const u32 own_stream = STREAM_BUSSI + (b.number + 1) * STREAM_THERMOSTATS;
        squares = 2.0 * debye_gamma(0.5 * (fmax(1.0, round(b.freedom)) - 1.0), seed, step, own_stream);
    }
    thermostat(b, kinetic, dt, normals[0], squares, factor, gain);
    b.given += gain;
    return factor;
}

// What ends a step and begins the next one, from Σ m v² and Σ m v of every group. One thread.
__device__ inline void change_velocities(const Ensemble& r, ScalingThermostat* thermostats, VelocityScaling* groups, f64 dt,
                                         u64 seed, u64 step, bool removes,
                                         const f64* sums)
{
    f64 factor[GROUPS_OF], common[3] = {0.0, 0.0, 0.0};
    auto kinetic = [&](u32 g) { return 0.5 * sums[4 * g]; };
    auto thermostat = [&](u32 g, f64 energy) {
        ScalingThermostat& b = thermostats[g];
        if (step % b.every != 0) return 1.0;
        return b.kind == NOSE_HOOVER ? half_chain(b, energy, dt) : rescale(b, energy, dt * b.every, step, seed);
    };
    for (u32 g = 0; g < GROUPS_OF; ++g) {
        // Leapfrog scales after the kick, which is later than the removal of momentum.
        factor[g] = g < r.thermostats && step != r.first && !r.leapfrog ? thermostat(g, kinetic(g)) : 1.0;
    }
    if (removes) {
        f64 mass = 0.0;
        for (u32 g = 0; g < GROUPS_OF; ++g) {
            mass += r.mass[g];
            for (u32 k = 0; k < 3; ++k) common[k] += factor[g] * sums[4 * g + 1 + k];
        }
        for (u32 k = 0; k < 3; ++k) common[k] /= mass;
    }
    for (u32 g = 0; g < GROUPS_OF; ++g) {
        f64 again = 1.0;
        if (g < r.thermostats && (r.leapfrog || thermostats[g].kind == NOSE_HOOVER)) {
            f64 energy = factor[g] * factor[g] * kinetic(g);
            for (u32 k = 0; k < 3; ++k) {
                energy += common[k] * (0.5 * r.mass[g] * common[k] - factor[g] * sums[4 * g + 1 + k]);
            }
            again = thermostat(g, energy);
        }
        groups[g].factor = factor[g] * again;
        for (u32 k = 0; k < 3; ++k) groups[g].shift[k] = again * common[k];
    }
}

#if MOVING
// Everything of a frame that follows from its cell.
__device__ inline void derive(Frame& frame)
{
    const f64(&c)[6] = frame.cell;
    f64(&p)[6] = frame.per_length, u[6], h[3];
    derived_frame(c[0], c[1], c[2], c[3], c[4], c[5], p[0], p[1], p[2], p[3], p[4], p[5], u[0], u[1], u[2], u[3],
                  u[4], u[5], h[0], h[1], h[2]);
    for (u32 k = 0; k < 6; ++k) frame.unit[k] = f32(u[k]);
    for (u32 k = 0; k < 3; ++k) frame.height[k] = f32(h[k]);
}

// What a barostat did.
struct Stretch {
    bool sound; // the cell is a cell
    bool limited; // no length changed by more than a tenth
    bool moved; // the lists are no longer good
};

// Changes the cell between drift and forces, after `dt`: from the virial of the step's beginning, Σ m v² of its middle, and
// the square of the longest way since the list. One thread.
__device__ inline Stretch change_cell(Frame& frame, const Ensemble& r, f64 dt, u64 seed, u64 step, const f64* virial,
                                      const f64* kinetic, f32 farthest2, f64 radius, f64 cutoff)
{
    const f64 height = frame.cell[2], volume = frame.cell[0] * frame.cell[1] * height;
    f64 noise[3], wanted[3], factors[3], velocity[3], limit2;
    debye_normals(seed, step, 0, STREAM_BAROSTAT, noise);
    barostat(r, kinetic, virial, noise, volume, height, dt, wanted, factors, velocity);
    bool limited = false, sound = true;
    for (u32 k = 0; k < 3; ++k) {
        sound = sound && wanted[k] == wanted[k];
        limited = limited || wanted[k] != factors[k];
    }
    if (!sound) return {false, limited, false};
    const u32 along[6] = {0, 1, 2, 0, 0, 1};
    for (u32 k = 0; k < 6; ++k) frame.cell[k] *= factors[along[k]];
    derive(frame);
    f64 shrunk = 1e300, stretched = 0.0, most = 0.0;
    for (u32 k = 0; k < 3; ++k) {
        frame.scale[k] *= factors[k];
        frame.pending[k] = velocity[k];
        shrunk = fmin(shrunk, frame.scale[k]);
        stretched = fmax(stretched, frame.scale[k]);
        most = fmax(most, factors[k]);
    }
    list_limit2(radius, cutoff, shrunk, limit2);
    frame.limit2 = f32(limit2);
    const f64 farthest = sqrt(f64(farthest2)) * most;
    return {true, limited, farthest * farthest > frame.limit2 || shrunk < 0.95 || stretched > 1.05};
}
#endif
