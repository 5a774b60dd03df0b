// What the kernels of a simulation share: how positions are kept, and the few words that steer a run.
//
// A coordinate is a fraction of the frame as a 64-bit whole number; its upper half is in `pos` (x, y, z and the kind of
// particle), its lower half in `low`. Differences wrap around as the cell does, so that the nearest image needs no
// branch, and they are exact wherever in the cell they are taken. Particles stand in slots, 256 to a block, blocks in
// columns of the cell; a slot without a particle has the kind EMPTY_SLOT.
//
// Lists know bodies: LANES slots side by side, of which the first SITES may have particles. A body is a particle, or a rigid
// molecule whose first particle, its anchor, stands for all where neighbors are looked for; the others are at most `arm`
// from it, which the radius of the lists allows for. As many threads as a body has slots share its list.
//
// Defines: PRECISION (0 single, 1 mixed, 2 double), WRAP (see `nearest`), TRICLINIC, MOVING (the frame is in memory,
// because a barostat changes it), CONSTRAINED (1: some particles are at fixed distances), MESHED (1: there is a mesh),
// TURNING (1: some particles turn), ROW_CLASSES (1: kinds share their rows of numbers: those of World::row_classes), VARIED (1: charges
// and dipoles are not in those rows).
#pragma once
#include "frame.cuh"

constexpr u32 BLOCK_WARPS = BLOCK / WARP;
#ifndef LANES
#define LANES 1
#define SITES 1
#endif
constexpr u32 BODIES = BLOCK / LANES;
constexpr u32 BODY_WARPS = BODIES / WARP;
static_assert(BODY_WARPS > 0 && SITES <= LANES, "bodies");
#if WRAP
// Not a number is near nothing, however it is wrapped.
#define OUT_OF_REACH __uint_as_float(0x7fffffffu)
#else
#define OUT_OF_REACH 1e9f
#endif

// The box of a block or of a warp's share of it: middle (upper halves) and half sizes, negative if nobody is in it.
struct Box {
    u32 middle[3];
    u32 column;
    f32 half[3];
    u32 unused;
#if TRICLINIC
    f32 slab[4]; // half sizes between faces along a, b, c
#endif
};

struct Place {
    f32 x, y, z;
};

// A staged particle.
struct alignas(4 * sizeof(real)) Spot {
    real x, y, z;
    u32 kind;
};

// What others see of a particle that turns: its axis z and its dipole, or its orientation (x, y, z of its vector, w).
struct alignas(4 * sizeof(real)) Facing {
    real x, y, z, w;
};

// What rows of numbers cannot say of a particle, where there are too many classes of them.
struct Traits {
    real charge, dipole;
};

// What the mean force of the mesh on a kind of particle is of the sums of its forces.
__device__ __forceinline__ f64 mesh_share(const MeshLeft* mesh, u32 kind)
{
    return reinterpret_cast<const f64*>(mesh + 1)[kind];
}

// Whether constrain.cu moves particles of this kind.
__device__ __forceinline__ bool is_constrained(const Kind& kind)
{
#if CONSTRAINED
    return kind.constrained != 0;
#else
    (void)kind;
    return false;
#endif
}

// Says whether the mesh has anything to do in the next step: by what that needs (Control::split), and whether it waits
// for a list or for the host. The host says so too where it writes the words that steer.
__device__ __forceinline__ void write_rests(Control* c, u32 split, bool waits)
{
    c->rests[0] = waits || split != 0;
    c->rests[1] = waits || split == 0;
}

// The list of a warp, where lists are those of warps: how many eights of places it has, and these; room for one more.
__device__ __forceinline__ uint4* tile_of(const World& w, u32 block, u32 warp, const Setup& f)
{
    return reinterpret_cast<uint4*>(w.lists) + (u64(block) * BLOCK_WARPS + warp) * (f.most_groups * 4 + 2);
}

// Everything that moves with a particle is there twice, one half after the other.
template <class T> __device__ __forceinline__ T* half_of(T* both, u32 which, u32 length)
{
    return both + u64(which) * length;
}

// Lower halves move with positions where others read them, else with the particle.
__device__ __forceinline__ u32 low_half(u32 parity, u32 side)
{
#if PRECISION == 2
    (void)side;
    return parity;
#else
    (void)parity;
    return side;
#endif
}

// What the last block of a kernel writes after all others have read it. The race check does not know that it comes last.
#ifdef DEBYE_EMULATED
#define STEERING(p) load_relaxed(p)
#else
#define STEERING(p) (*(p))
#endif

// The frame as it is now.
__device__ __forceinline__ void load_frame(const World& w, Setup& f)
{
#if MOVING
    static_assert(sizeof(Frame) % 8 == 0, "whole words");
    const u64* from = reinterpret_cast<const u64*>(w.frame);
    u64 words[sizeof(Frame) / 8];
#pragma unroll
    for (u32 k = 0; k < sizeof(Frame) / 8; ++k) words[k] = STEERING(from + k);
    memcpy(&f.frame, words, sizeof(Frame));
#else
    (void)w;
    (void)f;
#endif
}

// The virial along an axis of electrostatics without its pairs, where sums were asked for.
__device__ __forceinline__ f64 mesh_virial(const World& w, const Setup& f, u32 axis)
{
#if MESHED
    const f64* cell = f.frame.cell;
    return w.mesh->strength * w.mesh_sums[1 + axis] + w.mesh->background / (cell[0] * cell[1] * cell[2]) +
           w.mesh_sums[MESH_SUMS + 1 + axis];
#else
    (void)w;
    (void)f;
    (void)axis;
    return 0.0;
#endif
}

// The frame once more, where it is needed: else it would be kept in registers all the way.
__device__ __forceinline__ void reload_frame(const World& w, Setup& f)
{
#if MOVING
    LATER();
    load_frame(w, f);
#else
    (void)w;
    (void)f;
#endif
}

__device__ __forceinline__ f32 rounded(f32 x) { return rintf(x); }
__device__ __forceinline__ f64 rounded(f64 x) { return rint(x); }

// Places are seen from the middle of a block. Where a block and what is near it are longer than the cell, a difference of
// two places may be that of another image: WRAP takes the nearest of those that can be within reach.
template <class R> __device__ __forceinline__ void nearest(R& x, R& y, R& z, const Setup& f)
{
#if WRAP
    const f64* cell = f.frame.cell;
    const R c = rounded(z / R(cell[2]));
    z -= R(cell[2]) * c;
#if TRICLINIC
    y -= R(cell[5]) * c;
    x -= R(cell[4]) * c;
#endif
    const R b = rounded(y / R(cell[1]));
    y -= R(cell[1]) * b;
#if TRICLINIC
    x -= R(cell[3]) * b;
#endif
    x -= R(cell[0]) * rounded(x / R(cell[0]));
#else
    (void)x;
    (void)y;
    (void)z;
    (void)f;
#endif
}

// A product that is rounded by itself: fused into what comes after, the same place would differ from thread to thread.
__device__ __forceinline__ f32 product(f32 a, f32 b) { return __fmul_rn(a, b); }
__device__ __forceinline__ f64 product(f64 a, f64 b) { return __dmul_rn(a, b); }

// A difference in units of the upper halves as a length.
__device__ __forceinline__ Place length_of(i32 x, i32 y, i32 z, const Setup& f)
{
    const f32* unit = f.frame.unit;
#if TRICLINIC
    const f32 a = f32(x), b = f32(y), c = f32(z);
    return {a * unit[0] + b * unit[3] + c * unit[4], b * unit[1] + c * unit[5], product(c, unit[2])};
#else
    return {product(f32(x), unit[0]), product(f32(y), unit[1]), product(f32(z), unit[2])};
#endif
}

// Where a particle is, seen from the middle of a box.
__device__ __forceinline__ Place seen_from(const u32 (&middle)[3], uint4 p, const Setup& f)
{
    return length_of(i32(p.x - middle[0]), i32(p.y - middle[1]), i32(p.z - middle[2]), f);
}

// The middle of one box seen from that of another.
__device__ __forceinline__ Place between(const Box& from, const Box& to, const Setup& f)
{
    return length_of(i32(to.middle[0] - from.middle[0]), i32(to.middle[1] - from.middle[1]),
                     i32(to.middle[2] - from.middle[2]), f);
}

__device__ __forceinline__ f32 beyond(f32 d, f32 half) { return fmaxf(0.0f, fabsf(d) - half); }

// Whether anything in two boxes can be within the radius, whichever images they are.
__device__ __forceinline__ bool boxes_close(const Box& a, const Box& b, const Setup& f, f32 radius2)
{
#if TRICLINIC
    bool close = b.half[0] >= 0.0f;
    for (u32 k = 0; k < 3; ++k) {
        const f32 apart = f32(i32(b.middle[k] - a.middle[k])) * (f.frame.height[k] * (1.0f / 4294967296.0f));
        close = close && beyond(apart, a.slab[k] + b.slab[k]) < f.radius;
    }
    (void)radius2;
    return close;
#else
    const Place d = between(a, b, f);
    const f32 x = beyond(d.x, a.half[0] + b.half[0]), y = beyond(d.y, a.half[1] + b.half[1]),
              z = beyond(d.z, a.half[2] + b.half[2]);
    return b.half[0] >= 0.0f && x * x + y * y + z * z < radius2;
#endif
}

// Whether a place can be within the radius of a box.
__device__ __forceinline__ bool near_box(const Place& d, const f32 (&half)[3], f32 radius2)
{
#if TRICLINIC && WRAP
    // The nearest image to the middle need not be the nearest to the box.
    (void)d;
    (void)radius2;
    return half[0] >= 0.0f;
#else
    const f32 x = beyond(d.x, half[0]), y = beyond(d.y, half[1]), z = beyond(d.z, half[2]);
    return x * x + y * y + z * z < radius2;
#endif
}
