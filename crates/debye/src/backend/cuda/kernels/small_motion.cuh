// The motion of one particle in a small system: kick, drift, and Langevin's friction and noise between two halves of the
// drift. The velocity kept is half a kick behind: v(t) = v + ½ Δt F(t)/m. Defines: LANGEVIN, and those of small.cuh.
#pragma once
#include "small.cuh"
#if LANGEVIN
#include "random.cuh"
#endif

// Moves one coordinate; counts the cells it has left behind.
__device__ __forceinline__ u64 moved_by(u64 at, f64 part, i32& image)
{
    const u64 now = at + u64(__double2ll_rn(part));
    if (part > 0.0 && now < at) ++image;
    if (part < 0.0 && now > at) --image;
    return now;
}

// Cartesian to whole coordinates, by so much time.
__device__ __forceinline__ void path(const f64 (&v)[3], f64 time, const SmallSetup& f, f64 (&out)[3])
{
#if TRICLINIC
    out[0] = time * (v[0] * f.whole[0] + v[1] * f.whole[1] + v[2] * f.whole[3]);
    out[1] = time * (v[1] * f.whole[2] + v[2] * f.whole[4]);
    out[2] = time * (v[2] * f.whole[5]);
#else
    out[0] = time * f.whole[0] * v[0];
    out[1] = time * f.whole[2] * v[1];
    out[2] = time * f.whole[5] * v[2];
#endif
}

// One step. `crossed` is how many cells it left behind; false if it is nowhere.
__device__ __forceinline__ bool move(uint4& at, u32 (&low)[3], f64 (&v)[3], i32 (&crossed)[3], const f32 (&pull)[3],
                                     const Kind& kind, u32 id, u64 step, const SmallSetup& f)
{
    u64 place[3] = {u64(at.x) << 32 | low[0], u64(at.y) << 32 | low[1], u64(at.z) << 32 | low[2]};
    f64 part[3];
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
        crossed[axis] = 0;
        v[axis] -= 2.0 * f.dt * kind.inverse_mass * f64(pull[axis]);
    }
#if LANGEVIN
    f64 normals[3];
    debye_normals(f.seed, step, id, normals);
    path(v, 0.5 * f.dt, f, part);
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
        place[axis] = moved_by(place[axis], part[axis], crossed[axis]);
        v[axis] = v[axis] * kind.keep + normals[axis] * kind.noise;
    }
    path(v, 0.5 * f.dt, f, part);
    constexpr f64 QUARTER = 2.3e18;
#else
    (void)id;
    (void)step;
    path(v, f.dt, f, part);
    constexpr f64 QUARTER = 4.6e18;
#endif
    // A quarter of the cell in one step is nowhere; neither is what is not a number.
    bool sound = true;
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
        sound = sound && fabs(part[axis]) < QUARTER;
        place[axis] = moved_by(place[axis], part[axis], crossed[axis]);
        low[axis] = u32(place[axis]);
    }
    at.x = u32(place[0] >> 32);
    at.y = u32(place[1] >> 32);
    at.z = u32(place[2] >> 32);
#if IMAGES
    at.w = counted(counted(counted(at.w, crossed[0], 16), crossed[1], 21), crossed[2], 26);
#endif
    return sound;
}
