// Charges of a running simulation for sums over those near a point: images within reach of a grid, sorted by cubes of space;
// and sums of maps. Define: DOUBLE.
#include "live_shared.cuh"

#if DOUBLE
using real = f64;
#else
using real = f32;
#endif

// An image of a charge: where it is, and its cube; cubes where it is out of reach.
struct Image {
    f64 at[3], charge;
    u32 cube;
};

__device__ __forceinline__ Image image_of(const LiveWork& w, const f64* particles, u32 entry)
{
    const u32 images = w.images[0] * w.images[1] * w.images[2];
    const f64* own = particles + 4 * u64(entry / images);
    const u32 number = entry % images;
    const u32 numbers[3] = {number / (w.images[1] * w.images[2]), number / w.images[2] % w.images[1], number % w.images[2]};
    Image image;
    image.charge = own[3];
    bool is_near = own[3] != 0;
    f64 fractions[3];
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
        const f64 here = own[k] - w.middle[k], shift = ceil(-w.far[k] - here) + f64(numbers[k]);
        is_near = is_near && shift <= floor(w.far[k] - here);
        fractions[k] = own[k] + shift;
    }
    f64 distance2 = 0;
    u32 cube = 0;
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
        const f64 x = fractions[0] * w.vectors[k] + fractions[1] * w.vectors[3 + k] + fractions[2] * w.vectors[6 + k];
        image.at[k] = x;
        const f64 outside = fmax(fmax(w.lower[k] - x, x - w.upper[k]), 0.0);
        distance2 += outside * outside;
        const f64 place = (x - (w.lower[k] - w.reach)) / w.edge;
        cube = cube * w.cubes[k] + smaller(u32(place > 0 ? place : 0.0), w.cubes[k] - 1);
    }
    image.cube = is_near && distance2 < w.reach * w.reach ? cube : w.cubes[0] * w.cubes[1] * w.cubes[2];
    return image;
}

// A thread has an image.
KERNEL(debye_live_keys, 256, LiveWork w, const f64* particles, u32* keys)
{
    const u32 entry = blockIdx.x * 256 + threadIdx.x;
    if (entry < w.entries) keys[entry] = image_of(w, particles, entry).cube;
}

// Charges as sums take them, 32 bytes each, in the order of their cubes; a thread has a charge.
KERNEL(debye_live_charges, 256, LiveWork w, const f64* particles, const u32* order, const u32* starts, real* charges)
{
    const u32 i = blockIdx.x * 256 + threadIdx.x;
    if (i >= starts[w.cubes[0] * w.cubes[1] * w.cubes[2]]) return;
    const Image image = image_of(w, particles, order[i]);
    real* to = charges + u64(32 / sizeof(real)) * i;
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
        const u32 axis = w.axes[k];
        const f64 x = ((axis == 0 ? image.at[0] : axis == 1 ? image.at[1] : image.at[2]) - w.origin[axis]) / w.unit;
        to[k] = real(x);
        if (!DOUBLE) to[4 + k] = real(x - f64(real(x)));
    }
    to[3] = real(image.charge);
    if (!DOUBLE) to[7] = 0;
}

// Adds a map to the sum of a block of frames; a thread has a point.
KERNEL(debye_live_add, 256, const real* map, f64 offset, u64 points, f64* sum)
{
    const u64 i = u64(blockIdx.x) * 256 + threadIdx.x;
    if (i < points) sum[i] += f64(map[i]) + offset;
}
