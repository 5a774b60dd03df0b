// What holds particles at fixed distances: rigid waters by SETTLE (or as rigid.cuh does), any other cluster by SHAKE and
// RATTLE, one thread to each. The formulas are those of forces/constraints; SETTLE's are printed from there (settle.cuh).
#pragma once
#include "exact.cuh"
#include "motion.cuh"
#include "settle.cuh"

constexpr u32 CONSTRAIN_WARPS = CONSTRAIN_THREADS / WARP;

// Two particles of a group, and the length found when their distance was given up.
struct Unsolved {
    u32 bond;
    f64 found;
};

// Keeps the first of the constraints that cannot be met, by its number, and ends the run with this step.
__device__ inline void give_up(Control* control, u32 first_bond, const Unsolved& u, u32 particle)
{
    const u32 left = 0xffffffffu - (first_bond + u.bond);
    atomicMax(&control->unsolved, u64(left) << 32 | __float_as_uint(f32(u.found)));
    atomicMax(&control->failed_now, 1 + particle);
}
__device__ inline void give_up(const World& w, const ConstraintTables& h, u32 first_bond, const Unsolved& u, u32 place)
{
    give_up(w.control, first_bond, u, h.atoms[place]);
}

__device__ __forceinline__ bool is_number(f64 x) { return fabs(x) < 1e300; }

// Places of the particles, those of now.
struct Here {
    const uint4* pos;
    const u32* low;
    const u32* slot_of;
    const u32* atoms;
    u32 slots;
    __device__ __forceinline__ u32 slot(u32 place) const { return slot_of[atoms[place]]; }
    __device__ __forceinline__ Exact at(u32 slot) const { return exact_at(pos, low, slot, slots); }
};

__device__ __forceinline__ Here here(const World& w, const ConstraintTables& h, const Setup& f, u32 parity, u32 side)
{
    return {half_of(w.pos, parity, f.slots), half_of(w.low, low_half(parity, side), 3 * f.slots),
            half_of(w.slot_of, side, f.slots), h.atoms, f.slots};
}

__device__ __forceinline__ Vector stored_velocity(const World& w, const Setup& f, u32 side, u32 slot)
{
    const speed* v = half_of(w.velocities, side, 3 * f.slots);
    return {f64(v[slot]), f64(v[f.slots + slot]), f64(v[2 * f.slots + slot])};
}

__device__ __forceinline__ Vector force_on(const World& w, const Setup& f, u32 slot)
{
    return {w.forces[slot], w.forces[u64(f.slots) + slot], w.forces[2 * u64(f.slots) + slot]};
}

// The velocity that is kept, after a kick; rounded as in a step.
__device__ __forceinline__ Vector kicked(const World& w, const Setup& f, u32 side, u32 slot, f64 time, const Kind& kind)
{
    const Vector on = force_on(w, f, slot);
    const f64 force[3] = {on.x, on.y, on.z};
    speed v[3];
    read_velocity(v, w, f, side, slot);
    kick(v, force, time, kind);
    return {f64(v[0]), f64(v[1]), f64(v[2])};
}

#if LANGEVIN
__device__ __forceinline__ Vector noisy(const Vector& v, const Setup& f, u64 step, u32 id, const Kind& kind)
{
    f64 n[3];
    debye_normals(f.seed, step, id, n);
    return v * kind.keep + Vector{n[0], n[1], n[2]} * kind.noise;
}
#endif

// Moves a particle by a way from where it is and gives it a velocity, both written for the step after `to`; gives the square
// of its way since the list.
__device__ __forceinline__ f32 write_moved(const World& w, const Setup& f, const Steering& now, const Steering& to, u32 slot,
                                           u32 kind, whole (&at)[3], const Vector& way, const Vector& v)
{
    const f64* per = f.frame.per_length;
    const f64 part[3] = {COARSE * (per[0] * way.x + per[3] * way.y + per[4] * way.z),
                         COARSE * (per[1] * way.y + per[5] * way.z), COARSE * (per[2] * way.z)};
    i32 image[3] = {0, 0, 0};
    bool sound = true;
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
        sound = sound && fabs(part[axis]) < f64(QUARTER);
        const whole then = at[axis];
        at[axis] = then + whole(__double2ll_rn(part[axis]));
        if (part[axis] > 0.0 && at[axis] < then) ++image[axis];
        if (part[axis] < 0.0 && at[axis] > then) --image[axis];
    }
    if (!sound) atomicMax(&w.control->failed_now, 1 + half_of(w.ids, now.side, f.slots)[slot]);
    const speed u[3] = {speed(v.x), speed(v.y), speed(v.z)};
    return write_place(w, f, to, slot, kind, at, u, image);
}
__device__ __forceinline__ f32 write_member(const World& w, const Setup& f, const Steering& now, const Steering& to, u32 slot,
                                            const Vector& way, const Vector& v)
{
    const uint4 own = half_of(w.pos, now.parity, f.slots)[slot];
    whole at[3];
    read_place(at, w, f, now, slot, own);
    return write_moved(w, f, now, to, slot, own.w, at, way, v);
}

// Where three particles go that moved from `old` to `free`.
__device__ __forceinline__ void settle(Vector (&to)[3], const f64* c, const Vector (&old)[3], const Vector (&free)[3])
{
    const Vector(&o)[3] = old, (&n)[3] = free;
    settle_positions(c[0], c[1], c[2], c[3], c[4], c[5], c[6], o[0].x, o[0].y, o[0].z, o[1].x, o[1].y, o[1].z, o[2].x, o[2].y,
                     o[2].z, n[0].x, n[0].y, n[0].z, n[1].x, n[1].y, n[1].z, n[2].x, n[2].y, n[2].z, to[0].x, to[0].y, to[0].z,
                     to[1].x, to[1].y, to[1].z, to[2].x, to[2].y, to[2].z);
}

// Changes rates so that side · difference is what is wanted; the multipliers of the sides.
__device__ __forceinline__ Vector constrain_rates(Vector (&rate)[3], const f64* c, const Vector (&r)[3], const Vector& wanted)
{
    const Vector(&o)[3] = r, (&n)[3] = rate;
    Vector d[3], g;
    settle_rates(c[0], c[1], c[2], c[3], c[4], c[5], c[6], o[0].x, o[0].y, o[0].z, o[1].x, o[1].y, o[1].z, o[2].x, o[2].y,
                 o[2].z, n[0].x, n[0].y, n[0].z, n[1].x, n[1].y, n[1].z, n[2].x, n[2].y, n[2].z, wanted.x, wanted.y, wanted.z,
                 d[0].x, d[0].y, d[0].z, d[1].x, d[1].y, d[1].z, d[2].x, d[2].y, d[2].z, g.x, g.y, g.z);
#pragma unroll
    for (u32 k = 0; k < 3; ++k) rate[k] = rate[k] + d[k];
    return g;
}

__device__ __forceinline__ bool are_numbers(const Vector (&r)[3])
{
    return is_number(dot(r[0], r[0])) && is_number(dot(r[1], r[1])) && is_number(dot(r[2], r[2]));
}

// The side that is furthest from its length.
__device__ inline Unsolved worst_side(const f64* c, const Vector (&r)[3])
{
    const u32 ends[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    Unsolved worst = {0, 0.0};
    f64 largest = -1.0;
    for (u32 k = 0; k < 3; ++k) {
        const Vector d = r[ends[k][0]] - r[ends[k][1]];
        const f64 found = sqrt(dot(d, d)), off = fabs(found / c[k < 2 ? 7 : 8] - 1.0);
        if (off > largest || off != off) {
            worst = {k, found};
            if (off != off) break;
            largest = off;
        }
    }
    return worst;
}

// A rigid water: where its particles are, relative to the first.
struct Water {
    const f64* shape;
    u32 slot[3];
    Vector r[3];
};

__device__ __forceinline__ Water water_at(const f64* shape, u32 a, u32 b, u32 c, const Here& p, const Setup& f)
{
    const Exact first = p.at(a);
    return {shape, {a, b, c}, {{0.0, 0.0, 0.0}, apart64(p.at(b), first, f.frame.cell), apart64(p.at(c), first, f.frame.cell)}};
}

__device__ __forceinline__ Water water_of(const ConstraintTables& h, const Here& p, const Setup& f, u32 number)
{
    const u32 place = 3 * number;
    return water_at(h.shapes + SHAPE * h.shape_of[number], p.slot(place), p.slot(place + 1), p.slot(place + 2), p, f);
}

// What is kept for each place of a cluster, in memory: clusters may be of any size.
enum : u32 { OLD, NEW, RATE };

struct Bond {
    u32 i, j;
    f64 length;
};

// A cluster of fixed distances.
struct Cluster {
    const ConstraintTables& h;
    u32 first, count; // places, counted from those of the first cluster
    u32 bond, bonds;

    __device__ __forceinline__ f64* at(u32 what, u32 k) const
    {
        return h.scratch + 3 * u64(what) * h.cluster_places + first + k;
    }
    __device__ __forceinline__ Vector get(u32 what, u32 k) const
    {
        const f64* x = at(what, k);
        return {x[0], x[h.cluster_places], x[2 * u64(h.cluster_places)]};
    }
    __device__ __forceinline__ void put(u32 what, u32 k, const Vector& v) const
    {
        f64* x = at(what, k);
        x[0] = v.x;
        x[h.cluster_places] = v.y;
        x[2 * u64(h.cluster_places)] = v.z;
    }
    __device__ __forceinline__ Bond bond_at(u32 k) const
    {
        const u64 n = bond + k;
        return {h.ends[2 * n], h.ends[2 * n + 1], h.lengths[n]};
    }
    __device__ __forceinline__ u32 place(u32 k) const { return 3 * h.waters + first + k; }
    __device__ __forceinline__ u32 first_bond() const { return 3 * h.waters + bond; }
    __device__ __forceinline__ f64 inverse_mass(u32 k) const { return h.inverse_masses[first + k]; }
    __device__ __forceinline__ f64 inverse_mass(const Bond& b) const { return inverse_mass(b.i) + inverse_mass(b.j); }
    __device__ __forceinline__ Vector of(u32 what, const Bond& b) const { return get(what, b.i) - get(what, b.j); }
    // Moves the ends apart along d, each by its inverse mass.
    __device__ __forceinline__ void push(u32 what, const Bond& b, const Vector& d, f64 amount) const
    {
        put(what, b.i, get(what, b.i) + d * (amount * inverse_mass(b.i)));
        put(what, b.j, get(what, b.j) - d * (amount * inverse_mass(b.j)));
    }
};

__device__ __forceinline__ Cluster cluster_of(const ConstraintTables& h, u32 number)
{
    const u32* s = h.starts + 2 * u64(number);
    return {h, s[0], s[2] - s[0], s[1], s[3] - s[1]};
}

// Writes where its particles are to OLD, relative to the first, each at the image next to the one it is connected to.
__device__ inline void find_places(const Cluster& c, const Here& p, const Setup& f)
{
    c.put(OLD, 0, {0.0, 0.0, 0.0});
    for (u32 k = 1; k < c.count; ++k) {
        const u32 parent = c.h.parents[c.first + k];
        const Vector d = apart64(p.at(p.slot(c.place(k))), p.at(p.slot(c.place(parent))), f.frame.cell);
        c.put(OLD, k, c.get(OLD, parent) + d);
    }
}

constexpr u32 ROUNDS = 5000;
constexpr f64 LEAST_COSINE = 1e-2;

// Moves NEW so that all distances hold, along those of OLD; false where one cannot.
__device__ inline bool shake(const Cluster& c, Unsolved& unsolved)
{
    const f64 tolerance = c.h.tolerance;
    u32 left = 0;
    for (u32 round = 0; round < ROUNDS; ++round) {
        f64 worst = 0.0;
        for (u32 k = 0; k < c.bonds; ++k) {
            const Bond b = c.bond_at(k);
            const Vector now = c.of(NEW, b), then = c.of(OLD, b);
            const f64 square = b.length * b.length, off = square - dot(now, now), along = dot(now, then);
            if (!is_number(off) || along < LEAST_COSINE * square) {
                unsolved = {k, sqrt(dot(now, now))};
                return false;
            }
            const f64 relative = fabs(off) / (2.0 * square);
            if (relative > worst) {
                worst = relative;
                left = k;
            }
            if (relative > tolerance) c.push(NEW, b, then, off / (2.0 * along * c.inverse_mass(b)));
        }
        if (worst <= tolerance) return true;
    }
    const Vector d = c.of(NEW, c.bond_at(left));
    unsolved = {left, sqrt(dot(d, d))};
    return false;
}

// Changes the rates in `what`, at the places in OLD, so that bond · difference is what is wanted of every bond. `pushed` is
// told of every push: a bond's direction and multiplier.
template <class Wanted, class Pushed>
__device__ __forceinline__ bool rattle(const Cluster& c, u32 what, Unsolved& unsolved, Wanted wanted, Pushed pushed)
{
    f64 fastest = 0.0;
    for (u32 k = 0; k < c.count; ++k) {
        const Vector v = c.get(what, k);
        fastest = fmax(fastest, dot(v, v));
    }
    fastest = sqrt(fastest);
    for (u32 k = 0; k < c.bonds; ++k) fastest = fmax(fastest, fabs(wanted(c.bond_at(k))) / c.h.lengths[c.bond + k]);
    const f64 scale = c.h.tolerance * fastest;
    u32 left = 0;
    for (u32 round = 0; round < ROUNDS; ++round) {
        f64 worst = 0.0;
        for (u32 k = 0; k < c.bonds; ++k) {
            const Bond b = c.bond_at(k);
            const Vector d = c.of(OLD, b);
            const f64 off = wanted(b) - dot(d, c.of(what, b));
            if (!is_number(off)) {
                unsolved = {k, sqrt(dot(d, d))};
                return false;
            }
            const f64 too_fast = fabs(off) / b.length;
            if (too_fast > worst) {
                worst = too_fast;
                left = k;
            }
            if (too_fast > scale) {
                const f64 amount = off / (dot(d, d) * c.inverse_mass(b));
                pushed(d, amount);
                c.push(what, b, d, amount);
            }
        }
        if (worst <= scale) return true;
    }
    const Vector d = c.of(OLD, c.bond_at(left));
    unsolved = {left, sqrt(dot(d, d))};
    return false;
}

__device__ inline bool rattle(const Cluster& c, Unsolved& unsolved)
{
    return rattle(c, RATE, unsolved, [](const Bond&) { return 0.0; }, [](const Vector&, f64) {});
}
