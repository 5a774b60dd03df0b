// The frame that coordinates are fractions of, and how a particle moves in it; for large and for small systems.
//
// Defines: PRECISION (see precision.cuh), TRICLINIC (1: the cell is not orthorhombic).
#pragma once
#include "shared.cuh"

__device__ __forceinline__ f32 absolute(f32 x) { return fabsf(x); }
__device__ __forceinline__ f64 absolute(f64 x) { return fabs(x); }

// Moves one coordinate by a part of the frame; counts the frames it has left behind.
__device__ __forceinline__ whole moved_by(whole at, speed part, i32& image)
{
#if PRECISION == 0
    const whole now = at + whole(__float2int_rn(part));
#else
    const whole now = at + whole(__double2ll_rn(part));
#endif
    if (part > speed(0) && now < at) ++image;
    if (part < speed(0) && now > at) --image;
    return now;
}

// The largest part of the frame that anyone may cross in a step: a quarter, in whole coordinates.
constexpr speed QUARTER = speed(PRECISION == 0 ? 1.0e9 : 4.6e18);
constexpr f64 COARSE = PRECISION == 0 ? 1.0 / 4294967296.0 : 1.0;

// Moves a particle for a time; false if that takes it to no number.
__device__ __forceinline__ bool drift(whole (&at)[3], const speed (&v)[3], f64 time, i32 (&image)[3], const Frame& frame)
{
    const f64* per = frame.per_length;
#if TRICLINIC
    const speed d[3] = {speed(time * COARSE * per[0]) * v[0] + speed(time * COARSE * per[3]) * v[1] +
                            speed(time * COARSE * per[4]) * v[2],
                        speed(time * COARSE * per[1]) * v[1] + speed(time * COARSE * per[5]) * v[2],
                        speed(time * COARSE * per[2]) * v[2]};
#else
    const speed d[3] = {speed(time * COARSE * per[0]) * v[0], speed(time * COARSE * per[1]) * v[1],
                        speed(time * COARSE * per[2]) * v[2]};
#endif
    bool sound = true;
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
        sound = sound && absolute(d[axis]) < QUARTER;
        at[axis] = moved_by(at[axis], d[axis], image[axis]);
    }
    return sound;
}

__device__ __forceinline__ void kick(speed (&v)[3], const f64 (&force)[3], f64 time, const Kind& kind)
{
    const speed each = speed(time * kind.inverse_mass);
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) v[axis] += each * speed(force[axis]);
}
