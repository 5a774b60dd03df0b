// Charge mapping with a thread for each particle or each bin (Sanaullah et al., Algorithms 3 and 4), and the making of
// static bins.
//
// A particle is 16 bytes to read and 64 atomic additions of 4 bytes. A bin of the layout WHOLE is read with its ghosts;
// of the others only what is in it. The order of the additions depends on scheduling, and so do the last bits of sums.
//
// Defines: LAYOUT, and SLOTS of whole bins (skeel.cuh).
#include "skeel.cuh"

// Lines 7 to 20 of Algorithm 4 for one particle, whose points are known.
__device__ __forceinline__ void add_charge(const MapWork& work, const u32 (&gx)[4], const u32 (&gy)[4], const u32 (&gz)[4],
                                           const Particle& p, f32* mesh)
{
    f32 phix[4], phiy[4], phiz[4];
    basis(p.z - f32(gz[1]), phiz);
    basis(p.y - f32(gy[1]), phiy);
    basis(p.x - f32(gx[1]), phix);
#pragma unroll
    for (u32 z = 0; z < 4; ++z) {
#pragma unroll
        for (u32 y = 0; y < 4; ++y) {
            const f32 charge = phiz[z] * p.q * phiy[y];
#pragma unroll
            for (u32 x = 0; x < 4; ++x) atomicAdd(&mesh[point_index(work, gx[x], gy[y], gz[z])], charge * phix[x]);
        }
    }
}

__device__ __forceinline__ u32 cell(f32 x, u32 n) { return smaller(u32(x), n - 1); }

// Algorithm 3: particles as they come.
KERNEL(debye_map_particles, MAP_THREADS, MapWork work, const f32* particles, f32* mesh)
{
    const u32 id = blockIdx.x * MAP_THREADS + threadIdx.x;
    if (id >= work.particles) return;
    const Particle p = {particles[4 * id], particles[4 * id + 1], particles[4 * id + 2], particles[4 * id + 3]};
    u32 gx[4], gy[4], gz[4];
    touched(cell(p.z, work.size[2]), work.size[2], gz);
    touched(cell(p.y, work.size[1]), work.size[1], gy);
    touched(cell(p.x, work.size[0]), work.size[0], gx);
    add_charge(work, gx, gy, gz, p, mesh);
}

// Algorithm 4: a bin for each thread. The kernels of the layouts have names of their own, for profilers.
__device__ __forceinline__ void map_bin(const MapWork& work, const u32* counters, const f32* words, f32* mesh)
{
    const u32 id = blockIdx.x * MAP_THREADS + threadIdx.x;
    if (id >= work.bins) return;
    u32 gx[4], gy[4], gz[4];
    touched(id / (work.size[0] * work.size[1]), work.size[2], gz);
    touched(id / work.size[0] % work.size[1], work.size[1], gy);
    touched(id % work.size[0], work.size[0], gx);
#if LAYOUT == WHOLE
    Bin bin;
    read_bin(work, words, id, bin);
#pragma unroll 1
    for (u32 itr = 0; itr < bin.counter; ++itr) add_charge(work, gx, gy, gz, bin.slot[itr], mesh);
#else
    const u32 counter = smaller(counters[id], slots_of(work));
#pragma unroll 1
    for (u32 itr = 0; itr < counter; ++itr) add_charge(work, gx, gy, gz, particle_of(work, words, id, itr), mesh);
#endif
}
#if LAYOUT == WHOLE
KERNEL(debye_map_bins_whole, MAP_THREADS, MapWork work, const u32* counters, const f32* words, f32* mesh)
{
    map_bin(work, counters, words, mesh);
}
#elif LAYOUT == INTERLEAVED
KERNEL(debye_map_bins_interleaved, MAP_THREADS, MapWork work, const u32* counters, const f32* words, f32* mesh)
{
    map_bin(work, counters, words, mesh);
}
#else
KERNEL(debye_map_bins_coalesced, MAP_THREADS, MapWork work, const u32* counters, const f32* words, f32* mesh)
{
    map_bin(work, counters, words, mesh);
}
#endif

// One pass over the particles: each takes the next slot of its bin. Where there is none, `needed` says how many there
// would have to be, and the host makes larger bins. Counters and words must be zero before.
KERNEL(debye_map_bin, MAP_THREADS, MapWork work, const f32* particles, u32* counters, f32* words, u32* needed)
{
    const u32 id = blockIdx.x * MAP_THREADS + threadIdx.x;
    if (id >= work.particles) return;
    const Particle p = {particles[4 * id], particles[4 * id + 1], particles[4 * id + 2], particles[4 * id + 3]};
    const u32 bin =
        point_index(work, cell(p.x, work.size[0]), cell(p.y, work.size[1]), cell(p.z, work.size[2]));
#if LAYOUT == WHOLE
    u32* counter = reinterpret_cast<u32*>(words) + u64(bin) * BIN_WORDS;
#else
    u32* counter = counters + bin;
#endif
    const u32 slot = atomicAdd(counter, 1u);
    if (slot >= slots_of(work)) {
        atomicMax(needed, slot + 1);
        return;
    }
    words[word_of(work, bin, slot, 0)] = p.x;
    words[word_of(work, bin, slot, 1)] = p.y;
    words[word_of(work, bin, slot, 2)] = p.z;
    words[word_of(work, bin, slot, 3)] = p.q;
}
