// All that is at fixed distances: rigid waters, other clusters, rigid bodies.
//
// Defines: WATERS, CLUSTERS and RIGID_BODIES, whether there are any.
#pragma once
#include "rigid.cuh"
#include "rigid_bodies.cuh"

// Waters alone need fewer registers.
#define ONLY_WATERS (!CLUSTERS && !RIGID_BODIES)

// What this thread has: a water, a cluster or a rigid body, and its number.
enum GroupKind { NOTHING, WATER, CLUSTER, RIGID_BODY };
struct ThreadGroup {
    GroupKind what;
    u32 number;
};

// Blocks of waters come first, then those of clusters.
__device__ __forceinline__ ThreadGroup group_of_thread(const ConstraintTables& h)
{
    u32 block = blockIdx.x;
    auto blocks = [](u32 count) { return (count + CONSTRAIN_THREADS - 1) / CONSTRAIN_THREADS; };
    auto group = [&](GroupKind what, u32 count) -> ThreadGroup {
        const u32 number = block * CONSTRAIN_THREADS + threadIdx.x;
        return {number < count ? what : NOTHING, number};
    };
    if (WATERS) {
        if (ONLY_WATERS || block < blocks(h.waters)) return group(WATER, h.waters);
        block -= blocks(h.waters);
    }
    if (CLUSTERS) {
        if (!RIGID_BODIES || block < blocks(h.clusters)) return group(CLUSTER, h.clusters);
        block -= blocks(h.clusters);
    }
    return group(RIGID_BODY, h.rigid_bodies);
}
