// What the kernels of a simulation share: how positions are kept, and the few words that steer a run.
//
// A coordinate is a fraction of the cell as a 64-bit whole number; its upper half is in `pos` (x, y, z and the kind of
// particle), its lower half in `low`. Differences wrap around as the cell does, so that the nearest image needs no
// branch, and they are exact wherever in the cell they are taken. Particles stand in slots, 256 to a block, blocks in
// columns of the cell; a slot without a particle has the kind NOBODY.
#pragma once
#include "prelude.cuh"

constexpr u32 BLOCK = 256;
constexpr u32 BLOCK_WARPS = BLOCK / WARP;
constexpr u32 NOBODY = 0xffffffffu;
#if WRAP
// Not a number is near nothing, however it is wrapped.
#define OUT_OF_REACH __uint_as_float(0x7fffffffu)
#else
#define OUT_OF_REACH 1e9f
#endif

// What does not change while a graph is replayed.
struct Setup {
    f64 per_length[3]; // whole coordinates per length
    f64 dt;
    u64 seed;
    f32 unit[3];  // lengths per unit of the upper halves
    f32 limit2;   // a particle that moved farther than the root of this makes the list stale
    f32 radius2;  // of the lists
    f32 radius;
    f32 length[3]; // of the cell
    u32 nx, ny;   // columns
    u32 nz;       // layers of a column, for the sort
    u32 reach_x, reach_y;
    u32 slots;    // of all blocks there is room for
    u32 blocks;
};

// Words in device memory that steer a run. Kernels read them first and may return at once.
struct Control {
    u64 step;      // steps done
    u64 target;    // steps to do
    u32 parity;    // which of the two `pos` is now
    u32 side;      // which of the two of everything else is now
    u32 stale;     // the list must be made anew before the next step
    u32 overflow;  // a list did not fit: nothing more happens until the host has made room
    u32 lost;      // 1 + a particle that is nowhere
    u32 blocks;    // blocks in use
    u32 moved;     // someone moved too far in this step
    u32 finished;  // blocks of this step that are done
    u32 building;  // a list is being made
    u32 builds;    // lists made
    u32 needed[7]; // blocks, blocks of a column, near blocks, staged places, groups of a warp, rows, wrapping
    u32 nowhere;   // 1 + a particle that this step led nowhere
    u32 pairs[2];  // pairs listed, low and high word
};

// The box of a block or of a warp's share of it: middle (upper halves) and half sizes, negative if nobody is in it.
struct Box {
    u32 middle[3];
    u32 column;
    f32 half[3];
    u32 unused;
};

struct Place {
    f32 x, y, z;
};

// What belongs to a kind of particle: inverse mass, and for Langevin dynamics what is kept and what is added.
struct Kind {
    f64 inverse_mass;
    f64 keep;
    f64 noise;
    f64 mass;
};

// Everything in device memory. Arrays marked * are there twice, one half after the other: `half_of` picks one.
struct World {
    Control* control;
    uint4* pos;        // * upper halves and kinds, by Control::parity
    u32* low;          // * lower halves, axis by axis, by Control::side like all that follow
    f64* velocities;   // * axis by axis
    u32* ids;          // *
    i32* images;       // * axis by axis
    uint4* reference;  // positions the list was made from
    u32* block_column; // the column of each block
    u32* column_blocks; // the first block of each column, and their number
    Box* boxes;
    Box* warp_boxes;
    u32* stage_counts;
    u32* stages;
    u16* lists;
    u16* rows_of;
    u32* keys;
    u32* order;
    u32* starts;
    f64* forces;
    f64* partial;
    const f32* parameters;
    const f32* tables;
    const Kind* kinds;
};

// Places are seen from the middle of a block. Where a block and what is near it are longer than the cell, a difference of
// two places may be that of another image: WRAP takes the nearest.
__device__ __forceinline__ f32 nearest(f32 d, u32 axis, const Setup& f)
{
#if WRAP
    return d - f.length[axis] * rintf(d / f.length[axis]);
#else
    (void)axis;
    (void)f;
    return d;
#endif
}

__device__ __forceinline__ f32 apart(u32 a, u32 b, f32 unit) { return f32(i32(a - b)) * unit; }

// Where a particle is, seen from the middle of a box.
__device__ __forceinline__ Place seen_from(const u32 (&middle)[3], uint4 p, const Setup& f)
{
    return {apart(p.x, middle[0], f.unit[0]), apart(p.y, middle[1], f.unit[1]), apart(p.z, middle[2], f.unit[2])};
}

__device__ __forceinline__ f32 beyond(f32 d, f32 half) { return fmaxf(0.0f, fabsf(d) - half); }

__device__ __forceinline__ bool boxes_close(const Box& a, const Box& b, const Setup& f, f32 radius2)
{
    const f32 x = beyond(apart(b.middle[0], a.middle[0], f.unit[0]), a.half[0] + b.half[0]);
    const f32 y = beyond(apart(b.middle[1], a.middle[1], f.unit[1]), a.half[1] + b.half[1]);
    const f32 z = beyond(apart(b.middle[2], a.middle[2], f.unit[2]), a.half[2] + b.half[2]);
    return b.half[0] >= 0.0f && x * x + y * y + z * z < radius2;
}

__device__ __forceinline__ bool near_box(const Place& d, const f32 (&half)[3], f32 radius2)
{
    const f32 x = beyond(d.x, half[0]), y = beyond(d.y, half[1]), z = beyond(d.z, half[2]);
    return x * x + y * y + z * z < radius2;
}

template <class T> __device__ __forceinline__ T* half_of(T* both, u32 which, u32 length)
{
    return both + u64(which) * length;
}
