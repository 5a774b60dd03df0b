// The motion of one particle in a small system: kick, drift, and Langevin's friction and noise between two halves of the
// drift. The velocity kept is half a kick behind: v(t) = v + ½ Δt F(t)/m. Defines: LANGEVIN, and those of small.cuh.
#pragma once
#include "small.cuh"
#if LANGEVIN
#include "random.cuh"
#endif

// One step. `crossed` is how many cells it left behind; false if its position is no number.
__device__ __forceinline__ bool move(uint4& at, u32 (&low)[3], speed (&v)[3], i32 (&crossed)[3], const Kind& kind, u32 id,
                                     u64 step, const SmallSetup& f, const Frame& frame)
{
#if PRECISION == 0
    whole place[3] = {at.x, at.y, at.z};
#else
    whole place[3] = {u64(at.x) << 32 | low[0], u64(at.y) << 32 | low[1], u64(at.z) << 32 | low[2]};
#endif
    crossed[0] = crossed[1] = crossed[2] = 0;
#if LANGEVIN
    f64 normals[3];
    debye_normals(f.seed, step, id, normals);
    bool sound = drift(place, v, 0.5 * f.dt, crossed, frame);
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) v[axis] = speed(v[axis] * kind.keep + normals[axis] * kind.noise);
    sound = drift(place, v, 0.5 * f.dt, crossed, frame) && sound;
#else
    (void)id;
    (void)step;
    (void)kind;
    const bool sound = drift(place, v, f.dt, crossed, frame);
#endif
#if PRECISION == 0
    (void)low;
    at.x = place[0];
    at.y = place[1];
    at.z = place[2];
#else
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) low[axis] = u32(place[axis]);
    at.x = u32(place[0] >> 32);
    at.y = u32(place[1] >> 32);
    at.z = u32(place[2] >> 32);
#endif
#if IMAGES
    at.w = counted(counted(counted(at.w, crossed[0], IMAGE_X), crossed[1], IMAGE_Y), crossed[2], IMAGE_Z);
#endif
    return sound;
}
