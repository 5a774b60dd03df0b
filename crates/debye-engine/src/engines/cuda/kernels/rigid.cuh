// Rigid waters, a thread to each.
//
// Pushes along the sides of before bring the lengths back, as by SETTLE, but by Newton's method (M-SHAKE: Kräutler, van
// Gunsteren & Hünenberger, J. Comput. Chem. 22, 501 (2001)): three linear equations a round, and the digits double with each,
// so that three or four rounds give all of them, without roots. Molecules that turned by too much for this are left to the
// formulas of SETTLE.
#pragma once
#include "constraints.cuh"

// Blocks that should fit on a multiprocessor.
constexpr u32 CONSTRAIN_RESIDENT = LANGEVIN ? 6 : 8;

// The sides of a water from its second particle to the first, from the third to the second, and from the first to the third:
// what closes the triangle.
struct Triangle {
    Vector a, b;
    f64 heavy, light; // inverse masses of the first particle and of each other
    f64 bond2, base2; // squares of the lengths of a and of b
    __device__ __forceinline__ Vector c() const { return -(a + b); }
    // Sides after its particles have moved.
    __device__ __forceinline__ void move(const Vector (&way)[3])
    {
        a = a + (way[0] - way[1]);
        b = b + (way[1] - way[2]);
    }
};

__device__ __forceinline__ Triangle triangle_of(const Water& m)
{
    return {-m.r[1], m.r[1] - m.r[2], m.shape[2], m.shape[3], m.shape[7] * m.shape[7], m.shape[8] * m.shape[8]};
}

// One number for each side.
struct Sides {
    f64 a, b, c;
};

// How its particles move by pushes along the sides.
__device__ __forceinline__ void push(Vector (&way)[3], const Triangle& t, const Sides& g)
{
    const Vector a = t.a * g.a, b = t.b * g.b, c = t.c() * g.c;
    way[0] = (a - c) * t.heavy;
    way[1] = (b - a) * t.light;
    way[2] = (c - b) * t.light;
}

// Pushes along the sides of t by which the products of sides x, y and −(x + y) with their own changes become what is wanted.
__device__ __forceinline__ Sides pushes(const Triangle& t, const Vector& x, const Vector& y, const Sides& wanted)
{
    const f64 xa = dot(x, t.a), xb = dot(x, t.b), ya = dot(y, t.a), yb = dot(y, t.b), za = xa + ya, zb = xb + yb;
    const f64 both = t.heavy + t.light;
    // Rows for x, y and their sum, the signs of which are those of −(x + y).
    const f64 m[3][3] = {{both * xa, -t.light * xb, t.heavy * (xa + xb)},
                         {-t.light * ya, 2.0 * t.light * yb, t.light * (ya + yb)},
                         {t.heavy * za, t.light * zb, both * (za + zb)}};
    const f64 minors[3] = {m[1][1] * m[2][2] - m[1][2] * m[2][1], m[0][2] * m[2][1] - m[0][1] * m[2][2],
                           m[0][1] * m[1][2] - m[0][2] * m[1][1]};
    const f64 scale = 1.0 / (m[0][0] * minors[0] + m[1][0] * minors[1] + m[2][0] * minors[2]);
    const f64 u = wanted.a * scale, v = wanted.b * scale, w = wanted.c * scale;
    return {u * minors[0] + v * minors[1] + w * minors[2],
            u * (m[1][2] * m[2][0] - m[1][0] * m[2][2]) + v * (m[0][0] * m[2][2] - m[0][2] * m[2][0]) +
                w * (m[0][2] * m[1][0] - m[0][0] * m[1][2]),
            u * (m[1][0] * m[2][1] - m[1][1] * m[2][0]) + v * (m[0][1] * m[2][0] - m[0][0] * m[2][1]) +
                w * (m[0][0] * m[1][1] - m[0][1] * m[1][0])};
}

constexpr u32 MOST_ROUNDS = 12;
// Squares of sides that are off by less than this are right to all digits after one more round.
constexpr f64 NEARLY = 1e-8;
// The cosine of the largest turn of a side that is left to Newton's method.
constexpr f64 LEAST_TURN = 0.7;

// Pushes that give sides x, y and −(x + y), to which those of t have moved freely, their lengths. False where SETTLE must say.
__device__ __forceinline__ bool constrain_lengths(Sides& g, const Triangle& t, const Vector& x, const Vector& y)
{
    const f64 bond_turn = LEAST_TURN * t.bond2, base_turn = LEAST_TURN * t.base2;
    g = {0.0, 0.0, 0.0};
#pragma unroll 1
    for (u32 round = 0; round < MOST_ROUNDS; ++round) {
        const f64 heavy = t.heavy * (g.a + g.c);
        const Vector now_x = x + t.a * (heavy + t.light * g.a) + t.b * (t.heavy * g.c - t.light * g.b);
        const Vector now_y = y + t.a * (t.light * (g.c - g.a)) + t.b * (t.light * (2.0 * g.b + g.c));
        const Vector now_z = -(now_x + now_y);
        const Sides off = {t.bond2 - dot(now_x, now_x), t.base2 - dot(now_y, now_y), t.bond2 - dot(now_z, now_z)};
        // Also false for what is no number.
        if (!(dot(now_x, t.a) > bond_turn && dot(now_y, t.b) > base_turn && dot(now_z, t.c()) > bond_turn)) return false;
        const Sides more = pushes(t, now_x, now_y, {0.5 * off.a, 0.5 * off.b, 0.5 * off.c});
        g = {g.a + more.a, g.b + more.b, g.c + more.c};
        if (fmax(fabs(off.a), fabs(off.c)) < NEARLY * t.bond2 && fabs(off.b) < NEARLY * t.base2) return true;
    }
    return false;
}

// SETTLE, called where it is needed: what must be added to the steps of three particles. False where there is no answer.
CALLED bool settle_alone(f64* added, const f64* steps, const Triangle& t, const f64* shape, Unsolved& unsolved)
{
    const Vector old[3] = {{0.0, 0.0, 0.0}, -t.a, t.c()};
    Vector free[3], solved[3];
    for (u32 k = 0; k < 3; ++k) free[k] = old[k] + Vector{steps[3 * k], steps[3 * k + 1], steps[3 * k + 2]};
    settle(solved, shape, old, free);
    for (u32 k = 0; k < 3; ++k) {
        const Vector change = solved[k] - free[k];
        added[3 * k] = change.x;
        added[3 * k + 1] = change.y;
        added[3 * k + 2] = change.z;
    }
    if (are_numbers(solved)) return true;
    unsolved = worst_side(shape, free);
    return false;
}

// A drift for a time, and what brings the lengths back: velocities get their share, `way` is where the particles went.
__device__ __forceinline__ bool drift_water(Vector (&way)[3], Vector (&v)[3], const Triangle& t, const f64* shape, f64 time,
                                            Unsolved& unsolved)
{
    Sides g;
    Vector added[3];
    bool solved = constrain_lengths(g, t, t.a + (v[0] - v[1]) * time, t.b + (v[1] - v[2]) * time);
    if (solved) {
        push(added, t, g);
    } else {
        f64 numbers[9], steps[9];
        for (u32 k = 0; k < 3; ++k) steps[3 * k] = v[k].x * time, steps[3 * k + 1] = v[k].y * time, steps[3 * k + 2] = v[k].z * time;
        solved = settle_alone(numbers, steps, t, shape, unsolved);
        for (u32 k = 0; k < 3; ++k) added[k] = {numbers[3 * k], numbers[3 * k + 1], numbers[3 * k + 2]};
    }
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
        way[k] = v[k] * time + added[k];
        v[k] = v[k] + added[k] * (1.0 / time);
    }
    return solved;
}

// Takes from velocities what would change the length of a side.
__device__ __forceinline__ void constrain_velocities(Vector (&v)[3], const Triangle& t)
{
    const Vector x = v[0] - v[1], y = v[1] - v[2];
    Vector added[3];
    push(added, t, pushes(t, t.a, t.b, {-dot(t.a, x), -dot(t.b, y), -dot(t.c(), -(x + y))}));
#pragma unroll
    for (u32 k = 0; k < 3; ++k) v[k] = v[k] + added[k];
}

// The number of the water that begins with a particle: looked for only where something went wrong.
CALLED u32 water_that_begins(const u32* atoms, u32 waters, u32 particle)
{
    for (u32 water = 0; water < waters; ++water) {
        if (atoms[3 * water] == particle) return water;
    }
    return 0;
}
