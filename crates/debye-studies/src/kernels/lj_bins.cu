// Lennard-Jones forces over bins, as Hedman (2016) describes them: particles sorted by bin, a thread for each particle,
// loops over the bins around its own and over their particles.
//
// 16 bytes are read for every particle of a bin, by all threads of the bin at the same time; 16 bytes are written for each
// particle. A thread alone adds to its force, in the order of the bins, so the force does not depend on scheduling.
//
// Defines: BRANCHES, whether a bin beyond a face is brought back by branches, as in the paper, or by arithmetic.
#include "bins_shared.cuh"

// The bin that is meant beyond a face, and how far its particles are to be moved.
__device__ __forceinline__ i32 wrapped(i32 bin, i32 bins, f32 side, f32& shift)
{
#if BRANCHES
    shift = 0.0f;
    if (bin < 0) {
        bin += bins;
        shift = -side;
    } else if (bin >= bins) {
        bin -= bins;
        shift = side;
    }
    return bin;
#else
    const i32 faces = i32(bin >= bins) - i32(bin < 0);
    shift = f32(faces) * side;
    return bin - faces * bins;
#endif
}

KERNEL(debye_lj_bins, BIN_THREADS, BinWork work, const f32* sorted, const u32* starts, f32* forces)
{
    const u32 own = blockIdx.x * BIN_THREADS + threadIdx.x;
    if (own >= work.particles) return;
    const float4* places = reinterpret_cast<const float4*>(sorted);
    const float4 me = places[own];
    const i32 bins = i32(work.bins), reach = i32(work.reach);
    const i32 bx = i32(me.x * work.per_bin), by = i32(me.y * work.per_bin), bz = i32(me.z * work.per_bin);
    f32 fx = 0.0f, fy = 0.0f, fz = 0.0f, energy = 0.0f;
    for (i32 z = bz - reach; z <= bz + reach; ++z) {
        f32 sz;
        const i32 wz = wrapped(z, bins, work.side, sz);
        for (i32 y = by - reach; y <= by + reach; ++y) {
            f32 sy;
            const i32 wy = wrapped(y, bins, work.side, sy);
            for (i32 x = bx - reach; x <= bx + reach; ++x) {
                f32 sx;
                const i32 wx = wrapped(x, bins, work.side, sx);
                const u32 bin = u32((wz * bins + wy) * bins + wx);
                for (u32 other = starts[bin]; other < starts[bin + 1]; ++other) {
                    const float4 they = places[other];
                    const f32 dx = me.x - they.x - sx, dy = me.y - they.y - sy, dz = me.z - they.z - sz;
                    const f32 r2 = dx * dx + dy * dy + dz * dz;
                    if (r2 < work.cutoff2 && other != own) {
                        const f32 s2 = work.sigma2 / r2, s6 = s2 * s2 * s2;
                        const f32 f = 24.0f * work.epsilon * s6 * (2.0f * s6 - 1.0f) / r2;
                        fx += f * dx;
                        fy += f * dy;
                        fz += f * dz;
                        energy += 2.0f * work.epsilon * s6 * (s6 - 1.0f);
                    }
                }
            }
        }
    }
    reinterpret_cast<float4*>(forces)[own] = make_float4(fx, fy, fz, energy);
}
