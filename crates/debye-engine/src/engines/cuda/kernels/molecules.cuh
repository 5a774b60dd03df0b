// Pairs where bodies are rigid molecules of SITES particles, all alike, and particles by themselves: a thread visits with
// all particles of its molecule at once, so that a place is read once for each of them and distances do not wait for each
// other.
//
// pair_terms.cuh says what the molecules are: KIND_OF_SITE, their kinds; LIKE, the first site of the same kind; ACTIVE, a bit
// for every term that is not zero between two sites; PURE, whether there is nothing but these molecules.
#pragma once
#include "visit.cuh"

struct MoleculeSums {
    Sums site[SITES]; // energies and virial are all in the first
};

// Places of a list that the threads of a molecule look at together, a row each, and room for those that are near.
constexpr u32 LOOKED_AT = 4 * LANES, RING = 2 * LOOKED_AT;

// Visits those of a molecule's list that are near enough now. Lists reach further than the cut-off, by how far bodies may go and
// by the arms of both: of what is listed, a fifth and more has no particle within the cut-off. The threads of a molecule each
// look at a row, at the distance from its own middle to the other's anchor, and queue what is near; what is queued they share,
// so that all have the same number of visits. All threads of a warp look and visit together.
template <class Meet>
__device__ __forceinline__ void visit_near(const Stage& stage, u32 padding, const ushort4* list, u32 rows, const Spot (&from)[SITES],
                                           bool whole, const Setup& f, Meet&& meet_body)
{
    SHARED(u16, rings, BODIES * RING);
    u16* ring = rings + threadIdx.x / LANES * RING;
    const u32 lane = threadIdx.x % LANES, last = lane_of(threadIdx.x) - lane + LANES - 1;
    // The middle between the particles that are not the anchor, or a particle by itself; and how far from it the others are. From
    // the anchor, since with WRAP a molecule may stand at both ends of the cell.
    real x[SITES] = {}, y[SITES] = {}, z[SITES] = {};
#pragma unroll
    for (u32 s = 1; s < SITES; ++s) {
        if (!whole) continue;
        x[s] = from[s].x - from[0].x;
        y[s] = from[s].y - from[0].y;
        z[s] = from[s].z - from[0].z;
        nearest(x[s], y[s], z[s], f);
    }
    const real ax = real(0.5) * (x[1] + x[SITES - 1]), ay = real(0.5) * (y[1] + y[SITES - 1]), az = real(0.5) * (z[1] + z[SITES - 1]);
    const real mx = from[0].x + ax, my = from[0].y + ay, mz = from[0].z + az;
    real own2 = 0;
#pragma unroll
    for (u32 s = 0; s < SITES; ++s) {
        const real dx = x[s] - ax, dy = y[s] - ay, dz = z[s] - az, r2 = dx * dx + dy * dy + dz * dz;
        own2 = r2 > own2 ? r2 : own2;
    }
    // Setup::cutoff is that of particles and both arms. The last digits are not to be trusted.
    const real reach = (real(f.cutoff) - real(f.arm) + sqrt(own2)) * real(1.00001), reach2 = reach * reach;
    const u32 count = own_rows(rows), longest = (rows + LANES - 1) / LANES, turns = u32(warp_highest(i32(longest)));
    const ushort4 none = {u16(padding), u16(padding), u16(padding), u16(padding)};
    ushort4 next = count > 0 ? list[0] : none;
    // Those queued are head … tail − 1 of the ring; the same for all threads of a molecule.
    u32 head = 0, tail = 0;
#pragma unroll 1
    for (u32 turn = 0; turn < turns; ++turn) {
        const u16 look[4] = {next.x, next.y, next.z, next.w};
        next = turn + 1 < count ? list[u64(turn + 1) * BLOCK] : none;
        u32 near = 0;
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            const Spot anchor = stage.get(look[k], 0);
            real dx = mx - anchor.x, dy = my - anchor.y, dz = mz - anchor.z;
            nearest(dx, dy, dz, f);
            const bool anybody = !WRAP || look[k] != padding;
            if (anybody && dx * dx + dy * dy + dz * dz < reach2) near |= 1u << k;
        }
        const u32 mine = u32(__popc(near));
        u32 upto = mine;
#pragma unroll
        for (u32 step = 1; step < LANES; step *= 2) {
            const u32 below = __shfl_up_sync(ALL_LANES, upto, step);
            if (lane >= step) upto += below;
        }
        u32 place = tail + upto - mine;
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            if ((near >> k & 1u) == 0) continue;
            ring[place % RING] = look[k];
            ++place;
        }
        tail += __shfl_sync(ALL_LANES, upto, last);
        __syncwarp();
        // As many visits as those have who have fewest, so that nobody idles; more, if that is needed to make room for the
        // next; all of them in the end. Nobody waits for those who have no more in their lists.
        const bool more = turn + 1 < longest;
        const u32 least = u32(warp_lowest(i32(more ? tail - head : RING))), most = u32(warp_highest(i32(tail - head)));
        const u32 room = most + LOOKED_AT > RING ? (most + LOOKED_AT - RING + LANES - 1) / LANES : 0;
        const u32 visits = turn + 1 < turns ? larger(least / LANES, room) : (most + LANES - 1) / LANES;
#pragma unroll 1
        for (u32 k = 0; k < visits; ++k) {
            const u32 at = head + k * LANES + lane;
            meet_body(at < tail ? u32(ring[at % RING]) : padding);
        }
        head = smaller(head + visits * LANES, tail);
        __syncwarp();
    }
}

// Sums over this thread's share of the list of its molecule. Forces still without their factor −2.
template <bool ENERGY>
__device__ __forceinline__ void visit_molecule(MoleculeSums& c, const Stage& stage, u32 padding, const ushort4* list, u32 rows,
                                           const Spot (&from)[SITES], const World& w, const Setup& f)
{
    const bool whole = PURE || from[0].kind == KIND_OF_SITE[0];
    // Numbers of the terms between own sites and those of a molecule.
    Rows numbers[SITES][SITES];
#pragma unroll
    for (u32 s = 0; s < SITES; ++s) {
#pragma unroll
        for (u32 t = 0; t < SITES; ++t) {
            if (LIKE[s] != s || LIKE[t] != t) continue;
            const u32 own = s == 0 && !PURE && from[0].kind != EMPTY_SLOT ? from[0].kind : KIND_OF_SITE[s];
            read_rows(numbers[s][t], own, KIND_OF_SITE[t], w.parameters);
        }
    }
    auto meet = [&](u32 s, const Spot& other, const Rows& row, u32 active) {
        Sums& to = c.site[s];
        real dx = from[s].x - other.x, dy = from[s].y - other.y, dz = from[s].z - other.z;
        nearest(dx, dy, dz, f);
        const real r2 = dx * dx + dy * dy + dz * dz;
        real energies[TERMS], derivative;
        debye_pair(r2, row, w.tables, active, energies, derivative);
        to.fx += derivative * dx;
        to.fy += derivative * dy;
        to.fz += derivative * dz;
        if (ENERGY) {
            Sums& all = c.site[0];
#pragma unroll
            for (u32 k = 0; k < TERMS; ++k) all.energy[k] += energies[k];
            all.virial[0] += derivative * dx * dx;
            all.virial[1] += derivative * dy * dy;
            all.virial[2] += derivative * dz * dz;
            all.virial[3] += derivative * dx * dy;
            all.virial[4] += derivative * dx * dz;
            all.virial[5] += derivative * dy * dz;
        }
    };
    auto meet_body = [&](u32 at) {
#if WRAP
        if (at == padding) return;
#endif
        const Spot anchor = stage.get(at, 0);
        if (!PURE && anchor.kind != KIND_OF_SITE[0]) {
            // A particle by itself: its numbers are looked up.
            Rows row;
#pragma unroll 1
            for (u32 s = 0; s < SITES; ++s) {
                if (s > 0 && !whole) break;
                read_rows(row, from[s].kind, anchor.kind, w.parameters);
                if (s == 0) meet(0, anchor, row, ~0u);
#pragma unroll
                for (u32 k = 1; k < SITES; ++k) {
                    if (s == k) meet(k, anchor, row, ~0u);
                }
            }
            return;
        }
#pragma unroll
        for (u32 t = 0; t < SITES; ++t) {
            const Spot other = t == 0 ? anchor : stage.get(at, t);
#pragma unroll
            for (u32 s = 0; s < SITES; ++s) {
                if (ACTIVE[s][t] == 0 || (s > 0 && !whole)) continue;
                meet(s, other, numbers[LIKE[s]][LIKE[t]], ACTIVE[s][t]);
            }
        }
    };
    visit_near(stage, padding, list, rows, from, whole, f, meet_body);
}

// What all threads of a molecule found, and of that what belongs to this thread's slot; energies and virial to the first.
template <bool ENERGY> __device__ __forceinline__ void distribute(Sums& own, MoleculeSums& c)
{
    const u32 site = threadIdx.x % LANES;
    own = {};
#pragma unroll
    for (u32 s = 0; s < SITES; ++s) {
        Sums& of = c.site[s];
        join(of.fx);
        join(of.fy);
        join(of.fz);
        if (site != s) continue;
        own.fx = of.fx;
        own.fy = of.fy;
        own.fz = of.fz;
    }
    if (ENERGY) join_sums(own, c.site[0]);
}
