// What sums over all particles lead to: thermostats that scale velocities, the removal of momentum, and barostats; for large
// and for small systems. As integrate/bath.rs and integrate/pressure.rs, where the formulas are explained.
//
// Defines: GROUPS_OF, the number of groups of particles (one for every such thermostat, and one for the rest); MOVING (1: a
// barostat changes the cell), and those of frame.cuh.
#pragma once
#include "frame.cuh"
#include "random.cuh"

// Numbers through which the blocks of a kernel talk.
__device__ __forceinline__ void publish(f64* to, f64 x)
{
    store_relaxed(reinterpret_cast<u64*>(to), u64(__double_as_longlong(x)));
}
__device__ __forceinline__ f64 published(const f64* from)
{
    return __longlong_as_double(i64(load_relaxed(reinterpret_cast<const u64*>(from))));
}

__device__ __forceinline__ f64 bath_mass(const ScalingThermostat& b, u32 k)
{
    return (k == 0 ? b.freedom : 1.0) * b.kt * b.time * b.time;
}

__device__ inline f64 half_chain(ScalingThermostat& b, f64 kinetic, f64 dt)
{
    const f64 quarter = 0.25 * dt, eighth = 0.125 * dt;
    f64 twice = 2.0 * kinetic;
    auto push = [&](u32 k) {
        const f64 pull = k == 0 ? twice - b.freedom * b.kt
                                : bath_mass(b, k - 1) * b.links[k - 1][1] * b.links[k - 1][1] - b.kt;
        const f64 friction = k + 1 < b.chain ? exp(-b.links[k + 1][1] * eighth) : 1.0;
        f64& v = b.links[k][1];
        v *= friction;
        v += pull / bath_mass(b, k) * quarter;
        v *= friction;
    };
    for (u32 k = b.chain; k > 0; --k) push(k - 1);
    const f64 factor = exp(-b.links[0][1] * 0.5 * dt);
    twice *= factor * factor;
    for (u32 k = 0; k < b.chain; ++k) b.links[k][0] += b.links[k][1] * 0.5 * dt;
    for (u32 k = 0; k < b.chain; ++k) push(k);
    return factor;
}

__device__ inline f64 rescale(ScalingThermostat& b, f64 kinetic, f64 dt, u64 step, u64 seed)
{
    if (!(kinetic > 0.0) || !(b.freedom > 0.0)) return 1.0;
    f64 factor2 = 1.0;
    if (b.kind == BERENDSEN) {
        factor2 = fmax(0.0, 1.0 + dt / b.time * (0.5 * b.freedom * b.kt / kinetic - 1.0));
    } else {
        const f64 g = fmax(1.0, round(b.freedom)), c = exp(-dt / b.time), ratio = (1.0 - c) * 0.5 * b.kt / kinetic;
        f64 normals[3];
        debye_normals(seed, step, b.number, STREAM_BUSSI, normals);
        const u32 own_stream = STREAM_BUSSI + (b.number + 1) * STREAM_BATHS;
        const f64 r = normals[0], rest = 2.0 * debye_gamma(0.5 * (g - 1.0), seed, step, own_stream);
        factor2 = fmax(0.0, c + ratio * (r * r + rest) + 2.0 * r * sqrt(c * ratio));
    }
    b.given += kinetic * (factor2 - 1.0);
    return sqrt(factor2);
}

// What ends a step and begins the next one, from Σ m v² and Σ m v of every group. One thread.
__device__ inline void change_velocities(const Ensemble& r, ScalingThermostat* baths, VelocityScaling* groups, f64 dt,
                                         u64 seed, u64 step, bool removes,
                                         const f64* sums)
{
    f64 factor[GROUPS_OF], common[3] = {0.0, 0.0, 0.0};
    auto kinetic = [&](u32 g) { return 0.5 * sums[4 * g]; };
    auto thermostat = [&](u32 g, f64 energy) {
        ScalingThermostat& b = baths[g];
        return b.kind == NOSE_HOOVER ? half_chain(b, energy, dt) : rescale(b, energy, dt, step, seed);
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
        if (g < r.thermostats && (r.leapfrog || baths[g].kind == NOSE_HOOVER)) {
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
    const f64 ax = frame.cell[0], by = frame.cell[1], cz = frame.cell[2], bx = frame.cell[3], cx = frame.cell[4],
              cy = frame.cell[5];
    const f64 whole_frame = 18446744073709551616.0;
    const f64 inverse[6] = {1.0 / ax, 1.0 / by, 1.0 / cz, -bx / (ax * by), (bx * cy - cx * by) / (ax * by * cz), -cy / (by * cz)};
    for (u32 k = 0; k < 6; ++k) {
        frame.per_length[k] = inverse[k] * whole_frame;
        frame.unit[k] = f32(frame.cell[k] / 4294967296.0);
    }
    frame.height[0] = f32(1.0 / sqrt(inverse[0] * inverse[0] + inverse[3] * inverse[3] + inverse[4] * inverse[4]));
    frame.height[1] = f32(1.0 / sqrt(inverse[1] * inverse[1] + inverse[5] * inverse[5]));
    frame.height[2] = f32(cz);
}

// What a barostat did.
struct Stretch {
    bool sound; // the cell is a cell
    bool held;  // it was held back
    bool moved; // the lists are no longer good
};

// Changes the cell between drift and forces, after `dt`: from the virial of the step's beginning, Σ m v² of its middle, and
// the square of the longest way since the list. One thread.
__device__ inline Stretch change_cell(Frame& frame, const Ensemble& r, f64 dt, u64 seed, u64 step, const f64* virial,
                                      const f64* kinetic, f32 farthest2, f64 radius, f64 cutoff)
{
    const f64 volume = frame.cell[0] * frame.cell[1] * frame.cell[2];
    f64 pressure[3], noise[3], factors[3];
    for (u32 k = 0; k < 3; ++k) pressure[k] = (kinetic[k] + virial[k]) / volume + r.tail / (volume * volume);
    debye_normals(seed, step, 0, STREAM_BAROSTAT, noise);
    const u32 group_of[3] = {0, r.coupling == ANISOTROPIC ? 1u : 0u, r.coupling};
    bool held = false, sound = true;
    for (u32 g = 0; g <= r.coupling; ++g) {
        f64 n = 0.0, wanted = 0.0, there = 0.0, soft = 0.0;
        for (u32 k = 0; k < 3; ++k) {
            if (group_of[k] != g) continue;
            n += 1.0;
            wanted += r.pressure[k];
            there += pressure[k];
            soft += r.compressibility[k];
        }
        const f64 excess = (wanted - there) / n, rate = soft / n * dt / (3.0 * r.time);
        f64 factor = 1.0 - rate * excess;
        if (r.rescales) {
            const f64 spread = sqrt(2.0 * n * r.boltzmann * r.temperature * rate / volume);
            factor = exp((-n * rate * excess + spread * noise[g]) / n);
        }
        sound = sound && factor == factor;
        const f64 gentle = fmin(fmax(factor, 0.9), 1.1);
        held = held || gentle != factor;
        for (u32 k = 0; k < 3; ++k) {
            if (group_of[k] == g) factors[k] = gentle;
        }
    }
    if (!sound) return {false, held, false};
    const u32 along[6] = {0, 1, 2, 0, 0, 1};
    for (u32 k = 0; k < 6; ++k) frame.cell[k] *= factors[along[k]];
    derive(frame);
    f64 shrunk = 1e300, stretched = 0.0, most = 0.0;
    for (u32 k = 0; k < 3; ++k) {
        frame.scale[k] *= factors[k];
        frame.pending[k] = r.rescales ? 1.0 / factors[k] : 1.0;
        shrunk = fmin(shrunk, frame.scale[k]);
        stretched = fmax(stretched, frame.scale[k]);
        most = fmax(most, factors[k]);
    }
    const f64 half = fmax(0.0, 0.5 * (radius * shrunk - cutoff));
    frame.limit2 = f32(half * half * 0.9999);
    const f64 farthest = sqrt(f64(farthest2)) * most;
    return {true, held, farthest * farthest > frame.limit2 || shrunk < 0.95 || stretched > 1.05};
}
#endif
