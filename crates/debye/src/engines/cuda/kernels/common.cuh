// What kernels of large and of small systems share: precision, and kinds of particles.
//
// Defines: PRECISION (0 single, 1 mixed, 2 double).
#pragma once
#include "prelude.cuh"

// Pairs are computed with `real`, motion with `speed`, on coordinates of type `whole`.
#if PRECISION == 2
using real = f64;
#else
using real = f32;
#endif
#if PRECISION == 0
using speed = f32;
using whole = u32;
#else
using speed = f64;
using whole = u64;
#endif

// What belongs to a kind of particle: inverse mass, what Langevin dynamics keeps and adds, and its group.
struct Kind {
    f64 inverse_mass;
    f64 keep;
    f64 noise;
    f64 mass;
    u32 group;
    u32 held; // 1: at fixed distances from others
};
