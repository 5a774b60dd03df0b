// Skeel's cubic on a periodic mesh, as Sanaullah et al. write it: what all kernels of charge mapping share.
#pragma once
#include "mapping_shared.cuh"

// The four points that a charge touches along an axis, the second of them at or below it; conditional assignments.
__device__ __forceinline__ void touched(u32 below, u32 n, u32 (&g)[4])
{
    g[0] = below == 0 ? n - 1 : below - 1;
    g[1] = below;
    g[2] = below + 1 >= n ? below + 1 - n : below + 1;
    g[3] = below + 2 >= n ? below + 2 - n : below + 2;
}

// Eq. 3: the weights of those points, for a charge `oi` beyond the second.
__device__ __forceinline__ void basis(f32 oi, f32 (&phi)[4])
{
    const f32 oi2 = oi * oi, oi3 = oi2 * oi;
    phi[0] = oi2 - 0.5f * (oi3 + oi);
    phi[1] = 1.5f * oi3 - 2.5f * oi2 + 1.0f;
    phi[2] = 2.0f * oi2 - 1.5f * oi3 + 0.5f * oi;
    phi[3] = 0.5f * (oi3 - oi2);
}

// One of them, by branches.
__device__ __forceinline__ f32 basis_by_branches(u32 which, f32 oi)
{
    if (which == 0) return ((-0.5f * oi + 1.0f) * oi - 0.5f) * oi;
    if (which == 1) return (1.5f * oi - 2.5f) * oi * oi + 1.0f;
    if (which == 2) return ((-1.5f * oi + 2.0f) * oi + 0.5f) * oi;
    return 0.5f * (oi - 1.0f) * oi * oi;
}

// One of them, by evaluating all four and conditional assignments.
__device__ __forceinline__ f32 basis_by_selection(u32 which, f32 oi)
{
    f32 phi[4];
    basis(oi, phi);
    f32 chosen = phi[0];
    chosen = which == 1 ? phi[1] : chosen;
    chosen = which == 2 ? phi[2] : chosen;
    return which == 3 ? phi[3] : chosen;
}

// A point, or the bin with its number: x follows one another in memory.
__device__ __forceinline__ u32 point_index(const MapWork& work, u32 x, u32 y, u32 z)
{
    return (z * work.size[1] + y) * work.size[0] + x;
}

// Bins. A slot is x, y, z in mesh units and the charge; slots without a particle have no charge.
//   WHOLE        a bin is its counter and its SLOTS slots, one after another in memory (section III B)
//   INTERLEAVED  equal slots of all bins follow one another, counters are an array of their own (Fig. 4a)
//   COALESCED    the same, and equal words of equal slots follow one another (Fig. 4b)
#if LAYOUT == WHOLE
constexpr u32 BIN_WORDS = 1 + 4 * SLOTS;
__device__ __forceinline__ u32 slots_of(const MapWork&) { return SLOTS; }
#else
__device__ __forceinline__ u32 slots_of(const MapWork& work) { return work.slots; }
#endif
__device__ __forceinline__ u32 word_of(const MapWork& work, u32 bin, u32 slot, u32 word)
{
#if LAYOUT == WHOLE
    return bin * BIN_WORDS + 1 + 4 * slot + word;
#elif LAYOUT == INTERLEAVED
    return 4 * (slot * work.bins + bin) + word;
#else
    return (4 * slot + word) * work.bins + bin;
#endif
}

struct Particle {
    f32 x, y, z, q;
};
__device__ __forceinline__ Particle particle_of(const MapWork& work, const f32* words, u32 bin, u32 slot)
{
    return {words[word_of(work, bin, slot, 0)], words[word_of(work, bin, slot, 1)], words[word_of(work, bin, slot, 2)],
            words[word_of(work, bin, slot, 3)]};
}

#if LAYOUT == WHOLE
// A bin in registers or local memory, ghosts and all: `Bin = Mem[ID]` of Algorithms 4 and 5.
struct Bin {
    u32 counter;
    Particle slot[SLOTS];
};
__device__ __forceinline__ void read_bin(const MapWork& work, const f32* words, u32 bin, Bin& to)
{
    to.counter = smaller(__float_as_uint(words[bin * BIN_WORDS]), slots_of(work));
#pragma unroll 4
    for (u32 slot = 0; slot < SLOTS; ++slot) to.slot[slot] = particle_of(work, words, bin, slot);
}
#endif
