// Rigid waters, four lanes to each: a lane has a particle and the side from it to the next; the fourth is a copy of the first.
//
// Pushes along the sides of before bring the lengths back, as by SETTLE, but by Newton's method (M-SHAKE: Kräutler, van
// Gunsteren & Hünenberger, J. Comput. Chem. 22, 501 (2001)): how far the squares of sides are off is found in double
// precision, the pushes that mend it from three linear equations in single precision, and so again. Each round adds about
// six digits once it has begun to converge, so that three or four are enough and double precision needs no quotients and no
// roots. Molecules that turned by too much for this are left to the formulas of SETTLE.
#pragma once
#include "hold.cuh"

constexpr u32 HANDS = 4;
// Blocks that should fit on a multiprocessor: registers for all waters of a large system at once.
constexpr u32 HOLDERS_RESIDENT = LANGEVIN ? 5 : 8;
// Waters of a block.
constexpr u32 WATERS = HOLDERS / HANDS;

struct Short {
    f32 x, y, z;
};
__device__ __forceinline__ Short short_of(const Vector& v) { return {f32(v.x), f32(v.y), f32(v.z)}; }
__device__ __forceinline__ f32 dot(const Short& a, const Short& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

// What another lane has. All lanes of the warp call it.
template <class T> __device__ __forceinline__ T of_lane(T x, u32 lane) { return __shfl_sync(ALL_LANES, x, lane); }
__device__ __forceinline__ Vector of_lane(const Vector& v, u32 lane)
{
    return {of_lane(v.x, lane), of_lane(v.y, lane), of_lane(v.z, lane)};
}
__device__ __forceinline__ Short of_lane(const Short& v, u32 lane)
{
    return {of_lane(v.x, lane), of_lane(v.y, lane), of_lane(v.z, lane)};
}
__device__ __forceinline__ Exact of_lane(const Exact& at, u32 lane)
{
    return {of_lane(at.x, lane), of_lane(at.y, lane), of_lane(at.z, lane)};
}

// A particle of a water, and the side from it to the next.
struct Corner {
    u32 water;
    bool exists;  // else nothing is read or written for it
    u32 number;   // 0, 1 or 2
    u32 first, next, before; // lanes
    bool there;   // not a copy, and of a water that exists
    const f64* shape;
    f64 inverse_mass, next_inverse_mass;
    f64 square;   // of the length
    f32 per_square;
};

__device__ __forceinline__ Corner corner_of(const Held& h, u32 thread_of_waters)
{
    Corner c;
    const u32 lane = lane_of(thread_of_waters), k = lane % HANDS, water = thread_of_waters / HANDS;
    c.exists = water < h.waters;
    c.there = k < 3 && c.exists;
    c.water = smaller(water, h.waters - 1);
    c.number = k < 3 ? k : 0;
    c.first = lane - k;
    c.next = c.first + (c.number == 2 ? 0 : c.number + 1);
    c.before = c.first + (c.number == 0 ? 2 : c.number - 1);
    c.shape = h.shapes + SHAPE * h.shape_of[c.water];
    c.inverse_mass = c.shape[c.number == 0 ? 2 : 3];
    c.next_inverse_mass = c.shape[c.number == 2 ? 2 : 3];
    const f64 length = c.shape[c.number == 1 ? 8 : 7];
    c.square = length * length;
    c.per_square = 1.0f / f32(c.square);
    return c;
}

// Its own side, the one that ends in it, and all three as short vectors.
struct Sides {
    Vector own, before;
    Short own32, next32, before32;
};
__device__ __forceinline__ Sides sides_of(const Corner& c, const Vector& own)
{
    const Short short_own = short_of(own);
    return {own, of_lane(own, c.before), short_own, of_lane(short_own, c.next), of_lane(short_own, c.before)};
}

// Where it is, relative to the first.
__device__ __forceinline__ Vector place_of(const Corner& c, const Sides& s)
{
    if (c.number == 0) return {0.0, 0.0, 0.0};
    return c.number == 1 ? -s.before : s.own;
}

// Three equations, a row in each lane: own × g + next × (g of the next) + before × (g of the one before) = right.
struct Rows {
    f32 own[3], next[3], before[3];
    __device__ __forceinline__ Rows(const Corner& c, f32 a, f32 b, f32 d)
        : own{a, of_lane(a, c.next), of_lane(a, c.before)}, next{b, of_lane(b, c.next), of_lane(b, c.before)},
          before{d, of_lane(d, c.next), of_lane(d, c.before)}
    {
    }
    // This lane's g, by Cramer's rule. The rows of the others begin with the unknown of this one.
    __device__ __forceinline__ f32 solved(const Corner& c, f32 right) const
    {
        const f32 second = of_lane(right, c.next), third = of_lane(right, c.before);
        const f32 minor = own[1] * own[2] - next[1] * before[2];
        const f32 determinant = own[0] * minor - next[0] * (before[1] * own[2] - next[1] * next[2]) +
                                before[0] * (before[1] * before[2] - own[1] * next[2]);
        const f32 top = right * minor - next[0] * (second * own[2] - next[1] * third) +
                        before[0] * (second * before[2] - own[1] * third);
        return top / determinant;
    }
};

// How this particle moves by pushes g along the sides.
__device__ __forceinline__ Vector pushed(const Corner& c, const Sides& s, f64 g)
{
    const f64 before = of_lane(g, c.before);
    return (s.own * g - s.before * before) * c.inverse_mass;
}

// Bits of the four lanes of this molecule.
__device__ __forceinline__ bool any_of(const Corner& c, bool mine)
{
    return (__ballot_sync(ALL_LANES, mine) >> c.first & 15u) != 0;
}

constexpr u32 MOST_ROUNDS = 12;
// Squares of sides that are off by less than this are right to all digits after one more round.
constexpr f32 NEARLY = 1e-9f;
// The cosine of the largest turn of a side that is left to Newton's method.
constexpr f32 LEAST_TURN = 0.7f;

// What must be added to a step of this particle, so that all sides have their lengths. False where SETTLE must say.
__device__ __forceinline__ bool hold_side(Vector& added, const Corner& c, const Sides& s, const Vector& step)
{
    const f32 mine = 2.0f * f32(c.inverse_mass) * c.per_square, its = 2.0f * f32(c.next_inverse_mass) * c.per_square;
    f64 g = 0.0;
    bool done = !c.exists, sound = true;
    added = {0.0, 0.0, 0.0};
    for (u32 round = 0; round < MOST_ROUNDS; ++round) {
        const Vector moved = step + added, now = s.own + (moved - of_lane(moved, c.next));
        const Short d = short_of(now);
        const f32 off = f32(c.square - dot(now, now)) * c.per_square, along = dot(d, s.own32);
        const Rows rows(c, (mine + its) * along, -its * dot(d, s.next32), -mine * dot(d, s.before32));
        const f32 more = rows.solved(c, off);
        const bool far = any_of(c, !(along * c.per_square > LEAST_TURN) || !(fabsf(more) < 1e30f));
        const bool last = !any_of(c, !(fabsf(off) < NEARLY));
        // A molecule that is done waits for the others of its warp.
        if (!done) {
            sound = !far;
            g += far ? 0.0 : f64(more);
        }
        done = done || far || last;
        added = pushed(c, s, g);
        if (__all_sync(ALL_LANES, done)) break;
    }
    return sound && done;
}

// SETTLE, called where it is needed and given numbers, so that it takes nothing from the others: three places of before and
// three after a free step, of which it makes what must be added to each. False where there is no answer.
CALLED bool settle_alone(f64* numbers, const f64* shape)
{
    Vector old[3], free[3], held[3];
    for (u32 k = 0; k < 3; ++k) {
        old[k] = {numbers[3 * k], numbers[3 * k + 1], numbers[3 * k + 2]};
        free[k] = {numbers[9 + 3 * k], numbers[10 + 3 * k], numbers[11 + 3 * k]};
    }
    settle(held, shape, old, free);
    for (u32 k = 0; k < 3; ++k) {
        const Vector added = held[k] - free[k];
        numbers[3 * k] = added.x;
        numbers[3 * k + 1] = added.y;
        numbers[3 * k + 2] = added.z;
    }
    return are_numbers(held);
}
CALLED void give_up_water(Control* control, const f64* numbers, const f64* shape, u32 water, u32 particle)
{
    Vector free[3];
    for (u32 k = 0; k < 3; ++k) free[k] = {numbers[9 + 3 * k], numbers[10 + 3 * k], numbers[11 + 3 * k]};
    give_up(control, 3 * water, worst_side(shape, free), particle);
}

// A drift for a time, and what brings the lengths back: velocities get their share, `step` is the way. All lanes call it.
__device__ __forceinline__ bool drift_corner(const World& w, const Held& h, const Corner& c, const Sides& s, Vector& v, f64 time,
                                             Vector& step)
{
    step = v * time;
    Vector added;
    bool held = hold_side(added, c, s, step);
    if (!__all_sync(ALL_LANES, held)) {
        f64 numbers[18];
        const Vector place = place_of(c, s);
        for (u32 k = 0; k < 3; ++k) {
            const Vector old = of_lane(place, c.first + k), free = old + of_lane(step, c.first + k);
            numbers[3 * k] = old.x, numbers[3 * k + 1] = old.y, numbers[3 * k + 2] = old.z;
            numbers[9 + 3 * k] = free.x, numbers[10 + 3 * k] = free.y, numbers[11 + 3 * k] = free.z;
        }
        if (!held) {
            held = settle_alone(numbers, c.shape);
            added = {numbers[3 * c.number], numbers[3 * c.number + 1], numbers[3 * c.number + 2]};
            if (!held && c.there && c.number == 0) give_up_water(w.control, numbers, c.shape, c.water, h.atoms[3 * c.water]);
        }
    }
    step = step + added;
    v = v + added * (1.0 / time);
    return held;
}

// Takes from rates what would change the length of a side. All lanes call it.
__device__ __forceinline__ void hold_rate(const Corner& c, const Sides& s, Vector& v)
{
    const f32 mine = f32(c.inverse_mass) * c.per_square, its = f32(c.next_inverse_mass) * c.per_square;
    const Rows rows(c, (mine + its) * dot(s.own32, s.own32), -its * dot(s.own32, s.next32), -mine * dot(s.own32, s.before32));
    // Each round takes six digits.
#pragma unroll 1
    for (u32 round = 0; round < 3; ++round) {
        const f64 off = -dot(s.own, v - of_lane(v, c.next));
        v = v + pushed(c, s, f64(rows.solved(c, f32(off) * c.per_square)));
    }
}
