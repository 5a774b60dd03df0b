// Orientations as pairs see them, and what pairs do to them.
//
// Defines: AXES, how many axes of a particle the terms read: 1 (z) or 3.
#pragma once
#include "engine.cuh"
#include "rotation_formulas.cuh"

// The axes of a particle, z the last of them, its charge and its dipole along z.
struct Directed {
    real axes[AXES][3];
    real charge, dipole;
};

// Sums over a list. The torque is −axis × toward of every own axis, the force without its central part is axis × along of
// every own axis, and `rest`.
struct OrientedSums {
    real along[AXES];
    real rest[3];
    real toward[AXES][3];
};

// What others see of a particle. Of the whole orientation there is no room for the dipole, which then comes with its kind.
__device__ __forceinline__ void direct(Directed& to, const Facing& from)
{
#if AXES == 1
    to.axes[0][0] = from.x;
    to.axes[0][1] = from.y;
    to.axes[0][2] = from.z;
    to.dipole = from.w;
#else
    real(&a)[AXES][3] = to.axes;
    axes_of(from.w, from.x, from.y, from.z, a[0][0], a[0][1], a[0][2], a[1][0], a[1][1], a[1][2], a[2][0], a[2][1], a[2][2]);
#endif
}

// Force without its central part and torque, from the sums of a list.
__device__ __forceinline__ void oriented_forces(f64 (&force)[3], f64 (&torque)[3], const OrientedSums& t, const Directed& own)
{
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
        force[k] += f64(t.rest[k]);
        torque[k] = 0.0;
    }
#pragma unroll
    for (u32 a = 0; a < AXES; ++a) {
        const f64 z[3] = {own.axes[a][0], own.axes[a][1], own.axes[a][2]};
        const f64 s[3] = {t.toward[a][0], t.toward[a][1], t.toward[a][2]};
        for (u32 k = 0; k < 3; ++k) force[k] += z[k] * f64(t.along[a]);
        torque[0] -= z[1] * s[2] - z[2] * s[1];
        torque[1] -= z[2] * s[0] - z[0] * s[2];
        torque[2] -= z[0] * s[1] - z[1] * s[0];
    }
}
