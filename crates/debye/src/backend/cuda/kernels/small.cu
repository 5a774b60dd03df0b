// Many steps of a small system in one launch. All blocks are resident and meet once in a step: each adds one to a counter
// and waits until all have. Only positions travel between blocks: 16 bytes written per particle and step, and 16 read per
// entry of a list. A particle is owned by LANES lanes, which do its list, its forces (summed over the lanes in one order) and
// its motion (all of them the same, so that nothing need be sent around); nothing depends on how blocks are scheduled.
//
// Whoever moves too far says so when its block arrives, and then every group makes its own list from positions that all can
// see. A list that does not fit ends the launch before the step is done; the host makes room and goes on.
//
// Defines: THREADS of a block; ROUNDS, particles of a group (1: its velocity and the like stay in registers); STAGED (1:
// lists are kept in shared memory), and those of small.cuh and small_motion.cuh.
#include "small.cuh"
#include "small_motion.cuh"

constexpr u32 GROUPS = THREADS / LANES;
constexpr u32 EVALUATE = 256; // threads of a block that evaluates
constexpr u32 COLUMNS = TERMS + 13;

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
    const Seen now = seen(all, i);
    own.at = now.at;
    own.then = w.reference[i];
    own.kind = w.kinds[kind_of(own.at.w)];
#if PRECISION == 2
    own.low[0] = now.low.x;
    own.low[1] = now.low.y;
    own.low[2] = now.low.z;
#endif
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
#if PRECISION == 1
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
#if PRECISION == 2
    all.low[i] = seen(own).low;
#endif
}

__device__ __forceinline__ void keep(const Own& own, u32 i, const SmallWorld& w, const SmallSetup& f)
{
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
#if PRECISION == 1
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
                                         const SmallWorld& w, const SmallSetup& f, const Frame& frame)
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
            for (i32 x = -f.reach[0]; x <= f.reach[0]; ++x) {
                for (i32 y = -f.reach[1]; y <= f.reach[1]; ++y) {
                    for (i32 z = -f.reach[2]; z <= f.reach[2]; ++z) {
                        nearest2 = fminf(nearest2, square(apart(own, other, image_of(own, other, x, y, z), frame)));
                    }
                }
            }
            // Images as near as the nearest count as such too.
            nearest2 *= 1.000001f;
        }
#endif
        for (i32 x = -f.reach[0]; x <= f.reach[0]; ++x) {
            for (i32 y = -f.reach[1]; y <= f.reach[1]; ++y) {
                for (i32 z = -f.reach[2]; z <= f.reach[2]; ++z) {
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
    return count;
}

KERNEL_RESIDENT(debye_small_steps, THREADS, 1, SmallWorld w, SmallSetup f)
{
    SHARED(u32, counts, ROUNDS * GROUPS);
#if STAGED
    DYNAMIC_SHARED(u32, staged);
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
    Meeting meeting = {w.meetings, 0, {0, 0}, {0, 0}};
    u64 step = c->step;
    u32 parity = c->parity, builds = 0;
    bool stale = c->stale != 0, overflow = false;
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
    const Frame& frame = f.frame;
    Own own = own_of(safe(0), published_half(w, parity, f.particles), w, f);
    __syncthreads();

    for (;;) {
        const bool done = step >= f.target;
        const Published now = published_half(w, parity, f.particles), next = published_half(w, parity ^ 1, f.particles);
        if (stale && (!done || f.settle)) {
            if (load_relaxed(&c->lost) != 0) break;
            bool too_long = false;
            for (u32 round = 0; round < ROUNDS; ++round) {
                const bool is = there(round);
                const u32 i = safe(round);
                const uint4 at = ROUNDS == 1 ? own.at : position(now.pos, i);
                const u32 count = make_list(list_of(round), now.pos, i, is, lane, at, w, f, frame);
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
        if (done) break;

        bool says = false;
        for (u32 round = 0; round < ROUNDS; ++round) {
            const bool is = there(round);
            const u32 i = safe(round);
            if (ROUNDS > 1) own = own_of(i, now, w, f);
            Sums sums = {};
            const u32 count = is ? count_of(round) : 0;
            visit<false>(sums, now, list_of(round), count, lane, seen(own), w, frame);
            add_forces(sums);
            // Here the blocks could meet once more, for sums over all particles.
            const f64 force[3] = {-2.0 * f64(sums.fx), -2.0 * f64(sums.fy), -2.0 * f64(sums.fz)};
            kick(own.v, force, f.dt, own.kind);
            i32 crossed[3];
            const bool sound = move(own.at, own.low, own.v, crossed, own.kind, i, step, f, frame);
            const bool far = square(apart(own.at, own.then, 0, frame)) > frame.limit2;
            if (ROUNDS > 1) __syncwarp();
            if (lane == 0 && is) {
                publish(own, next, i);
                if (ROUNDS > 1) keep(own, i, w, f);
                for (u32 axis = 0; axis < 3; ++axis) {
                    if (crossed[axis] != 0) w.images[axis * f.particles + i] += crossed[axis];
                }
                if (!sound) atomicMax(&c->lost, 1 + i);
            }
            says = says || (is && (far || !sound));
        }
        stale = meet(meeting, says);
        step += 1;
        parity ^= 1;
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
        c->step = step;
        c->parity = parity;
        c->stale = stale || overflow;
        c->overflow = overflow;
        c->builds += builds;
    }
}

// Sum over a block in one order, to thread 0.
__device__ __forceinline__ f64 block_sum(f64 x, f64* shared)
{
    for (u32 step = WARP / 2; step > 0; step /= 2) x += __shfl_down_sync(ALL_LANES, x, step);
    __syncthreads();
    if (lane_of(threadIdx.x) == 0) shared[warp_of(threadIdx.x)] = x;
    __syncthreads();
    f64 sum = 0.0;
    if (threadIdx.x == 0) {
        for (u32 k = 0; k < EVALUATE / WARP; ++k) sum += shared[k];
    }
    return sum;
}

// Forces, and for every block: energies by term, virial and Σ m v⊗v (xx yy zz xy xz yz), and entries of the lists. Moves nothing.
KERNEL(debye_small_evaluate, EVALUATE, SmallWorld w, SmallSetup f)
{
    SHARED(f64, warps, EVALUATE / WARP);
    const u32 lane = threadIdx.x % LANES, i = (blockIdx.x * EVALUATE + threadIdx.x) / LANES;
    const bool there = i < f.particles;
    const u32 n = f.particles, safe = there ? i : 0;
    const Published now = published_half(w, w.control->parity, n);
    const Seen own = seen(now, safe);
    const u32 count = there ? w.counts[safe] : 0;
    Sums sums = {};
    visit<true>(sums, now, w.lists + u64(safe) * f.capacity, count, lane, own, w, f.frame);
    Sums all = sums;
    add_forces(all);
    const bool writes = there && lane == 0;
    f64 v[3] = {0.0, 0.0, 0.0}, mass = 0.0;
    if (writes) {
        const Kind kind = w.kinds[kind_of(own.at.w)];
        const f64 force[3] = {-2.0 * f64(all.fx), -2.0 * f64(all.fy), -2.0 * f64(all.fz)};
        mass = kind.mass;
        for (u32 axis = 0; axis < 3; ++axis) {
            v[axis] = f64(w.velocities[axis * n + i]) + 0.5 * f.dt * kind.inverse_mass * force[axis];
            w.forces[axis * n + i] = force[axis];
        }
    }
    f64* to = w.partial + u64(blockIdx.x) * COLUMNS;
    auto write = [&](u32 k, f64 x) {
        const f64 sum = block_sum(x, warps);
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
    write(TERMS + 12, writes ? f64(count) : 0.0);
}
