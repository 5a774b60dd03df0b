// The kernels of Shkurti et al. (2013): a thread for each bead, matrices with a column for each bead.
//
// Defines: NUMBERS, what is computed with; TYPES, where the type of an interaction comes from: 0 there is one alone, that
// of water; 1 the matrix of types, as in the paper; 2 the block, whose threads have pairs of one type alone; STICKY,
// whether water sticks.
//
// A thread alone writes what belongs to its bead, in the order of its column, so results do not depend on scheduling.
// Every listed pair costs 4 bytes of the neighbor matrix and, with the matrix of types, 4 of that, coalesced; and the
// place of the other bead, scattered: 3 numbers, 3 or 9 more for its axes within the cut-off. Blocks of one type write
// and read 7 numbers more for each bead and type.
#include "beads_shared.cuh"
#include "numbers.cuh"
#include "interactions.cuh"

#if TYPES
constexpr u32 WATER = 0;
#endif
// How many parts a column has: one for each type where blocks have one.
constexpr u32 PARTS = TYPES == 2 ? KINDS : 1;

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

// Neighbors and types of interactions of every bead, from rows of cells. Columns are in the given order, and each has its
// types one after another where there are parts; `counts` says where parts end. `needed` becomes the longest column;
// columns that are too short are filled as far as they go, and the host tries again with longer ones.
KERNEL(debye_bead_neighbors, BEAD_THREADS, BeadWork work, const stored* places, const u32* species, const u32* types,
       const u32* order, const u32* cell_of, const u32* around, const u32* cells, const u32* cell_counts,
       const u32* excluded_starts, const u32* excluded, u32* counts, u32* neighbors, u32* interactions, u32* needed)
{
    const u32 column = blockIdx.x * BEAD_THREADS + threadIdx.x;
    if (column >= work.beads) return;
    const u32 n = work.beads;
    const u32 i = PARTS > 1 ? order[column] : column;
    const real sides[3] = {real(work.sides[0]), real(work.sides[1]), real(work.sides[2])};
    const real halves[3] = {real(0.5 * work.sides[0]), real(0.5 * work.sides[1]), real(0.5 * work.sides[2])};
    const real reach2 = real(work.reach2);
    const stored me[3] = {places[i], places[n + i], places[2 * n + i]};
    const u32 own = cell_of[i];
    u32 found = 0;
    for (u32 part = 0; part < PARTS; ++part) {
        for (u32 a = 0; a < AROUND; ++a) {
            const u32 cell = around[own * AROUND + a];
            if (cell == ~0u) break;
            for (u32 k = 0; k < cell_counts[cell]; ++k) {
                const u32 j = cells[cell * work.per_cell + k];
                real r2 = real(0.0);
                for (u32 x = 0; x < 3; ++x) {
                    const real d = nearest(apart(places[x * n + j], me[x]), sides[x], halves[x]);
                    r2 = r2 + d * d;
                }
                if (i == j || !(r2 < reach2) || is_excluded(excluded_starts, excluded, i, j)) continue;
#if TYPES
                const u32 type = types[species[i] * work.species + species[j]];
                if (PARTS > 1 && type != part) continue;
#endif
                if (found < work.rows) {
                    neighbors[u64(found) * n + column] = j;
#if TYPES == 1
                    interactions[u64(found) * n + column] = type;
#endif
                }
                ++found;
            }
        }
        counts[part * n + column] = smaller(found, work.rows);
    }
    atomicMax(needed, found);
    (void)types;
    (void)interactions;
    (void)species;
    (void)order;
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
    const moving half = moving(0.5 * work.timestep);
    const moving per_mass = half / to_moving(masses[i]);
    for (u32 k = 0; k < 3; ++k) {
        velocities[k * n + i] = from_moving(to_moving(velocities[k * n + i]) + to_moving(sums[k]) * per_mass);
        momenta[k * n + i] = from_moving(to_moving(momenta[k * n + i]) + to_moving(sums[3 + k]) * half);
    }
}

// Algorithm 3, with Algorithms 4 and 5 in its loop. As many blocks for each part of the columns; a kick follows where the
// whole column is done and it is merged.
KERNEL(debye_bead_forces, BEAD_THREADS, BeadWork work, const stored* places, const stored* axes, const u32* species,
       const u32* order, const u32* counts, const u32* neighbors, const u32* interactions, const stored* rows,
       const stored* masses, stored* acted, stored* velocities, stored* momenta)
{
    const u32 n = work.beads;
    const u32 blocks = (n + BEAD_THREADS - 1) / BEAD_THREADS;
    const u32 part = PARTS > 1 ? blockIdx.x / blocks : 0;
    const u32 column = (blockIdx.x - part * blocks) * BEAD_THREADS + threadIdx.x;
    if (column >= n) return;
    const u32 i = PARTS > 1 ? order[column] : column;
    const real sides[3] = {real(work.sides[0]), real(work.sides[1]), real(work.sides[2])};
    const real halves[3] = {real(0.5 * work.sides[0]), real(0.5 * work.sides[1]), real(0.5 * work.sides[2])};
    const stored me[3] = {places[i], places[n + i], places[2 * n + i]};
    real a[9], b[9];
    for (u32 k = 0; k < 9; ++k) a[k] = load(axes[k * n + i]);
    for (u32 k = 0; k < 6; ++k) b[k] = real(0.0);
    real sums[7];
    for (u32 k = 0; k < 7; ++k) sums[k] = real(0.0);
    const real cutoff2 = real(work.cutoff2);
#if TYPES
    const u32 own = species[i] * work.species;
#endif
    real p[ROW];
#if !TYPES
    for (u32 k = 0; k < ROW; ++k) p[k] = load(rows[k]);
#endif
    const u32 last = counts[part * n + column];
    for (u32 at = part == 0 ? 0 : counts[(part - 1) * n + column]; at < last; ++at) {
        const u32 j = neighbors[u64(at) * n + column];
        real d[3], r2 = real(0.0);
        for (u32 x = 0; x < 3; ++x) {
            d[x] = nearest(apart(places[x * n + j], me[x]), sides[x], halves[x]);
            r2 = r2 + d[x] * d[x];
        }
        if (r2 < cutoff2) {
            for (u32 k = 6; k < 9; ++k) b[k] = load(axes[k * n + j]);
            real f[3], t[3], u;
#if TYPES
            const stored* row = rows + (own + species[j]) * ROW;
            for (u32 k = 0; k < ROW; ++k) p[k] = load(row[k]);
            const u32 type = PARTS > 1 ? part : interactions[u64(at) * n + column];
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
#if TYPES
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
    for (u32 k = 0; k < 7; ++k) acted[(part * 7 + k) * n + i] = keep(sums[k]);
    if (PARTS == 1 && work.merged) kick(work, i, sums, masses, velocities, momenta);
    (void)species;
    (void)interactions;
    (void)order;
}

#if TYPES == 2
// What all parts of a column came to; a kick where it is merged.
KERNEL(debye_bead_sum, BEAD_THREADS, BeadWork work, const stored* masses, stored* acted, stored* velocities,
       stored* momenta)
{
    const u32 i = blockIdx.x * BEAD_THREADS + threadIdx.x;
    if (i >= work.beads) return;
    const u32 n = work.beads;
    real sums[7];
    for (u32 k = 0; k < 7; ++k) {
        sums[k] = load(acted[k * n + i]);
        for (u32 part = 1; part < PARTS; ++part) sums[k] = sums[k] + load(acted[(part * 7 + k) * n + i]);
        acted[k * n + i] = keep(sums[k]);
    }
    if (work.merged) kick(work, i, sums, masses, velocities, momenta);
}
#endif

// Half a step in a kernel of its own.
KERNEL(debye_bead_kick, BEAD_THREADS, BeadWork work, const stored* masses, const stored* acted, stored* velocities,
       stored* momenta)
{
    const u32 i = blockIdx.x * BEAD_THREADS + threadIdx.x;
    if (i >= work.beads) return;
    real sums[7];
    for (u32 k = 0; k < 7; ++k) sums[k] = load(acted[k * work.beads + i]);
    kick(work, i, sums, masses, velocities, momenta);
}

// Free rotation about one of the own axes.
__device__ __forceinline__ void turn(moving (&a)[9], u32 k, moving angle)
{
    const u32 first = 3 * ((k + 1) % 3), second = 3 * ((k + 2) % 3);
    const moving s = sine(angle), c = cosine(angle);
    for (u32 x = 0; x < 3; ++x) {
        const moving p = a[first + x], q = a[second + x];
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
    const moving timestep = moving(work.timestep);
    for (u32 k = 0; k < 3; ++k) {
        const moving side = moving(work.sides[k]);
        moving x = to_moving(places[k * n + i]) + timestep * to_moving(velocities[k * n + i]);
        if (x < moving(0)) {
            x += side;
        } else if (x >= side) {
            x -= side;
        }
        places[k * n + i] = from_moving(x);
    }
    moving inertia[3], l[3], a[9];
    for (u32 k = 0; k < 3; ++k) {
        inertia[k] = to_moving(inertias[k * n + i]);
        l[k] = to_moving(momenta[k * n + i]);
    }
    if (!(inertia[0] > moving(0))) return;
    for (u32 k = 0; k < 9; ++k) a[k] = to_moving(axes[k * n + i]);
    const u32 order[5] = {0, 1, 2, 1, 0};
    for (u32 step = 0; step < 5; ++step) {
        const u32 k = order[step];
        if (inertia[k] > moving(0)) {
            const moving along = l[0] * a[3 * k] + l[1] * a[3 * k + 1] + l[2] * a[3 * k + 2];
            turn(a, k, (step == 2 ? timestep : moving(0.5) * timestep) * along / inertia[k]);
        }
    }
    for (u32 k = 0; k < 9; ++k) axes[k * n + i] = from_moving(a[k]);
}
