// The kernels of Shkurti et al. (2013): a thread for each bead, matrices with a column for each bead.
//
// Defines: NUMBERS, what is computed with; COMPLETE, whether there are types of beads and of interactions; STICKY, whether
// water sticks; MERGED, whether forces are followed by the second half of a step in the same kernel.
//
// A thread alone writes what belongs to its bead, in the order of its column, so results do not depend on scheduling.
// Every listed pair costs 4 bytes of the neighbor matrix and, when complete, 4 of the types, coalesced; and the place of
// the other bead, scattered: 3 numbers, 3 or 9 more for its axes within the cut-off.
#include "beads_shared.cuh"
#include "numbers.cuh"
#include "interactions.cuh"

#if COMPLETE
constexpr u32 WATER = 0;
#endif

// The nearest image of a difference within the cell.
__device__ __forceinline__ real nearest(real d, real side, real half)
{
    if (half < d) return d - side;
    if (d < -half) return d + side;
    return d;
}

__device__ __forceinline__ bool is_excluded(const u32* starts, const u32* partners, u32 i, u32 j)
{
    for (u32 k = starts[i]; k < starts[i + 1]; ++k) {
        if (partners[k] == j) return true;
    }
    return false;
}

// Neighbors and types of interactions of every bead, from rows of cells. `needed` becomes the longest column; columns
// that are too short are filled as far as they go, and the host tries again with longer ones.
KERNEL(debye_bead_neighbors, BEAD_THREADS, BeadWork work, const stored* places, const u32* species, const u32* types,
       const u32* cell_of, const u32* around, const u32* cells, const u32* cell_counts, const u32* excluded_starts,
       const u32* excluded, u32* counts, u32* neighbors, u32* interactions, u32* needed)
{
    const u32 i = blockIdx.x * BEAD_THREADS + threadIdx.x;
    if (i >= work.beads) return;
    const u32 n = work.beads;
    const real sides[3] = {real(work.sides[0]), real(work.sides[1]), real(work.sides[2])};
    const real halves[3] = {real(0.5 * work.sides[0]), real(0.5 * work.sides[1]), real(0.5 * work.sides[2])};
    const real reach2 = real(work.reach2);
    const real me[3] = {load(places[i]), load(places[n + i]), load(places[2 * n + i])};
    const u32 own = cell_of[i];
    u32 found = 0;
    for (u32 a = 0; a < AROUND; ++a) {
        const u32 cell = around[own * AROUND + a];
        if (cell == ~0u) break;
        for (u32 k = 0; k < cell_counts[cell]; ++k) {
            const u32 j = cells[cell * work.per_cell + k];
            real r2 = real(0.0);
            for (u32 x = 0; x < 3; ++x) {
                const real d = nearest(load(places[x * n + j]) - me[x], sides[x], halves[x]);
                r2 = r2 + d * d;
            }
            if (i != j && r2 < reach2 && !is_excluded(excluded_starts, excluded, i, j)) {
                if (found < work.rows) {
                    neighbors[u64(found) * n + i] = j;
#if COMPLETE
                    interactions[u64(found) * n + i] = types[species[i] * work.species + species[j]];
#endif
                }
                ++found;
            }
        }
    }
    counts[i] = smaller(found, work.rows);
    atomicMax(needed, found);
    (void)types;
    (void)interactions;
    (void)species;
}

#define ROW_OF(p)                                                                                                      \
    p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16],       \
        p[17], p[18], p[19], p[20], p[21], p[22], p[23], p[24], p[25], p[26]
#define ACT(function) \
    function(d[0], d[1], d[2], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], b[0], b[1], b[2], b[3], b[4], b[5], \
             b[6], b[7], b[8], ROW_OF(p), f[0], f[1], f[2], t[0], t[1], t[2], u)

__device__ __forceinline__ void add(real (&sums)[7], const real (&f)[3], const real (&t)[3], real u)
{
    for (u32 k = 0; k < 3; ++k) {
        sums[k] = sums[k] + f[k];
        sums[3 + k] = sums[3 + k] + t[k];
    }
    sums[6] = sums[6] + real(0.5) * u;
}

// Half a step of velocity and angular momentum.
__device__ __forceinline__ void kick(const BeadWork& work, u32 i, const real (&sums)[7], const stored* masses,
                                     stored* velocities, stored* momenta)
{
    const u32 n = work.beads;
    const real half = real(0.5 * work.timestep);
    const real per_mass = half / load(masses[i]);
    for (u32 k = 0; k < 3; ++k) {
        velocities[k * n + i] = keep(load(velocities[k * n + i]) + sums[k] * per_mass);
        momenta[k * n + i] = keep(load(momenta[k * n + i]) + sums[3 + k] * half);
    }
}

// Algorithm 3, with Algorithms 4 and 5 in its loop.
KERNEL(debye_bead_forces, BEAD_THREADS, BeadWork work, const stored* places, const stored* axes, const u32* species,
       const u32* counts, const u32* neighbors, const u32* interactions, const stored* rows, const stored* masses,
       stored* acted, stored* velocities, stored* momenta)
{
    const u32 i = blockIdx.x * BEAD_THREADS + threadIdx.x;
    if (i >= work.beads) return;
    const u32 n = work.beads;
    const real sides[3] = {real(work.sides[0]), real(work.sides[1]), real(work.sides[2])};
    const real halves[3] = {real(0.5 * work.sides[0]), real(0.5 * work.sides[1]), real(0.5 * work.sides[2])};
    const real me[3] = {load(places[i]), load(places[n + i]), load(places[2 * n + i])};
    real a[9], b[9];
    for (u32 k = 0; k < 9; ++k) a[k] = load(axes[k * n + i]);
    for (u32 k = 0; k < 6; ++k) b[k] = real(0.0);
    real sums[7];
    for (u32 k = 0; k < 7; ++k) sums[k] = real(0.0);
    const real cutoff2 = real(work.cutoff2);
#if COMPLETE
    const u32 own = species[i] * work.species;
#endif
    real p[ROW];
#if !COMPLETE
    for (u32 k = 0; k < ROW; ++k) p[k] = load(rows[k]);
#endif
    const u32 count = counts[i];
    for (u32 at = 0; at < count; ++at) {
        const u32 j = neighbors[u64(at) * n + i];
        real d[3], r2 = real(0.0);
        for (u32 x = 0; x < 3; ++x) {
            d[x] = nearest(load(places[x * n + j]) - me[x], sides[x], halves[x]);
            r2 = r2 + d[x] * d[x];
        }
        if (r2 < cutoff2) {
            for (u32 k = 6; k < 9; ++k) b[k] = load(axes[k * n + j]);
            real f[3], t[3], u;
#if COMPLETE
            const stored* row = rows + (own + species[j]) * ROW;
            for (u32 k = 0; k < ROW; ++k) p[k] = load(row[k]);
            const u32 type = interactions[u64(at) * n + i];
            if (type == WATER) {
#endif
                ACT(usual_3);
                add(sums, f, t, u);
#if STICKY
                if (r2 < real(work.sticky2)) {
                    for (u32 k = 0; k < 6; ++k) b[k] = load(axes[k * n + j]);
                    ACT(sticky);
                    add(sums, f, t, u);
                }
#endif
#if COMPLETE
            } else {
                switch (type) {
                    case 1: ACT(usual_1); break;
                    case 2: ACT(usual_2); break;
                    case 3: ACT(usual_3); break;
                    case 4: ACT(usual_4); break;
                    default: ACT(usual_5); break;
                }
                add(sums, f, t, u);
            }
#endif
        }
    }
    for (u32 k = 0; k < 7; ++k) acted[k * n + i] = keep(sums[k]);
#if MERGED
    kick(work, i, sums, masses, velocities, momenta);
#endif
    (void)species;
    (void)interactions;
    (void)masses;
    (void)velocities;
    (void)momenta;
}

// The second half of a step in a kernel of its own.
KERNEL(debye_bead_kick, BEAD_THREADS, BeadWork work, const stored* masses, const stored* acted, stored* velocities,
       stored* momenta)
{
    const u32 i = blockIdx.x * BEAD_THREADS + threadIdx.x;
    if (i >= work.beads) return;
    real sums[7];
    for (u32 k = 0; k < 7; ++k) sums[k] = load(acted[k * work.beads + i]);
    kick(work, i, sums, masses, velocities, momenta);
}

#if NUMBERS < 2
// Free rotation about one of the own axes.
__device__ __forceinline__ void turn(real (&a)[9], u32 k, real angle)
{
    const u32 first = 3 * ((k + 1) % 3), second = 3 * ((k + 2) % 3);
#if NUMBERS == 0
    const real s = sinf(angle), c = cosf(angle);
#else
    const real s = sin(angle), c = cos(angle);
#endif
    for (u32 x = 0; x < 3; ++x) {
        const real p = a[first + x], q = a[second + x];
        a[first + x] = p * c + q * s;
        a[second + x] = q * c - p * s;
    }
}

// Algorithm 2: half a step of velocities, a step of places and axes, periodic boundaries.
KERNEL(debye_bead_integrate, BEAD_THREADS, BeadWork work, const stored* masses, const stored* inertias,
       const stored* acted, stored* places, stored* axes, stored* velocities, stored* momenta)
{
    const u32 i = blockIdx.x * BEAD_THREADS + threadIdx.x;
    if (i >= work.beads) return;
    const u32 n = work.beads;
    real sums[7];
    for (u32 k = 0; k < 7; ++k) sums[k] = load(acted[k * n + i]);
    kick(work, i, sums, masses, velocities, momenta);
    const real timestep = real(work.timestep);
    for (u32 k = 0; k < 3; ++k) {
        const real side = real(work.sides[k]);
        real x = places[k * n + i] + timestep * velocities[k * n + i];
        if (x < real(0)) {
            x += side;
        } else if (x >= side) {
            x -= side;
        }
        places[k * n + i] = x;
    }
    const real inertia[3] = {inertias[i], inertias[n + i], inertias[2 * n + i]};
    if (inertia[0] > real(0)) {
        const real l[3] = {momenta[i], momenta[n + i], momenta[2 * n + i]};
        real a[9];
        for (u32 k = 0; k < 9; ++k) a[k] = axes[k * n + i];
        const u32 order[5] = {0, 1, 2, 1, 0};
        for (u32 step = 0; step < 5; ++step) {
            const u32 k = order[step];
            if (inertia[k] > real(0)) {
                const real along = l[0] * a[3 * k] + l[1] * a[3 * k + 1] + l[2] * a[3 * k + 2];
                turn(a, k, (step == 2 ? timestep : real(0.5) * timestep) * along / inertia[k]);
            }
        }
        for (u32 k = 0; k < 9; ++k) axes[k * n + i] = a[k];
    }
}
#endif
