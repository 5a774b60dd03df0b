// The potential of point charges at the points of a grid.
//
// A thread owns POINTS points of a line and sums them in registers. A block stages THREADS charges at a time, relative to
// the middle of its points, and sorts them into lists in shared memory: near its points, far, so far that 1/r is nearly
// straight between points, so far that the potential along a line is a polynomial, and so far that fewer of its terms
// count. 32 bytes are read per charge and block, 4 or 8 written per point.
// Each sum has one owner, and lists have the order of the charges: nothing depends on scheduling.
//
// Lengths are in units of the points' distance along the lines. Defines: POINTS, THREADS, RESIDENT (blocks that should fit
// on a multiprocessor), UNROLL, DOUBLE, SOFTWARE (points of a thread whose roots are not left to the special function
// units), ROOT_TERMS (3 or 4), BETWEEN (points whose roots come from their neighbors', where they can), LINE_ORDER (0: no
// polynomials), FAR_ORDER (of the farthest charges), SHORT (1: a term of finite reach, printed).
#include "map_shared.cuh"
#if SHORT
#include "map_term.cuh"
#endif

#if DOUBLE
using real = f64;
using Carried = f64;
#else
using real = f32;
using Carried = float2;
#endif

struct alignas(16) Entry {
    real x, y, z, charge;
};

constexpr u32 WARPS = THREADS / WARP;
// Roots may be taken from neighbors.
#define SMOOTH (!DOUBLE && !SHORT && BETWEEN > 0)
enum Kind : u32 { NEAR, FAR, BEYOND, LINE, FAR_LINE, NONE };
constexpr u32 KINDS = LINE_ORDER > 0 ? 5 : SMOOTH ? 3 : 2;
// A list is summed when the next charges might not fit. Longer ones cost digits: all are added in the kernel's precision.
constexpr u32 LIST = 2 * THREADS;
constexpr u32 MOMENTS = LINE_ORDER > 0 ? LINE_ORDER + 1 : 0;
// From the middle of a thread's points to the last.
constexpr real HALF = real(POINTS - 1) / 2;

// 1/√x from the exponent and a polynomial, but for the factor ROOT_SCALE: right to 8.8e-7 with three terms (rms
// 4.9e-7), to 1.3e-7 with four, whatever the mantissa. The mean error is below 1e-8.
constexpr f32 ROOT_SCALE = ROOT_TERMS == 3 ? -0.3170786221f : 0.2785752717f;
__device__ __forceinline__ f32 software_root(f32 x)
{
    const f32 y = __uint_as_float(0x5f370000u - (__float_as_uint(x) >> 1));
    if (ROOT_TERMS == 3) {
        const f32 w = x * y * y - 1.3955251462f;
        return y * ((w * w + 1.1075478741f) * w - 2.6538506003f);
    }
    const f32 w = x * y * y - 1.2816902993f;
    return y * (((w * w + 0.8699855974f) * w - 1.2153006127f) * w + 3.1720266735f);
}

__device__ __forceinline__ f32 inverse_root(f32 x) { return rsqrtf(x); }
// One step of third order from 20 bits or more.
__device__ __forceinline__ f64 inverse_root(f64 x)
{
#ifdef DEBYE_EMULATED
    return rsqrt(x);
#else
    f64 y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const f64 e = 1.0 - x * y * y;
    return y + y * e * (0.5 + 0.375 * e);
#endif
}

__device__ __forceinline__ bool by_software(u32 k) { return !DOUBLE && (k + 1) * SOFTWARE / POINTS != k * SOFTWARE / POINTS; }

// What is summed in the precision of the kernel is added to the sums before it without loss.
__device__ __forceinline__ void add_to(f64& sum, f64 x) { sum += x; }
__device__ __forceinline__ void add_to(float2& sum, f32 x)
{
    const f32 total = sum.x + x, part = total - sum.x;
    sum.y += (sum.x - (total - part)) + (x - part);
    sum.x = total;
}
__device__ __forceinline__ f64 total_of(f64 sum) { return sum; }
__device__ __forceinline__ f64 total_of(float2 sum) { return f64(sum.x) + f64(sum.y); }

// x − middle.
__device__ __forceinline__ f64 difference(f64 x, f64 middle) { return x - middle; }
__device__ __forceinline__ f32 difference(f32 x, f32 low, f64 middle)
{
    const f32 high = f32(middle);
    return (x - high) + (low - f32(middle - high));
}
// The same, and what it leaves.
__device__ __forceinline__ f32 difference(f32 x, f32 low, f64 middle, f32& rest)
{
    const f32 high = f32(middle), s = x - high, part = s - x;
    const f32 error = ((x - (s - part)) - (high + part)) + (low - f32(middle - high)), d = s + error;
    rest = error - (d - s);
    return d;
}

// The points of a thread: along the line from `start` on, and where the line is.
struct Own {
    i32 start, length, across, deep;
};

// Threads take the grid in a serpentine: chunks of lines, in each strips of lines, in each rows. So the threads of a block
// are neighbors, and none is idle but at the very end.
__device__ __forceinline__ Own own_points(const MapWork& w, u64 item)
{
    const u64 deep = w.shape[2], lines = deep * w.shape[1];
    const u32 chunk = u32(item / lines);
    u64 rest = item % lines;
    if (chunk % 2 == 1) rest = lines - 1 - rest;
    // The first strips are wider by a line.
    const u64 wide = w.wide_strips * (w.width + 1) * deep;
    const bool is_wide = rest < wide;
    const u32 width = w.width + u32(is_wide);
    if (!is_wide) rest -= wide;
    const u32 strip = u32(rest / (width * deep));
    rest -= strip * (width * deep);
    const u32 row = u32(rest / width), number = is_wide ? strip : strip + w.wide_strips;
    const u32 before = is_wide ? strip * width : w.wide_strips * (width + 1) + strip * width;
    const u32 start = u32(u64(chunk) * w.shape[0] / w.chunks), end = u32((u64(chunk) + 1) * w.shape[0] / w.chunks);
    return {i32(start), i32(end - start), i32(before + u32(rest % width)), i32(number % 2 == 1 ? w.shape[2] - 1 - row : row)};
}

// What a block knows of its points: the middle of their box, half of its edges, both in the kernel's units.
struct Box {
    f64 middle[3];
    real half[3];
};

__device__ __forceinline__ Box box_of(const MapWork& w, const Own& own, i32 (&edges)[6 * WARPS])
{
    const i32 all[3][2] = {{own.start, own.start + i32(POINTS) - 1}, {own.across, own.across}, {own.deep, own.deep}};
    const u32 warp = warp_of(threadIdx.x);
#pragma unroll
    for (u32 a = 0; a < 3; ++a) {
        const i32 lowest = warp_lowest(all[a][0]), highest = warp_highest(all[a][1]);
        if (lane_of(threadIdx.x) == 0) edges[6 * warp + 2 * a] = lowest, edges[6 * warp + 2 * a + 1] = highest;
    }
    __syncthreads();
    Box box;
#pragma unroll
    for (u32 a = 0; a < 3; ++a) {
        i32 lowest = edges[2 * a], highest = edges[2 * a + 1];
        for (u32 k = 1; k < WARPS; ++k) {
            lowest = min(lowest, edges[6 * k + 2 * a]);
            highest = max(highest, edges[6 * k + 2 * a + 1]);
        }
        box.middle[a] = 0.5 * (f64(lowest) + f64(highest)) * w.ratio[a];
        box.half[a] = real(0.5 * (f64(highest) - f64(lowest)) * w.ratio[a]);
    }
    return box;
}

// Where the middle of a thread's points is, relative to the middle of its block.
struct Place {
    real x, y, z;
};

#if SHORT
struct Term {
    real reach2, numbers[5];
};
#else
struct Term {};
#endif

// The term of a charge at a point, but for the charge; `clamped`: the square of the distance that 1/r is taken at.
template <bool IS_NEAR> __device__ __forceinline__ real term_at(const Term& t, real r2, real clamped, u32 k)
{
#if SHORT
    const real inverse = inverse_root(clamped);
    const auto& n = t.numbers;
    real value;
    if (IS_NEAR) near_term(r2, inverse, n[0], n[1], n[2], n[3], n[4], value);
    else far_term(r2, inverse, n[0], n[1], n[2], n[3], n[4], value);
    return r2 < t.reach2 ? value : real(0);
#elif !DOUBLE
    if (!IS_NEAR && by_software(k)) return software_root(clamped);
#endif
    return inverse_root(clamped);
}

// Far charges: the square of every distance from that of the middle, c² ± 2ku + k².
__device__ __forceinline__ void add_far(const Entry* list, u32 count, const Place& at, const Term& term, Carried* carried)
{
    real sums[POINTS] = {};
#pragma unroll UNROLL
    for (u32 i = 0; i < count; ++i) {
        const Entry a = list[i];
        const real u = at.x - a.x, v = at.y - a.y, w = at.z - a.z;
        const real c2 = u * u + (v * v + w * w);
#pragma unroll
        for (u32 k = 0; k < POINTS; ++k) {
            const real offset = real(k) - HALF, r2 = (c2 + offset * offset) + (2 * offset) * u;
            sums[k] += a.charge * term_at<false>(term, r2, r2, k);
        }
    }
#pragma unroll
    for (u32 k = 0; k < POINTS; ++k) {
        const bool scaled = !SHORT && by_software(k);
        add_to(carried[k * THREADS], scaled ? sums[k] * real(ROOT_SCALE) : sums[k]);
    }
}

#if SMOOTH
// Charges at 12 distances of points or more: some roots from their neighbors', whose sum y is right to 1/r² (r = 12:
// xy² is between 3.97 and 4.06) before y (w² + β) makes it right to 1.3e-7, but for a factor. Three instructions
// fewer than software_root, so that a third of the roots may be of this kind before multiplications limit the speed.
__device__ constexpr u32 spread_evenly()
{
    u32 bits = 0;
    for (u32 j = 0; j < BETWEEN; ++j) bits |= 1u << (1 + j * (POINTS - 3) / (BETWEEN > 1 ? BETWEEN - 1 : 1));
    return bits;
}
constexpr u32 BETWEENS = spread_evenly();
static_assert(2 * BETWEEN < POINTS && (BETWEENS & (BETWEENS << 1)) == 0, "each has two neighbors with roots of their own");
__device__ __forceinline__ bool is_between(u32 k) { return BETWEENS >> k & 1u; }

__device__ __forceinline__ void add_beyond(const Entry* list, u32 count, const Place& at, Carried* carried)
{
    real sums[POINTS] = {};
#pragma unroll UNROLL
    for (u32 i = 0; i < count; ++i) {
        const Entry a = list[i];
        const real u = at.x - a.x, v = at.y - a.y, w = at.z - a.z;
        const real c2 = u * u + (v * v + w * w);
        real roots[POINTS];
#pragma unroll
        for (u32 k = 0; k < POINTS; ++k) {
            const real offset = real(k) - HALF, r2 = (c2 + offset * offset) + (2 * offset) * u;
            roots[k] = is_between(k) ? r2 : inverse_root(r2);
        }
#pragma unroll
        for (u32 k = 0; k < POINTS; ++k) {
            real root = roots[k];
            if (is_between(k)) {
                const real y = roots[k - 1] + roots[k + 1], from = root * y * y - 6.6854282499f;
                root = y * (from * from + 35.754063f);
            }
            sums[k] += a.charge * root;
        }
    }
#pragma unroll
    for (u32 k = 0; k < POINTS; ++k) add_to(carried[k * THREADS], is_between(k) ? sums[k] * 0.01163722f : sums[k]);
}
#endif

// Near charges: every difference by itself, and no distance below the exclusion radius.
__device__ __forceinline__ void add_near(const Entry* list, const Entry* rests, u32 count, const Place& at, const Place& low,
                                         real exclusion2, const Term& term, Carried* carried)
{
    real sums[POINTS] = {};
#pragma unroll 1
    for (u32 i = 0; i < count; ++i) {
        const Entry a = list[i], rest = DOUBLE ? Entry{} : rests[i];
        const real v = (at.y - a.y) - (rest.y - low.y), w = (at.z - a.z) - (rest.z - low.z), across2 = v * v + w * w;
#pragma unroll
        for (u32 k = 0; k < POINTS; ++k) {
            const real u = ((at.x + (real(k) - HALF)) - a.x) - rest.x, r2 = u * u + across2;
            sums[k] += a.charge * term_at<true>(term, r2, r2 < exclusion2 ? exclusion2 : r2, k);
        }
    }
#pragma unroll
    for (u32 k = 0; k < POINTS; ++k) add_to(carried[k * THREADS], sums[k]);
}

#if LINE_ORDER > 0
// Charges farther from the middle of a line than 1/x of its half length T: T^l π_l(cos θ)/R^(l+1), with Legendre polynomials
// whose first coefficient is one. The terms left out are x^(order+1)/(1 − x) of the charge's potential at most.
template <u32 ORDER> __device__ __forceinline__ void add_line(const Entry* list, u32 count, const Place& at, Carried* carried)
{
    real sums[ORDER + 1] = {};
#pragma unroll UNROLL
    for (u32 i = 0; i < count; ++i) {
        const Entry a = list[i];
        const real u = a.x - at.x, v = a.y - at.y, w = a.z - at.z;
        const real inverse = inverse_root(u * u + (v * v + w * w));
        const real narrow = HALF * inverse, p = narrow * narrow, s = (u * inverse) * narrow;
        real before = a.charge * inverse, now = s * before;
        sums[0] += before;
        sums[1] += now;
#pragma unroll
        for (u32 l = 1; l < ORDER; ++l) {
            const real next = s * now - (p * (real(l * l) / real(4 * l * l - 1))) * before;
            sums[l + 1] += next;
            before = now;
            now = next;
        }
    }
#pragma unroll
    for (u32 l = 0; l <= ORDER; ++l) add_to(carried[(POINTS + l) * THREADS], sums[l]);
}

// What the moments give at the points.
__device__ __forceinline__ void add_moments(Carried* carried)
{
    f32 moments[MOMENTS];
    f32 leading = 1;
#pragma unroll
    for (u32 l = 0; l < MOMENTS; ++l) {
        moments[l] = leading * f32(total_of(carried[(POINTS + l) * THREADS]));
        leading *= f32(2 * l + 1) / f32(l + 1);
    }
#pragma unroll
    for (u32 k = 0; k < POINTS; ++k) {
        const f32 t = (f32(k) - HALF) / HALF;
        f32 sum = moments[LINE_ORDER];
#pragma unroll
        for (i32 l = LINE_ORDER - 1; l >= 0; --l) sum = sum * t + moments[l];
        add_to(carried[k * THREADS], sum);
    }
}
#endif

// A staged charge; `rest`: what is left of near ones' coordinates.
struct Staged {
    Entry at, rest;
    u32 kind;
};

__device__ __forceinline__ Staged stage(const MapWork& w, const Box& box, const real* atoms, u32 atom, bool is_there)
{
    Staged s = {};
    s.kind = NONE;
    if (!is_there) return s;
#if DOUBLE
    const double2* from = reinterpret_cast<const double2*>(atoms) + 2 * u64(atom);
    const double2 first = from[0], second = from[1];
    s.at = {difference(first.x, box.middle[0]), difference(first.y, box.middle[1]), difference(second.x, box.middle[2]), second.y};
#else
    const float4* from = reinterpret_cast<const float4*>(atoms) + 2 * u64(atom);
    const float4 high = from[0], low = from[1];
    s.at = {difference(high.x, low.x, box.middle[0]), difference(high.y, low.y, box.middle[1]),
            difference(high.z, low.z, box.middle[2]), high.w};
#endif
    const auto outside = [](real d, real half) {
        const real beyond = (d < 0 ? -d : d) - half;
        return beyond > 0 ? beyond : real(0);
    };
    const real x = outside(s.at.x, box.half[0]), y = outside(s.at.y, box.half[1]), z = outside(s.at.z, box.half[2]);
    const real across2 = y * y + z * z, distance2 = x * x + across2;
    // Beyond half of the half diagonal, what is rounded of a coordinate costs three units in the last place of 1/r at most.
    const real diagonal2 = box.half[0] * box.half[0] + box.half[1] * box.half[1] + box.half[2] * box.half[2];
    const real near2 = real(w.exclusion2 * 1.00001), half2 = real(0.25) * diagonal2;
    s.kind = distance2 < (half2 > near2 ? half2 : near2) ? NEAR : FAR;
#if SHORT
    if (distance2 > real(w.reach2 * 1.00001)) s.kind = NONE;
#endif
#if SMOOTH
    if (s.kind == FAR && distance2 > real(144)) s.kind = BEYOND;
#endif
#if LINE_ORDER > 0
    const real from_middles = outside(s.at.x, box.half[0] - HALF);
    const real line2 = from_middles * from_middles + across2;
    if (line2 > real(w.line2)) s.kind = line2 > real(w.far_line2) ? FAR_LINE : LINE;
#endif
#if !DOUBLE
    if (s.kind == NEAR) {
        s.at.x = difference(high.x, low.x, box.middle[0], s.rest.x);
        s.at.y = difference(high.y, low.y, box.middle[1], s.rest.y);
        s.at.z = difference(high.z, low.z, box.middle[2], s.rest.z);
    }
#endif
    return s;
}

// How many charges there are of each kind: some bits each.
constexpr u32 BITS = 12;
static_assert(LIST < 1u << BITS && KINDS * BITS <= 64, "counts fit");
__device__ __forceinline__ u32 count_of(u64 counts, u32 kind) { return u32(counts >> (BITS * kind)) & ((1u << BITS) - 1); }

KERNEL_RESIDENT(debye_map_points, THREADS, RESIDENT, MapWork work, const real* atoms, const u32* starts, real* values, f64* parts)
{
    SHARED(Entry, lists, KINDS * LIST);
    SHARED(Entry, rests, DOUBLE ? 1 : LIST);
    SHARED(Carried, all_carried, (POINTS + MOMENTS) * THREADS);
    SHARED(u64, votes, WARPS);
    SHARED(i32, edges, 6 * WARPS);
    const u32 warp = warp_of(threadIdx.x), lane = lane_of(threadIdx.x);
    const u64 item = u64(blockIdx.x) * THREADS + threadIdx.x;
    const bool is_idle = item >= work.items;
    const Own own = own_points(work, is_idle ? work.items - 1 : item);
    const Box box = box_of(work, own, edges);
    const f64 exact_y = own.across * work.ratio[1] - box.middle[1], exact_z = own.deep * work.ratio[2] - box.middle[2];
    const Place at = {real(own.start - box.middle[0]) + HALF, real(exact_y), real(exact_z)};
    Carried* carried = all_carried + threadIdx.x;
#pragma unroll
    for (u32 k = 0; k < POINTS + MOMENTS; ++k) carried[k * THREADS] = Carried{};
    Term term;
#if SHORT
    term.reach2 = real(work.reach2);
#pragma unroll
    for (u32 k = 0; k < 5; ++k) term.numbers[k] = real(work.numbers[k]);
#endif
    u64 counts = 0;
    const auto flush = [&](u32 limit) {
        // Whether a list is to be summed: it is empty then.
        const auto begins = [&](u32 kind, u32& count) {
            count = count_of(counts, kind);
            if (count <= limit) return false;
            counts -= u64(count) << (BITS * kind);
            return true;
        };
        u32 count;
        if (begins(FAR, count)) add_far(lists + FAR * LIST, count, at, term, carried);
#if SMOOTH
        if (begins(BEYOND, count)) add_beyond(lists + BEYOND * LIST, count, at, carried);
#endif
#if LINE_ORDER > 0
        if (begins(LINE, count)) add_line<LINE_ORDER>(lists + LINE * LIST, count, at, carried);
        if (begins(FAR_LINE, count)) add_line<FAR_ORDER>(lists + FAR_LINE * LIST, count, at, carried);
#endif
        if (begins(NEAR, count)) {
            const Place low = {0, real(exact_y - f64(at.y)), real(exact_z - f64(at.z))};
            add_near(lists, rests, count, at, low, real(work.exclusion2), term, carried);
        }
    };
    // All threads of a block call it together; lists longer than a limit are summed.
    const auto take = [&](u32 atom, bool is_there, u32 limit) {
        const Staged s = stage(work, box, atoms, atom, is_there);
        u64 vote = 0;
        u32 alike = 0;
#pragma unroll
        for (u32 kind = 0; kind < KINDS; ++kind) {
            const u32 lanes = __ballot_sync(ALL_LANES, s.kind == kind);
            vote |= u64(__popc(lanes)) << (BITS * kind);
            if (s.kind == kind) alike = lanes;
        }
        if (lane == 0) votes[warp] = vote;
        __syncthreads();
        u64 before = counts;
#pragma unroll
        for (u32 k = 0; k < WARPS; ++k) {
            if (k < warp) before += votes[k];
            counts += votes[k];
        }
        if (s.kind != NONE) {
            const u32 to = count_of(before, s.kind) + u32(__popc(alike & lanes_below(lane)));
            lists[s.kind * LIST + to] = s.at;
            if (!DOUBLE && s.kind == NEAR) rests[to] = s.rest;
        }
        __syncthreads();
        flush(limit);
    };

#if SHORT
    // Charges lie sorted by cubes of space, which follow one another along z. Each thread looks up one row of cubes that
    // are within reach of the box; then all take the charges of these rows one after another.
    SHARED(u32, row_starts, THREADS);
    SHARED(u32, row_ends, THREADS);
    SHARED(u32, row_totals, WARPS);
    u32 first[3], last[3];
#pragma unroll
    for (u32 a = 0; a < 3; ++a) {
        // Along x, y, z, not in the order of lines, strips and rows.
        const bool is_line = work.axes[0] == a, is_across = work.axes[1] == a;
        const f64 middle = is_line ? box.middle[0] : is_across ? box.middle[1] : box.middle[2];
        const f64 half = f64(is_line ? box.half[0] : is_across ? box.half[1] : box.half[2]) + work.reach * 1.00001;
        const auto cube = [&](f64 x) {
            const f64 place = (x - work.cube_lower[a]) / work.cube_edge;
            return place > 0 ? smaller(u32(place < 4e9 ? place : 4e9), work.cubes[a] - 1) : 0u;
        };
        first[a] = cube(middle - half);
        last[a] = cube(middle + half);
    }
    const u32 rows_y = last[1] - first[1] + 1, rows = (last[0] - first[0] + 1) * rows_y;
    for (u32 group = 0; group < rows; group += THREADS) {
        const u32 row = group + threadIdx.x;
        u32 begin = 0, length = 0;
        if (row < rows) {
            const u64 cube = (u64(first[0] + row / rows_y) * work.cubes[1] + first[1] + row % rows_y) * work.cubes[2];
            begin = starts[cube + first[2]];
            length = starts[cube + last[2] + 1] - begin;
        }
        u32 end = warp_inclusive(length, lane);
        if (lane == WARP - 1) row_totals[warp] = end;
        __syncthreads();
        u32 total = 0;
        for (u32 k = 0; k < WARPS; ++k) {
            if (k < warp) end += row_totals[k];
            total += row_totals[k];
        }
        row_ends[threadIdx.x] = end;
        // The first charge of the row less its place among those of the group.
        row_starts[threadIdx.x] = begin - (end - length);
        __syncthreads();
        for (u32 from = 0; from < total; from += THREADS) {
            const u32 place = from + threadIdx.x;
            u32 low = 0;
#pragma unroll
            for (u32 step = THREADS / 2; step > 0; step /= 2) {
                if (row_ends[low + step - 1] <= place) low += step;
            }
            take(row_starts[low] + place, place < total, LIST - THREADS);
        }
    }
    flush(0);
#else
    const u64 begin = u64(blockIdx.y) * work.per_part, end = smaller(begin + work.per_part, u64(work.atoms));
    for (u64 from = begin; from < end; from += THREADS) {
        take(u32(from) + threadIdx.x, from + threadIdx.x < end, from + THREADS < end ? LIST - THREADS : 0);
    }
#endif
#if LINE_ORDER > 0
    add_moments(carried);
#endif
    if (is_idle) return;
    const u64 to = own.start * work.strides[0] + own.across * work.strides[1] + own.deep * work.strides[2];
#pragma unroll
    for (u32 k = 0; k < POINTS; ++k) {
        if (i32(k) >= own.length) break;
        const f64 total = total_of(carried[k * THREADS]);
        const u64 point = to + k * work.strides[0];
        if (gridDim.y == 1) values[point] = real((work.adds ? f64(values[point]) : 0) + work.scale * total);
        else parts[blockIdx.y * work.points + point] = total;
    }
}

// Adds up what blocks found that had a part of the charges each; a thread has a point.
KERNEL(debye_map_total, 256, MapWork work, const f64* parts, u32 number, real* values)
{
    const u64 point = u64(blockIdx.x) * 256 + threadIdx.x;
    if (point >= work.points) return;
    f64 total = 0;
    for (u32 k = 0; k < number; ++k) total += parts[k * work.points + point];
    values[point] = real(work.scale * total);
}
