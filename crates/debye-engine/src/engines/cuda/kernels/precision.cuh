// The types that carry the precision, for kernels of large and of small systems.
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
