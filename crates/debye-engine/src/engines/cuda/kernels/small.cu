// Many steps of a small system in one launch. All blocks are resident and meet once in a step: each adds one to a counter
// and waits until all have. Only positions travel between blocks: 16 bytes written per particle and step, and 16 read per
// entry of a list. A particle is owned by LANES lanes, which do its list, its forces (summed over the lanes in one order) and
// its motion (all of them the same, so that nothing need be sent around); nothing depends on how blocks are scheduled.
//
// Whoever moves too far says so when its block arrives, and then every group makes its own list from positions that all can
// see. A list that does not fit ends the launch before the step is done; the host makes room and goes on.
//
// Steps that need sums over all particles meet once more, between forces and motion. Every warp writes those of its particles,
// and every block adds all of them, in one order that only the number of particles decides, and draws the same conclusions. So
// nobody need be told, and a barostat needs no meeting of its own: it acts after the one that ends the step.
//
// Snapshots at steps that are told in advance are taken on the way: sums of warps, and where particles are, go to memory
// that nobody else sees before the launch ends. What they take is computed beside the step, whose bits stay the same.
//
// Defines: SPLIT (1: steps may need sums), GROUPS_OF and MOVING as in ensemble.cuh; COLUMNS, the sums of a block that
// evaluates; THREADS of a block; ROUNDS, particles of a group (1: its velocity and the like stay in registers); STAGED
// (1: lists are kept in shared memory), and those of small.cuh and small_motion.cuh.
#include "ensemble.cuh"
#include "small.cuh"
#include "small_motion.cuh"

constexpr u32 GROUPS = THREADS / LANES;
#if BONDED
constexpr u32 ALL_TERMS = TERMS + LINK_TERMS;
#else
constexpr u32 ALL_TERMS = TERMS;
#endif
static_assert(COLUMNS == ALL_TERMS + VIRIAL_SUMS + GROUP_SUMS * GROUPS_OF + 1, "sums of a block that evaluates");
#if SPLIT
// Sums over all particles: for every group Σ m v² and Σ m v, then the virial; after the motion Σ m v² and the longest way.
constexpr u32 AFTER_FORCES = 4 * GROUPS_OF + 3, ALL_SUMS = AFTER_FORCES + 4;
#endif

// What a group knows of a particle it owns. All its lanes know the same.
struct Own {
    uint4 at, then;
    u32 low[3];
    speed v[3];
    Kind kind;
};

// The counter at which blocks meet: arrivals in the lower half, how many of them had something to say in the upper half.
// Two of them by turns: nobody comes to a counter again before all have left it.
struct Meeting {
    u64* words;
    u32 turn;
    u32 arrivals[2];
    u32 said[2];
};

// Waits for all blocks; whether any thread of any block had something to say.
__device__ __forceinline__ bool meet(Meeting& m, bool says)
{
    const u32 which = m.turn & 1;
    m.turn += 1;
    const bool block_says = __syncthreads_or(says) != 0;
    bool heard = false;
    if (threadIdx.x == 0) {
        u64* word = m.words + which;
        arrive(word, block_says ? (u64(1) << 32) + 1 : u64(1));
        // Two counters by name: no array is indexed by a number that is not known.
        const u32 expected = (which ? m.arrivals[1] : m.arrivals[0]) + gridDim.x;
        u64 found = load_acquire(word);
        while (u32(found) != expected) {
            SPIN();
            found = load_acquire(word);
        }
        const u32 now = u32(found >> 32);
        heard = now != (which ? m.said[1] : m.said[0]);
        if (which) {
            m.arrivals[1] = expected;
            m.said[1] = now;
        } else {
            m.arrivals[0] = expected;
            m.said[0] = now;
        }
    }
    return __syncthreads_or(heard) != 0;
}

__device__ __forceinline__ Own own_of(u32 i, const Published& all, const SmallWorld& w, const SmallSetup& f)
{
    Own own;
    own.at = position(all.pos, i);
    own.then = w.reference[i];
    own.kind = w.kinds[kind_of(own.at.w)];
#if FINE
    const uint4 low = position(all.low, i);
    own.low[0] = low.x;
    own.low[1] = low.y;
    own.low[2] = low.z;
#endif
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
#if PRECISION == 1 && !FINE
        own.low[axis] = w.low[axis * f.particles + i];
#endif
        own.v[axis] = w.velocities[axis * f.particles + i];
    }
    return own;
}

__device__ __forceinline__ Seen seen(const Own& own)
{
#if PRECISION == 2
    return {own.at, make_uint4(own.low[0], own.low[1], own.low[2], 0)};
#else
    return {own.at};
#endif
}

__device__ __forceinline__ void publish(const Own& own, const Published& all, u32 i)
{
    all.pos[i] = own.at;
#if FINE
    all.low[i] = make_uint4(own.low[0], own.low[1], own.low[2], 0);
#endif
}

__device__ __forceinline__ void keep(const Own& own, u32 i, const SmallWorld& w, const SmallSetup& f)
{
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
#if PRECISION == 1 && !FINE
        w.low[axis * f.particles + i] = own.low[axis];
#endif
        w.velocities[axis * f.particles + i] = own.v[axis];
    }
}

#if EXCLUSIONS
__device__ __forceinline__ bool left_out(u32 i, u32 j, const SmallWorld& w)
{
    bool found = false;
    for (u32 k = w.excluded_starts[i]; k < w.excluded_starts[i + 1]; ++k) found = found || w.excluded[k] == j;
    return found;
}
#endif

// Adds those of a group's lanes that have an entry to the list, in the order of the lanes. Whole warps.
__device__ __forceinline__ void append(u32* list, u32& count, bool has, u32 entry, u32 lane, const SmallSetup& f)
{
    const u32 all = __ballot_sync(ALL_LANES, has);
    if (all == 0) return;
    const u32 votes = all >> (lane_of(threadIdx.x) - lane) & (ALL_LANES >> (WARP - LANES));
    const u32 at = count + u32(__popc(votes & lanes_below(lane)));
    if (has && at < f.capacity) list[at] = entry;
    count += u32(__popc(votes));
}

// The list of particle i, by all lanes of its group; how long it would be. Whole warps: groups without a particle too.
__device__ __forceinline__ u32 make_list(u32* list, const uint4* pos, u32 i, bool there, u32 lane, uint4 own,
                                         const i32 (&reach)[3], const SmallWorld& w, const SmallSetup& f,
                                         const Frame& frame)
{
    u32 count = 0;
#if IMAGES
    for (u32 base = 0; base < f.particles; base += LANES) {
        const u32 j = base + lane;
        const bool exists = there && j < f.particles;
        const uint4 other = position(pos, exists ? j : 0);
        f32 nearest2 = -1.0f;
#if EXCLUSIONS
        if (exists && j != i && left_out(i, j, w)) {
            nearest2 = 1e30f;
            for (i32 x = -reach[0]; x <= reach[0]; ++x) {
                for (i32 y = -reach[1]; y <= reach[1]; ++y) {
                    for (i32 z = -reach[2]; z <= reach[2]; ++z) {
                        nearest2 = fminf(nearest2, square(apart(own, other, image_of(own, other, x, y, z), frame)));
                    }
                }
            }
            // Images as near as the nearest count as such too.
            nearest2 *= 1.000001f;
        }
#endif
        for (i32 x = -reach[0]; x <= reach[0]; ++x) {
            for (i32 y = -reach[1]; y <= reach[1]; ++y) {
                for (i32 z = -reach[2]; z <= reach[2]; ++z) {
                    const u32 image = image_of(own, other, x, y, z);
                    const f32 r2 = square(apart(own, other, image, frame));
                    const bool itself = j == i && x == 0 && y == 0 && z == 0;
                    append(list, count, exists && !itself && r2 < f.radius2 && r2 > nearest2, j | image, lane, f);
                }
            }
        }
    }
#else
    constexpr u32 AT_ONCE = 4;
    for (u32 base = 0; base < f.particles; base += AT_ONCE * LANES) {
        uint4 other[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            other[k] = position(pos, smaller(base + k * LANES + lane, f.particles - 1));
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            const u32 j = base + k * LANES + lane;
            bool near = there && j < f.particles && j != i && square(apart(own, other[k], 0, frame)) < f.radius2;
#if EXCLUSIONS
            if (near) near = !left_out(i, j, w);
#endif
            append(list, count, near, j, lane, f);
        }
    }
#endif
    (void)w;
    (void)reach;
    return count;
}

constexpr u32 TOGETHER = WARP / LANES; // particles of a warp

__device__ __forceinline__ u32 warps_in_all(const SmallSetup& f) { return (f.particles + TOGETHER - 1) / TOGETHER; }

#if SPLIT
// Writes the sum over the particles of a warp; all lanes of a particle say the same. Whole warps.
__device__ __forceinline__ void write_sum(const SmallWorld& w, const SmallSetup& f, u32 column, u32 number, f64 x)
{
#pragma unroll
    for (u32 step = LANES; step < WARP; step *= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    if (lane_of(threadIdx.x) == 0 && number < warps_in_all(f)) publish(w.sums + u64(column) * warps_in_all(f) + number, x);
}

#if MOVING
__device__ __forceinline__ void write_highest(const SmallWorld& w, const SmallSetup& f, u32 column, u32 number, f64 x)
{
#pragma unroll
    for (u32 step = LANES; step < WARP; step *= 2) x = fmax(x, __shfl_xor_sync(ALL_LANES, x, step));
    if (lane_of(threadIdx.x) == 0 && number < warps_in_all(f)) publish(w.sums + u64(column) * warps_in_all(f) + number, x);
}
#endif

// Adds what all warps wrote, a column to a warp; the last of them are `highest`, of which it takes the largest. All blocks.
__device__ inline void add_up(f64* to, u32 first, u32 columns, u32 highest, const SmallWorld& w, const SmallSetup& f)
{
    const u32 numbers = warps_in_all(f);
    for (u32 k = warp_of(threadIdx.x); k < columns; k += THREADS / WARP) {
        const f64* from = w.sums + u64(first + k) * numbers;
        const bool largest = k + highest >= columns;
        f64 x = 0.0;
#pragma unroll 4
        for (u32 j = lane_of(threadIdx.x); j < numbers; j += WARP) {
            const f64 next = published(from + j);
            x = largest ? fmax(x, next) : x + next;
        }
        for (u32 step = WARP / 2; step > 0; step /= 2) {
            const f64 next = __shfl_xor_sync(ALL_LANES, x, step);
            x = largest ? fmax(x, next) : x + next;
        }
        if (lane_of(threadIdx.x) == 0) to[first + k] = x;
    }
    __syncthreads();
}
#endif

__device__ __forceinline__ bool due(u64 step, u32 every) { return every != 0 && step % every == 0; }

// Forces on a particle, to all its lanes, and a lane's share of the sums of COLUMNS: energies by term (pairs, then bonded),
// virial, for every group Σ m v⊗v (xx yy zz xy xz yz) and Σ m v, and entries of the lists. Velocities are `kept`, half a
// kick behind.
__device__ __forceinline__ void observe(f64 (&x)[COLUMNS], f64 (&force)[3], const Published& now, u32 i, bool there,
                                        const u32* list, u32 count, u32 lane, const Seen& own, const speed (&kept)[3],
                                        const Kind& kind, const SmallWorld& w, const SmallSetup& f, const Frame& frame)
{
    Sums sums = {};
    visit<true>(sums, now, list, count, lane, own, w, frame);
    Sums all = sums;
    add_forces(all);
    f64 more[3] = {0.0, 0.0, 0.0};
#if BONDED
    const Walk<true> walk = all_links<true>(now, i, there, lane, w, frame);
    more[0] = over_lanes64(walk.s.force.x);
    more[1] = over_lanes64(walk.s.force.y);
    more[2] = over_lanes64(walk.s.force.z);
#endif
    (void)i;
    force[0] = -2.0 * f64(all.fx) + more[0];
    force[1] = -2.0 * f64(all.fy) + more[1];
    force[2] = -2.0 * f64(all.fz) + more[2];
    const bool counts = there && lane == 0;
    f64 v[3] = {0.0, 0.0, 0.0};
    if (counts) {
        for (u32 axis = 0; axis < 3; ++axis) v[axis] = f64(kept[axis]) + 0.5 * f.dt * kind.inverse_mass * force[axis];
    }
    for (u32 t = 0; t < TERMS; ++t) x[t] = 0.5 * f64(sums.energy[t]);
    for (u32 k = 0; k < 6; ++k) x[ALL_TERMS + k] = -f64(sums.virial[k]);
#if BONDED
    for (u32 t = 0; t < LINK_TERMS; ++t) x[TERMS + t] = walk.energies[t];
    for (u32 k = 0; k < 6; ++k) x[ALL_TERMS + k] += walk.s.virial[k];
#endif
#pragma unroll
    for (u32 g = 0; g < GROUPS_OF; ++g) {
        const f64 m = counts && kind.group == g ? kind.mass : 0.0;
        f64* own = x + ALL_TERMS + VIRIAL_SUMS + GROUP_SUMS * g;
        own[0] = m * v[0] * v[0];
        own[1] = m * v[1] * v[1];
        own[2] = m * v[2] * v[2];
        own[3] = m * v[0] * v[1];
        own[4] = m * v[0] * v[2];
        own[5] = m * v[1] * v[2];
        for (u32 k = 0; k < 3; ++k) own[6 + k] = m * v[k];
    }
    x[COLUMNS - 1] = counts ? f64(count) : 0.0;
}

// The step of a snapshot and what is wanted of it; 0: there is none. No array is indexed by a number that is not known.
__device__ __forceinline__ u64 due_at(const SmallSetup& f, u32 which)
{
    u64 due = 0;
#pragma unroll
    for (u32 k = 0; k < MOST_DUE; ++k) {
        if (k == which) due = f.due[k];
    }
    return due;
}

// Where a snapshot has something.
template <class T> __device__ __forceinline__ T* in_snapshot(const SmallWorld& w, const SmallSetup& f, u32 which, u32 at)
{
    unsigned char* all = reinterpret_cast<unsigned char*>(w.shots) + f.shots.first;
    return reinterpret_cast<T*>(all + which * f.shots.stride + at);
}

// Where a particle is, and where asked for how it moves; by one of its lanes.
__device__ __forceinline__ void put_particle(const SmallWorld& w, const SmallSetup& f, u32 which, u32 i, const Own& own,
                                             bool moves, const f64 (&force)[3])
{
    const SmallShots& at = f.shots;
    in_snapshot<uint4>(w, f, which, at.pos)[i] = own.at;
#if FINE
    in_snapshot<uint4>(w, f, which, at.low)[i] = make_uint4(own.low[0], own.low[1], own.low[2], 0);
#endif
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
        const u32 to = axis * f.particles + i;
#if PRECISION == 1 && !FINE
        in_snapshot<u32>(w, f, which, at.low)[to] = own.low[axis];
#endif
        in_snapshot<i32>(w, f, which, at.images)[to] = w.images[to];
        if (!moves) continue;
        in_snapshot<speed>(w, f, which, at.velocities)[to] = own.v[axis];
        in_snapshot<f64>(w, f, which, at.forces)[to] = force[axis];
    }
}

// Takes what is asked for of a particle into a snapshot, and of the sums the share of a warp. Whole warps.
__device__ __forceinline__ void take(const SmallWorld& w, const SmallSetup& f, const Frame& frame, const Published& now,
                                     u32 which, u64 asked, const u32* list, u32 count, u32 lane, u32 i, bool is,
                                     u32 number, const Own& own)
{
    const bool evaluates = (asked & DUE_SUMS) != 0, places = (asked & DUE_PLACES) != 0;
    const bool energies = (asked & DUE_ENERGIES) != 0;
    f64 force[3] = {0.0, 0.0, 0.0};
    if (evaluates) {
        f64 x[COLUMNS];
        observe(x, force, now, i, is, list, count, lane, seen(own), own.v, own.kind, w, f, frame);
        f64* sums = w.shot_sums + (u64(which) * warps_in_all(f) + number) * COLUMNS;
#pragma unroll
        for (u32 k = 0; k < COLUMNS; ++k) {
            // Energies and virial; what follows has one lane of a particle. Without SPLIT registers are fewer, and steps
            // faster, where nobody asks.
            const bool of_pairs = k < ALL_TERMS + VIRIAL_SUMS;
            if (SPLIT && of_pairs && !energies) continue;
            const u32 last = of_pairs ? 1 : LANES;
            for (u32 by = WARP / 2; by >= last; by /= 2) x[k] += __shfl_down_sync(ALL_LANES, x[k], by);
            if (lane_of(threadIdx.x) == 0 && number < warps_in_all(f)) sums[k] = x[k];
        }
    }
    if (places && is && lane == 0) put_particle(w, f, which, i, own, evaluates, force);
}

KERNEL_RESIDENT(debye_small_steps, THREADS, 1, SmallWorld w, SmallSetup f)
{
    SHARED(u32, counts, ROUNDS * GROUPS);
#if STAGED
    DYNAMIC_SHARED(u32, staged);
#endif
#if SPLIT
    SHARED(ScalingThermostat, thermostats, GROUPS_OF);
    SHARED(VelocityScaling, changes, GROUPS_OF);
    SHARED(f64, totals, ALL_SUMS);
    for (u32 g = threadIdx.x; g < f.thermostats; g += THREADS) thermostats[g] = w.thermostats[g];
#endif
#if MOVING
    SHARED(Frame, frames, 2);
    SHARED(Stretch, stretch, 1);
    for (u32 k = threadIdx.x; k < 2; k += THREADS) frames[k] = w.frames[k];
    const Frame& frame = frames[0];
    u32 limited = 0;
#else
    const Frame& frame = f.frame;
#endif
    SmallControl* c = w.control;
    const u32 lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
    const u32 first = blockIdx.x * GROUPS + group, stride = gridDim.x * GROUPS;
    // Groups without a particle go along with the others, as the first particle, and write nothing.
    auto particle = [&](u32 round) { return first + round * stride; };
    auto there = [&](u32 round) { return particle(round) < f.particles; };
    auto safe = [&](u32 round) { return there(round) ? particle(round) : 0; };
    auto list_of = [&](u32 round) {
#if STAGED
        return staged + u64(round * GROUPS + group) * f.capacity;
#else
        return w.lists + u64(safe(round)) * f.capacity;
#endif
    };
    // The counters of the launch before begin again, for the one after this.
    Meeting meeting = {w.meetings + 2 * f.turn, 0, {0, 0}, {0, 0}};
    if (blockIdx.x == 0 && threadIdx.x < 2) w.meetings[2 * (f.turn ^ 1) + threadIdx.x] = 0;
    u64 step = c->step;
    u32 parity = c->parity, builds = 0;
    bool stale = c->stale != 0, overflow = false, cell_invalid = false;
    i32 reach[3] = {f.reach[0], f.reach[1], f.reach[2]};
    // How long the list is; of the only particle, or of each.
    u32 only_count = 0;
    auto set_count = [&](u32 round, u32 count) {
        only_count = count;
        if (ROUNDS > 1 && lane == 0) counts[round * GROUPS + group] = count;
    };
    auto count_of = [&](u32 round) { return ROUNDS == 1 ? only_count : counts[round * GROUPS + group]; };

    if (!stale) {
        for (u32 round = 0; round < ROUNDS; ++round) {
            const u32 count = there(round) ? w.counts[particle(round)] : 0;
            set_count(round, count);
#if STAGED
            for (u32 k = lane; k < count; k += LANES) list_of(round)[k] = w.lists[u64(particle(round)) * f.capacity + k];
#endif
        }
    }
    Own own = own_of(safe(0), published_half(w, parity, f.particles), w, f);
    u32 shot = 0;
    u64 asked = f.due[0];
    __syncthreads();

    for (;;) {
        const bool done = step >= f.target;
        const Published now = published_half(w, parity, f.particles), next = published_half(w, parity ^ 1, f.particles);
        if (stale && (!done || f.refresh)) {
            if (load_relaxed(&c->failed) != 0) break;
#if MOVING
            __syncthreads();
            if (threadIdx.x == 0) {
                frames[0].limit2 = f.frame.limit2;
                for (u32 k = 0; k < 3; ++k) frames[0].scale[k] = 1.0;
                frames[1] = frames[0];
            }
            __syncthreads();
            for (u32 k = 0; k < 3; ++k) {
                reach[k] = i32(f.radius / frame.height[k] + 0.50001f);
                cell_invalid = cell_invalid || reach[k] > i32(MOST_IMAGES);
            }
            if (cell_invalid) break;
#endif
            bool too_long = false;
            for (u32 round = 0; round < ROUNDS; ++round) {
                const bool is = there(round);
                const u32 i = safe(round);
                const uint4 at = ROUNDS == 1 ? own.at : position(now.pos, i);
                const u32 count = make_list(list_of(round), now.pos, i, is, lane, at, reach, w, f, frame);
                if (lane == 0 && is) w.reference[i] = at;
                own.then = at;
                set_count(round, count);
                if (count > f.capacity) {
                    too_long = true;
                    if (lane == 0) atomicMax(&c->needed, count);
                }
            }
            overflow = meet(meeting, too_long);
            if (overflow) break;
            stale = false;
            builds += 1;
        }
        if (asked != 0 && step == asked >> DUE_BITS && !(stale && load_relaxed(&c->failed) != 0)) {
            for (u32 round = 0; round < ROUNDS; ++round) {
                const bool is = there(round);
                if (ROUNDS > 1) own = own_of(safe(round), now, w, f);
                const u32 number = (blockIdx.x * GROUPS + round * stride) / TOGETHER + warp_of(threadIdx.x);
                const u32 count = is ? count_of(round) : 0;
                take(w, f, frame, now, shot, asked, list_of(round), count, lane, safe(round), is, number, own);
            }
            if (blockIdx.x == 0 && threadIdx.x == 0) {
                *in_snapshot<SmallShot>(w, f, shot, 0) = {step, f.shots.batch};
                *in_snapshot<Frame>(w, f, shot, f.shots.frame) = frame;
#if SPLIT
                for (u32 g = 0; g < f.thermostats; ++g)
                    in_snapshot<ScalingThermostat>(w, f, shot, f.shots.thermostats)[g] = thermostats[g];
#endif
            }
            shot += 1;
            asked = due_at(f, shot);
        }
        if (done) break;

        const bool scales = MOVING && due(step, f.scale_every);
        const bool removes = SPLIT && step != w.ensemble->first && due(step, f.remove_every);
        const bool needs_sums = SPLIT && (due(step, f.rescale_every) || scales || removes);
        bool says = false;
        f64 force[3], virial[3] = {0.0, 0.0, 0.0};
        // Loads a particle where a group has several, and finds the force on it.
        auto pair_forces = [&](u32 round) {
            Sums sums = {};
            if (ROUNDS > 1) own = own_of(safe(round), now, w, f);
            const u32 count = there(round) ? count_of(round) : 0;
            if (MOVING && scales) visit<true>(sums, now, list_of(round), count, lane, seen(own), w, frame);
            else visit<false>(sums, now, list_of(round), count, lane, seen(own), w, frame);
            add_forces(sums);
            force[0] = -2.0 * f64(sums.fx);
            force[1] = -2.0 * f64(sums.fy);
            force[2] = -2.0 * f64(sums.fz);
            for (u32 k = 0; k < 3 && scales; ++k) virial[k] = over_lanes64(-f64(sums.virial[k]));
#if BONDED
            auto add_links = [&](const Share& s) {
                force[0] += over_lanes64(s.force.x);
                force[1] += over_lanes64(s.force.y);
                force[2] += over_lanes64(s.force.z);
                for (u32 k = 0; k < 3 && scales; ++k) virial[k] += over_lanes64(s.virial[k]);
            };
            if (MOVING && scales) add_links(all_links<true>(now, safe(round), there(round), lane, w, frame).s);
            else add_links(all_links<false>(now, safe(round), there(round), lane, w, frame).s);
#endif
        };
        // Moves it after all kicks; gives the square of its way since the list.
        auto go = [&](u32 round) {
            const bool is = there(round);
            const u32 i = safe(round);
            i32 crossed[3];
            const bool sound = move(own.at, own.low, own.v, crossed, own.kind, i, step, f, frame);
            const f32 displacement2 = square(apart(own.at, own.then, 0, frame));
            if (ROUNDS > 1) __syncwarp();
            if (lane == 0 && is) {
                publish(own, next, i);
                if (ROUNDS > 1) keep(own, i, w, f);
                for (u32 axis = 0; axis < 3; ++axis) {
                    if (crossed[axis] != 0) w.images[axis * f.particles + i] += crossed[axis];
                }
                if (!sound) atomicMax(&c->failed, 1 + i);
            }
            says = says || (is && (displacement2 > frame.limit2 || !sound));
            return displacement2;
        };
#if SPLIT
        const f64 first_kick = w.ensemble->leapfrog ? f.dt : 0.5 * f.dt;
        auto number = [&](u32 round) { return (blockIdx.x * GROUPS + round * stride) / TOGETHER + warp_of(threadIdx.x); };
        if (needs_sums) {
            for (u32 round = 0; round < ROUNDS; ++round) {
                pair_forces(round);
                const bool is = there(round);
                speed v[3] = {own.v[0], own.v[1], own.v[2]};
                kick(v, force, first_kick, own.kind);
                for (u32 g = 0; g < GROUPS_OF; ++g) {
                    const f64 m = is && own.kind.group == g ? own.kind.mass : 0.0;
                    write_sum(w, f, 4 * g, number(round), m * (f64(v[0]) * v[0] + f64(v[1]) * v[1] + f64(v[2]) * v[2]));
                    for (u32 k = 0; k < 3; ++k) write_sum(w, f, 4 * g + 1 + k, number(round), m * v[k]);
                }
#if MOVING
                for (u32 k = 0; k < 3 && scales; ++k) {
                    write_sum(w, f, 4 * GROUPS_OF + k, number(round), virial[k]);
                }
#endif
                if (ROUNDS > 1 && lane == 0 && is) {
                    for (u32 axis = 0; axis < 3; ++axis) w.forces[u64(axis) * f.particles + particle(round)] = force[axis];
                }
            }
            meet(meeting, false);
            add_up(totals, 0, scales ? AFTER_FORCES : 4 * GROUPS_OF, 0, w, f);
            if (threadIdx.x == 0) {
                f64 sums[4 * GROUPS_OF];
                for (u32 k = 0; k < 4 * GROUPS_OF; ++k) sums[k] = totals[k];
                change_velocities(*w.ensemble, thermostats, changes, f.dt, f.seed, step, removes, sums);
            }
            __syncthreads();
            for (u32 round = 0; round < ROUNDS; ++round) {
                if (ROUNDS > 1) {
                    own = own_of(safe(round), now, w, f);
                    for (u32 axis = 0; axis < 3; ++axis) force[axis] = w.forces[u64(axis) * f.particles + safe(round)];
                }
                const VelocityScaling change = changes[own.kind.group];
                kick(own.v, force, first_kick, own.kind);
                for (u32 axis = 0; axis < 3; ++axis) own.v[axis] = speed(own.v[axis] * change.factor - change.shift[axis]);
                kick(own.v, force, f.dt - first_kick, own.kind);
                const f32 displacement2 = go(round);
#if MOVING
                if (!scales) continue;
                const bool is = there(round);
                for (u32 k = 0; k < 3; ++k) {
                    write_sum(w, f, AFTER_FORCES + k, number(round), is ? own.kind.mass * f64(own.v[k]) * f64(own.v[k]) : 0.0);
                }
                write_highest(w, f, AFTER_FORCES + 3, number(round), is ? f64(displacement2) : 0.0);
#else
                (void)displacement2;
#endif
            }
        }
#endif
        for (u32 round = 0; !needs_sums && round < ROUNDS; ++round) {
            pair_forces(round);
            kick(own.v, force, f.dt, own.kind);
            go(round);
        }
        stale = meet(meeting, says);
#if MOVING
        if (scales) {
            add_up(totals, AFTER_FORCES, 4, 1, w, f);
            if (threadIdx.x == 0) {
                const f64 virial[3] = {totals[4 * GROUPS_OF], totals[4 * GROUPS_OF + 1], totals[4 * GROUPS_OF + 2]};
                const f64 kinetic[3] = {totals[AFTER_FORCES], totals[AFTER_FORCES + 1], totals[AFTER_FORCES + 2]};
                stretch[0] = change_cell(frames[0], *w.ensemble, f.dt * f.scale_every, f.seed, step, virial, kinetic,
                                         f32(totals[AFTER_FORCES + 3]), f64(f.radius), f.cutoff);
            }
            __syncthreads();
            cell_invalid = !stretch[0].sound;
            limited += stretch[0].limited;
            stale = stale || stretch[0].moved;
            for (u32 round = 0; round < ROUNDS; ++round) {
                for (u32 axis = 0; axis < 3; ++axis) {
                    if (ROUNDS == 1) own.v[axis] = speed(own.v[axis] * frame.pending[axis]);
                    else if (lane == 0 && there(round)) {
                        speed& v = w.velocities[axis * f.particles + particle(round)];
                        v = speed(v * frame.pending[axis]);
                    }
                }
            }
            __syncthreads();
        }
#endif
        step += 1;
        parity ^= 1;
        if (cell_invalid) break;
    }

    if (ROUNDS == 1 && lane == 0 && there(0)) keep(own, particle(0), w, f);
    for (u32 round = 0; builds > 0 && !overflow && round < ROUNDS; ++round) {
        if (!there(round)) continue;
        const u32 i = particle(round), count = count_of(round);
        if (lane == 0) w.counts[i] = count;
#if STAGED
        for (u32 k = lane; k < count; k += LANES) w.lists[u64(i) * f.capacity + k] = list_of(round)[k];
#endif
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        // Only after a meeting: all have read them by then.
#if SPLIT
        for (u32 g = 0; g < f.thermostats && meeting.turn > 0; ++g) w.thermostats[g] = thermostats[g];
#endif
#if MOVING
        for (u32 k = 0; k < 2 && meeting.turn > 0; ++k) w.frames[k] = frames[k];
        c->limited += limited;
        c->cell_invalid = cell_invalid;
#endif
        c->step = step;
        c->parity = parity;
        c->stale = stale || overflow;
        c->overflow = overflow;
        c->builds += builds;
    }
}

// Forces, and the sums of every block. Moves nothing.
KERNEL(debye_small_evaluate, EVALUATE, SmallWorld w, SmallSetup f)
{
    SHARED(f64, warps, COLUMNS * (EVALUATE / WARP));
    const u32 lane = threadIdx.x % LANES, i = (blockIdx.x * EVALUATE + threadIdx.x) / LANES;
    const bool there = i < f.particles;
#if MOVING
    const Frame& frame = w.frames[0];
#else
    const Frame& frame = f.frame;
#endif
    const u32 n = f.particles, safe = there ? i : 0;
    const Published now = published_half(w, w.control->parity, n);
    const Seen own = seen(now, safe);
    const Kind kind = w.kinds[kind_of(own.at.w)];
    const speed v[3] = {w.velocities[safe], w.velocities[n + safe], w.velocities[2 * n + safe]};
    f64 x[COLUMNS], force[3];
    const u32 count = there ? w.counts[safe] : 0;
    observe(x, force, now, safe, there, w.lists + u64(safe) * f.capacity, count, lane, own, v, kind, w, f, frame);
    if (there && lane == 0) {
        for (u32 axis = 0; axis < 3; ++axis) w.forces[axis * n + i] = force[axis];
    }
    publish_sums<EVALUATE / WARP>(w.partial + u64(blockIdx.x) * COLUMNS, x, warps);
}

// The sums of the snapshots of a launch, block by block as debye_small_evaluate has them, from those of warps. A thread
// takes a column of a block. The first one adds the words that steer, as the launch left them.
KERNEL(debye_small_shots, EVALUATE, SmallWorld w, SmallSetup f)
{
    constexpr u32 OF_BLOCK = EVALUATE / WARP;
    const u32 warps = warps_in_all(f), blocks = (warps + OF_BLOCK - 1) / OF_BLOCK;
    const u32 number = blockIdx.x * EVALUATE + threadIdx.x, column = number % COLUMNS;
    const u32 block = number / COLUMNS % blocks, shot = number / COLUMNS / blocks;
    unsigned char* all = reinterpret_cast<unsigned char*>(w.shots);
    if (number == 0) *reinterpret_cast<SmallControl*>(all + f.shots.control) = *w.control;
    if ((due_at(f, shot) & DUE_SUMS) == 0) return;
    f64 sum = 0.0;
    for (u32 k = 0; k < OF_BLOCK; ++k) {
        const u32 warp = block * OF_BLOCK + k;
        sum += warp < warps ? w.shot_sums[(u64(shot) * warps + warp) * COLUMNS + column] : 0.0;
    }
    in_snapshot<f64>(w, f, shot, f.shots.sums)[block * COLUMNS + column] = sum;
}
