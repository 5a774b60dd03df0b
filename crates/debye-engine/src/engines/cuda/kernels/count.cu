// Pairs of particles by their distance. Those that are to be counted are gathered into groups of 32 with a box around
// each; then a warp counts the pairs of two groups whose boxes are near each other.
//
// Differences wrap around as the cell does. Along axes that end, coordinates are halved when they are gathered: then
// none wraps. A distance comes from the upper halves of coordinates in single precision. Where that leaves open which
// interval it is in, it comes from whole coordinates in double precision. So the counts are those of double precision,
// but for pairs within rounding of an edge, and being whole numbers they do not depend on any order.
#include "count_shared.cuh"

constexpr u32 GATHERED_WARPS = GATHERED / WARP;
constexpr u32 COUNTING_WARPS = COUNTING / WARP;
// Where the number within a group begins, after the two bits of the set.
constexpr u32 NUMBER = 2;

// Blocks go through configurations one after the other: which of those in `f.those` this block is for, its number among
// the blocks of that, and which of them it is.
struct Share {
    u32 which, turn, block;
};
__device__ __forceinline__ Share share_of(const Counting& f, u32 blocks)
{
    const u32 turn = blockIdx.x / blocks;
    u32 left = f.those;
    for (u32 k = 0; k < turn; ++k) left &= left - 1;
    return {u32(__ffs(i32(left)) - 1), turn, blockIdx.x % blocks};
}

// What a configuration has so many bytes after the first.
template <class T> __device__ __forceinline__ T* of_share(T* first, const Counting& f, const Share& s)
{
    return reinterpret_cast<T*>(u64(first) + s.which * f.stride);
}

__device__ __forceinline__ u32 half_at(const u32* word) { return word == nullptr ? 0 : *word; }

__device__ __forceinline__ u32 slots_used(const Counted& w, const Counting& f)
{
    return w.blocks == nullptr ? f.slots : smaller(*w.blocks * f.block, f.slots);
}

// Halves a coordinate, or leaves it as it is.
__device__ __forceinline__ void halve(u32& high, u32& low, u32 by)
{
    const u64 whole = (u64(high) << 32 | low) >> by;
    high = u32(whole >> 32);
    low = u32(whole);
}

// Lengths of the frame per turn of a coordinate, along a, b or c.
__device__ __forceinline__ f64 turn_of(const Counting& f, u32 axis) { return (f.open >> axis & 1) != 0 ? 2.0 : 1.0; }

// The lowest and the highest of a block, given to every thread; where nobody is, of none.
__device__ __forceinline__ void block_range(i32 x, bool there, i32* lowest, i32* highest, i32& low, i32& high)
{
    const u32 lane = lane_of(threadIdx.x), warp = warp_of(threadIdx.x);
    low = warp_lowest(there ? x : 0x7fffffff);
    high = warp_highest(there ? x : -0x7fffffff);
    __syncthreads();
    if (lane == 0) lowest[warp] = low, highest[warp] = high;
    __syncthreads();
    low = warp_lowest(lowest[lane]);
    high = warp_highest(highest[lane]);
}

// A block gathers from its share of the slots. Those of a column are one layer after the other: in four parts, by x and
// y, so that groups are about as long as they are wide; within a part in their order.
KERNEL(debye_count_gather, GATHERED, Counted w, Counting f)
{
    static_assert(GATHERED_WARPS == WARP, "a lane for every warp");
    constexpr u32 PARTS = 4;
    SHARED(u32, before, PARTS * WARP);
    SHARED(i32, lowest, WARP);
    SHARED(i32, highest, WARP);
    SHARED(u32, anchor, 2);
    const u32 thread = threadIdx.x, lane = lane_of(thread), warp = warp_of(thread);
    const Share share = share_of(f, f.gathered);
    const u32 before_me = share.block * GATHERED, slot = before_me + thread, used = slots_used(w, f);
    const u32 first = share.turn * f.gathered * GATHERED + before_me;
    if (f.clears != 0 && share.block == 0) {
        u64* counts = of_share(w.counts, f, share) + f.first;
        for (u32 k = thread; k < f.bins; k += GATHERED) counts[k] = 0;
    }
    uint4 at = {0, 0, 0, 0};
    u32 set = 0;
    if (slot < used) {
        at = of_share(w.pos, f, share)[u64(half_at(w.parity)) * f.slots + slot];
        if (at.w != EMPTY_SLOT) {
            const u32 id = w.ids == nullptr ? slot : w.ids[u64(*w.side) * f.slots + slot];
            set = w.sets[id] >> f.shift & 3;
        }
    }
    uint4 low = {0, 0, 0, 0};
    if (set != 0) {
        if (w.low != nullptr) {
            const u32* all = of_share(w.low, f, share) + u64(half_at(w.low_half)) * f.low_words;
            const u32* of = all + u64(slot) * f.low_stride;
            low = {of[0], of[f.low_axis], of[2 * u64(f.low_axis)], 0};
        }
        halve(at.x, low.x, f.open & 1);
        halve(at.y, low.y, f.open >> 1 & 1);
        halve(at.z, low.z, f.open >> 2 & 1);
    }
    if (thread == 0) anchor[0] = at.x, anchor[1] = at.y;
    __syncthreads();
    const i32 x = i32(at.x - anchor[0]), y = i32(at.y - anchor[1]);
    i32 low_x, high_x, low_y, high_y;
    block_range(x, set != 0, lowest, highest, low_x, high_x);
    block_range(y, set != 0, lowest, highest, low_y, high_y);
    const u32 part = (2 * i64(x) > i64(low_x) + high_x ? 1 : 0) + (2 * i64(y) > i64(low_y) + high_y ? 2 : 0);
    u32 own = 0;
    for (u32 k = 0; k < PARTS; ++k) {
        const u32 of_part = __ballot_sync(ALL_LANES, set != 0 && part == k);
        if (lane == 0) before[k * WARP + warp] = __popc(of_part);
        if (part == k) own = __popc(of_part & lanes_below(lane));
    }
    __syncthreads();
    if (warp == 0) {
        u32 sum = 0;
        for (u32 k = 0; k < PARTS; ++k) {
            const u32 here = before[k * WARP + lane], through = warp_inclusive(here, lane);
            before[k * WARP + lane] = sum + through - here;
            sum += __shfl_sync(ALL_LANES, through, WARP - 1);
        }
        if (lane == 0) lowest[0] = i32(sum);
    }
    __syncthreads();
    const u32 all = u32(lowest[0]);
    if (set != 0) {
        const u32 to = first + before[part * WARP + warp] + own;
        w.chosen[to] = {at.x, at.y, at.z, set};
        w.fine[to] = low;
    }
    __syncthreads();
    const u32 begin = warp * WARP, members = all > begin ? smaller(all - begin, WARP) : 0;
    CountBox box = {};
    box.members = members;
    if (members != 0) {
        const bool there = lane < members;
        const uint4 own = w.chosen[first + begin + (there ? lane : 0)];
        const u32 place[3] = {own.x, own.y, own.z};
        for (u32 k = 0; k < 3; ++k) {
            const u32 anchor = __shfl_sync(ALL_LANES, place[k], 0);
            const i32 d = there ? i32(place[k] - anchor) : 0;
            const i64 low = warp_lowest(d), high = warp_highest(d);
            box.middle[k] = anchor + u32((low + high) / 2);
            box.half[k] = f32((high - low) / 2 + 2);
        }
    }
    if (lane == 0) w.boxes[first / WARP + warp] = box;
}

// What distances are measured with.
struct Metric {
    f32 unit[6];      // lengths per unit of the upper halves: ax by cz bx cx cy
    f32 height[3];    // between faces, per unit
    f32 scale;        // intervals per length
    f32 reach;
    f32 reach2;       // a little more than the square of the largest distance
    f32 relative;     // how far a number of intervals may be off
    f32 absolute;
};

__device__ __forceinline__ Metric metric_of(const Frame& frame, const Counting& f)
{
    constexpr f32 UPPER = 1.0f / 4294967296.0f;
    const u32 axes[6] = {0, 1, 2, 1, 2, 2};
    const f64* c = frame.cell;
    Metric m;
    for (u32 k = 0; k < 6; ++k) m.unit[k] = f32(turn_of(f, axes[k]) * c[k] * (1.0 / 4294967296.0));
    for (u32 k = 0; k < 3; ++k) m.height[k] = f32(turn_of(f, k)) * frame.height[k] * UPPER;
    const f32 lengths[3] = {f32(c[0]), sqrtf(f32(c[1] * c[1] + c[3] * c[3])),
                            sqrtf(f32(c[2] * c[2] + c[4] * c[4] + c[5] * c[5]))};
    // Fractions of pairs within reach are at most r / height, so that no term is larger than r × length / height; each is
    // rounded a few times.
    f32 steep = 0, all = 0;
    for (u32 k = 0; k < 3; ++k) {
        steep += lengths[k] / frame.height[k];
        all += lengths[k];
    }
    m.scale = f32(f.scale);
    m.relative = 4e-7f * steep;
    // Upper halves are rounded down, and may have been halved; places are seen from a middle up to thrice the reach away.
    m.absolute = (4.0f * UPPER * all + 1e-6f * steep * f32(f.reach)) * m.scale + 1e-6f;
    const f32 reach = f32(f.reach) * (1.0f + 2.0f * m.relative) + m.absolute / m.scale;
    m.reach = reach;
    m.reach2 = reach * reach;
    return m;
}

// Whether a box may have anybody within reach of another, which is at a place and so large.
__device__ __forceinline__ bool is_within(const Metric& m, const Counting& f, const CountBox& here, const u32 (&middle)[3],
                                          const f32 (&half)[3])
{
    f32 gap2 = 0, widest = 0;
    for (u32 k = 0; k < 3; ++k) {
        const f32 apart = fabsf(f32(i32(here.middle[k] - middle[k])));
        const f32 gap = fmaxf(apart * 0.999999f - here.half[k] - half[k], 0.0f) * m.height[k];
        gap2 += gap * gap;
        widest = fmaxf(widest, gap * gap);
    }
    return (f.right_angled != 0 ? gap2 : widest) < m.reach2;
}

// A difference of upper halves in lengths.
struct Apart {
    f32 x, y, z;
};
__device__ __forceinline__ Apart apart(const Metric& m, u32 ax, u32 ay, u32 az, u32 bx, u32 by, u32 bz)
{
    const f32 dx = f32(i32(ax - bx)), dy = f32(i32(ay - by)), dz = f32(i32(az - bz));
    return {dx * m.unit[0] + dy * m.unit[3] + dz * m.unit[4], dy * m.unit[1] + dz * m.unit[5], dz * m.unit[2]};
}

// The interval of a pair by whole coordinates; none: all of them.
CALLED u32 exact_interval(const Counted& w, const Counting& f, const Frame* frame, u32 i, u32 j)
{
    const uint4 a = w.chosen[i], b = w.chosen[j], low_a = w.fine[i], low_b = w.fine[j];
    const f64* c = frame->cell;
    constexpr f64 WHOLE = 1.0 / 18446744073709551616.0;
    const f64 s[3] = {f64(i64((u64(b.x) << 32 | low_b.x) - (u64(a.x) << 32 | low_a.x))) * turn_of(f, 0) * WHOLE,
                      f64(i64((u64(b.y) << 32 | low_b.y) - (u64(a.y) << 32 | low_a.y))) * turn_of(f, 1) * WHOLE,
                      f64(i64((u64(b.z) << 32 | low_b.z) - (u64(a.z) << 32 | low_a.z))) * turn_of(f, 2) * WHOLE};
    const f64 x = s[0] * c[0] + s[1] * c[3] + s[2] * c[4], y = s[1] * c[1] + s[2] * c[5], z = s[2] * c[2];
    const f64 r2 = x * x + y * y + z * z;
    return r2 < f.reach * f.reach ? smaller(u32(sqrt(r2) * f.scale), f.bins - 1) : f.bins;
}

// Blocks of a multiprocessor. Those before Ampere have room for 1,024 threads.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr u32 COUNTING_RESIDENT = 4;
#else
constexpr u32 COUNTING_RESIDENT = 5;
#endif

// Blocks have histograms of their own. A warp takes a group and some of those after it, half of all at most, round the
// end: so each pair of groups is met once.
KERNEL_RESIDENT(debye_count_pairs, COUNTING, COUNTING_RESIDENT, Counted w, Counting f)
{
    DYNAMIC_SHARED(u32, histogram);
    SHARED(uint4, others_of, COUNTING);
    SHARED(u32, taken, 1);
    const u32 thread = threadIdx.x, lane = lane_of(thread), warp = warp_of(thread);
    uint4* others = others_of + warp * WARP;
    const Share share = share_of(f, f.counted);
    const Frame* frame = of_share(w.frame, f, share);
    const Metric m = metric_of(*frame, f);
    const u32 before_me = share.turn * f.gathered * GATHERED_WARPS;
    const CountBox* boxes = w.boxes + before_me;
    const uint4* chosen = w.chosen + u64(before_me) * WARP;
    u64* counts = of_share(w.counts, f, share) + f.first;
    const u32 groups = (slots_used(w, f) + GATHERED - 1) / GATHERED * GATHERED_WARPS, half = groups / 2;
    const u32 chunks = half / f.chunk + 1;
    const u64 items = u64(groups) * chunks, at_once = u64(f.counted) * COUNTING_WARPS;
    const u64 rounds = (items + at_once * ROUND - 1) / (at_once * ROUND);
    for (u64 round = 0; round < rounds; ++round) {
        for (u32 k = thread; k < f.bins; k += COUNTING) histogram[k] = 0;
        if (thread == 0) taken[0] = 0;
        __syncthreads();
        for (;;) {
            u32 turn = lane == 0 ? atomicAdd(taken, 1u) : 0;
            turn = __shfl_sync(ALL_LANES, turn, 0);
            if (turn >= ROUND * COUNTING_WARPS) break;
            const u64 item = (round * ROUND * COUNTING_WARPS + turn) * f.counted + share.block;
            if (item >= items) break;
            const u32 i = u32(item % groups), first = u32(item / groups) * f.chunk;
            const CountBox here = boxes[i];
            if (here.members == 0) continue;
            const uint4 own = chosen[i * WARP + (lane < here.members ? lane : 0)];
            const u32 own_set = lane < here.members ? own.w : 0;
            // Whether places may be seen from the middle of the box: nobody is near two images of another, and the box is
            // not so long that lengths from its middle lose digits.
            bool plain = true;
            for (u32 k = 0; k < 3; ++k) {
                const f32 reach = m.reach / m.height[k];
                plain = plain && here.half[k] + reach < 2147480000.0f && here.half[k] < 2.0f * reach;
            }
            const Apart from_middle = apart(m, own.x, own.y, own.z, here.middle[0], here.middle[1], here.middle[2]);
            // A group is opposite itself where their number is even: then one of the two counts.
            const u32 ahead = first + lane;
            bool is_near = lane < f.chunk && ahead <= half && !(groups % 2 == 0 && ahead == half && i >= half);
            u32 members = 0, j = i + ahead < groups ? i + ahead : i + ahead - groups;
            if (is_near) {
                const CountBox there = boxes[j];
                members = there.members;
                is_near = members != 0 && is_within(m, f, here, there.middle, there.half);
            }
            for (u32 left = __ballot_sync(ALL_LANES, is_near); left != 0; left &= left - 1) {
                const u32 which = __ffs(left) - 1;
                const u32 other = __shfl_sync(ALL_LANES, j, which), of_it = __shfl_sync(ALL_LANES, members, which);
                // Those near the box of this group, side by side, each with its number.
                uint4 at = chosen[other * WARP + (lane < of_it ? lane : 0)];
                const u32 middle[3] = {at.x, at.y, at.z};
                const f32 none[3] = {0.0f, 0.0f, 0.0f};
                const u32 kept = __ballot_sync(ALL_LANES, lane < of_it && is_within(m, f, here, middle, none));
                at.w |= lane << NUMBER;
                if (plain) {
                    const Apart d = apart(m, at.x, at.y, at.z, here.middle[0], here.middle[1], here.middle[2]);
                    at.x = __float_as_uint(d.x);
                    at.y = __float_as_uint(d.y);
                    at.z = __float_as_uint(d.z);
                }
                __syncwarp();
                if ((kept >> lane & 1) != 0) others[__popc(kept & lanes_below(lane))] = at;
                __syncwarp();
                const u32 last = __popc(kept);
                // Within a group, those after oneself.
                const u32 begin = other == i ? lane + 1 : 0;
                auto count = [&](const Apart& d, u32 who) {
                    const f32 r2 = d.x * d.x + d.y * d.y + d.z * d.z;
                    const u32 number = who >> NUMBER;
                    if (!(r2 < m.reach2) || own_set == 0 || (own_set ^ (who & 3)) != f.differ || number < begin) return;
                    const f32 at = r2 * rsqrtf(r2) * m.scale, margin = at * m.relative + m.absolute;
                    u32 interval = u32(at);
                    const f32 rest = at - f32(interval);
                    // Also where there is no telling at all: at no distance.
                    if (!(rest > margin && rest < 1.0f - margin))
                        interval = exact_interval(w, f, frame, (before_me + i) * WARP + lane,
                                                  (before_me + other) * WARP + number);
                    if (interval < f.bins) atomicAdd(&histogram[interval], 1u);
                };
                if (plain) {
                    for (u32 s = 0; s < last; ++s) {
                        const uint4 b = others[s];
                        count({__uint_as_float(b.x) - from_middle.x, __uint_as_float(b.y) - from_middle.y,
                               __uint_as_float(b.z) - from_middle.z}, b.w);
                    }
                } else {
                    for (u32 s = 0; s < last; ++s) {
                        const uint4 b = others[s];
                        count(apart(m, b.x, b.y, b.z, own.x, own.y, own.z), b.w);
                    }
                }
            }
        }
        __syncthreads();
        for (u32 k = thread; k < f.bins; k += COUNTING)
            if (histogram[k] != 0) atomicAdd(&counts[k], u64(histogram[k]));
        __syncthreads();
    }
}
