// Forces and potentials of charges from a mesh of potentials, and the sums of forces that a mean is taken from.
//
// debye_mesh_gather: points are read from memory, in vectors along z where rows are made of them. LANES threads have as many
// slots, and share the particles in the first SITES of them: each takes planes of the points around a charge.
// debye_mesh_gather_tile: a block per brick brings its points to shared memory and takes the particles that begin in it; a warp
// picks 32 of them from the list before it begins. All add in one order, so that they give the same bits. 16 bytes read per
// particle, 24 written (48 moved where forces are added to), and every point read once from memory at best.
//
// Forces are summed as whole numbers, so that the order of particles does not matter. Spreading clears the sums; who reads
// forces takes the mean away (MeshLeft in engine.cuh), which so costs no pass over the particles.
//
// Defines: those of mesh.cuh; THREADS; RESIDENT; TILED; LANES, SITES.
#include "mesh.cuh"

// Sums over the points of a stencil: φ and its derivatives.
struct Found {
    mesh_real value, x, y, z;
};

// The same over one plane, without the weights along x.
struct Plane {
    mesh_real value, y, z;
};

// `row(j, value, derivative)` adds up a row.
template <class Row>
__device__ __forceinline__ Plane collect_plane(const mesh_real (&wy)[POINTS], const mesh_real (&sy)[POINTS], Row&& row)
{
    Plane f = {};
#pragma unroll
    for (u32 j = 0; j < POINTS; ++j) {
        mesh_real v = 0, s = 0;
        row(j, v, s);
        f.value = fused(wy[j], v, f.value);
        f.y = fused(sy[j], v, f.y);
        f.z = fused(wy[j], s, f.z);
    }
    return f;
}

__device__ __forceinline__ void add_plane(Found& to, mesh_real w, mesh_real s, const Plane& plane)
{
    to.value = fused(w, plane.value, to.value);
    to.x = fused(s, plane.value, to.x);
    to.y = fused(w, plane.y, to.y);
    to.z = fused(w, plane.z, to.z);
}

// Writes a particle's force; adds it to this thread's sums.
__device__ __forceinline__ void deliver(const GatheredForces& to, u32 slots, u32 slot, const Found& found,
                                        mesh_real charge, i64 (&sums)[3])
{
    const GatherCell& c = *to.cell;
    const f64 q = f64(charge);
    const f64 x = -q * MESH_X * f64(found.x), y = -q * MESH_Y * f64(found.y), z = -q * MESH_Z * f64(found.z);
    bool strong = false;
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
        const f64 force = fma(c.turn[3 * k], x, fma(c.turn[3 * k + 1], y, c.turn[3 * k + 2] * z));
        f64* at = to.forces + u64(k) * slots + slot;
        *at = to.add ? *at + force : force;
        if (to.sums) {
            strong = strong || !(fabs(force) <= c.most);
            if (!strong) sums[k] += __double2ll_rn(force * c.scale);
        }
    }
    if (to.potentials) to.potentials[slot] = c.potential * q * f64(found.value);
    if (strong) atomicOr(&to.notes->faults, u32(TOO_STRONG));
}

// A particle without charge.
__device__ __forceinline__ void deliver_none(const GatheredForces& to, u32 slots, u32 slot)
{
    for (u32 k = 0; k < 3 && !to.add; ++k) to.forces[u64(k) * slots + slot] = 0.0;
    if (to.potentials) to.potentials[slot] = 0.0;
}

// Adds the sums of all threads. All of them call it.
__device__ __forceinline__ void add_sums(u64* to, i64 (&sums)[3])
{
    SHARED(u64, block, 3);
    if (threadIdx.x < 3) block[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
        u64 x = u64(sums[k]);
        for (u32 step = WARP / 2; step > 0; step /= 2) x += __shfl_down_sync(ALL_LANES, x, step);
        if (lane_of(threadIdx.x) == 0) atomicAdd(&block[k], x);
    }
    __syncthreads();
    if (threadIdx.x < 3) atomicAdd(to + threadIdx.x, block[threadIdx.x]);
}

#if !TILED
// Numbers of a vector that rows are made of, up to 16 bytes; vectors that hold a row of a stencil wherever it begins.
constexpr u32 V = MESH_Z % (16 / sizeof(mesh_real)) == 0 ? 16 / sizeof(mesh_real) : MESH_Z % 2 == 0 ? 2 : 1;
constexpr u32 VECTORS = (POINTS + 2 * (V - 1)) / V;
struct alignas(V * sizeof(mesh_real)) Vector {
    mesh_real value[V];
};
// Planes of one thread.
constexpr u32 PLANES = (POINTS + LANES - 1) / LANES;
static_assert(WARP % LANES == 0 && SITES <= LANES && THREADS % LANES == 0, "slots that belong together are in one warp");

// A lane of those that share a particle takes every LANES-th plane; all of them come to the same.
__device__ __forceinline__ Found gather_at(const mesh_real* mesh, const Fractions& at, u32 lane)
{
    mesh_real wx[POINTS], sx[POINTS], wy[POINTS], sy[POINTS], wz[POINTS], sz[POINTS];
    const Along x = along<MESH_X>(at.x), y = along<MESH_Y>(at.y), z = along<MESH_Z>(at.z);
    basis_derivatives(x.rest, wx, sx);
    basis_derivatives(y.rest, wy, sy);
    basis_derivatives(z.rest, wz, sz);
    // Weights in their places in the vectors, zero elsewhere.
    mesh_real value[VECTORS * V], derivative[VECTORS * V];
    const u32 shift = z.start % V;
#pragma unroll
    for (u32 k = 0; k < VECTORS * V; ++k) {
        value[k] = derivative[k] = 0;
#pragma unroll
        for (u32 o = 0; o < V; ++o) {
            if (shift == o && k >= o && k - o < POINTS) {
                value[k] = wz[k - o];
                derivative[k] = sz[k - o];
            }
        }
    }
    u32 column[VECTORS];
#pragma unroll
    for (u32 v = 0; v < VECTORS; ++v) {
        const u32 from = z.start - shift + v * V;
        column[v] = from >= MESH_Z ? from - MESH_Z : from;
    }
    const auto plane_at = [&](u32 i) {
        u32 px = x.start + i;
        px = px >= MESH_X ? px - MESH_X : px;
        return collect_plane(wy, sy, [&](u32 j, mesh_real& v, mesh_real& s) {
            u32 py = y.start + j;
            py = py >= MESH_Y ? py - MESH_Y : py;
            const mesh_real* row = mesh + mesh_index(px, py, 0);
#pragma unroll
            for (u32 k = 0; k < VECTORS; ++k) {
                const Vector here = *reinterpret_cast<const Vector*>(row + column[k]);
#pragma unroll
                for (u32 c = 0; c < V; ++c) {
                    v = fused(value[k * V + c], here.value[c], v);
                    s = fused(derivative[k * V + c], here.value[c], s);
                }
            }
        });
    };
    Found found = {};
    if (LANES == 1) {
#pragma unroll
        for (u32 i = 0; i < POINTS; ++i) add_plane(found, wx[i], sx[i], plane_at(i));
        return found;
    }
    Plane mine[PLANES] = {};
#pragma unroll
    for (u32 k = 0; k < PLANES; ++k) {
        if (k * LANES + lane < POINTS) mine[k] = plane_at(k * LANES + lane);
    }
    const u32 first = lane_of(threadIdx.x) - lane;
#pragma unroll
    for (u32 i = 0; i < POINTS; ++i) {
        const Plane& from = mine[i / LANES];
        const u32 owner = first + i % LANES;
        const Plane plane = {__shfl_sync(ALL_LANES, from.value, owner), __shfl_sync(ALL_LANES, from.y, owner),
                             __shfl_sync(ALL_LANES, from.z, owner)};
        add_plane(found, wx[i], sx[i], plane);
    }
    return found;
}

KERNEL_RESIDENT(debye_mesh_gather, THREADS, fitting(THREADS, RESIDENT), MeshParticles p, const mesh_real* mesh,
                GatheredForces to)
{
    if (rests(p)) return;
    const u32 slot = blockIdx.x * THREADS + threadIdx.x;
    i64 sums[3] = {};
    // Where threads share particles, slots come in whole warps.
    if (slot < slots_used(p)) {
        const Present present(p);
        const u32 lane = slot % LANES;
        if (lane >= SITES) deliver_none(to, p.slots, slot);
#pragma unroll
        for (u32 site = 0; site < SITES; ++site) {
            const Entry e = present.at(slot - lane + site);
            const bool charged = e.charge != mesh_real(0);
            if (LANES == 1 && !charged) {
                deliver_none(to, p.slots, slot);
                continue;
            }
            const Found found = gather_at(mesh, e.at, lane);
            if (lane != site) continue;
            if (charged) deliver(to, p.slots, slot, found, e.charge, sums);
            else deliver_none(to, p.slots, slot);
        }
    }
    if (to.sums) add_sums(to.sums, sums);
}
#else
constexpr u32 TILE_X = BRICK_X + POINTS - 1, TILE_Y = BRICK_Y + POINTS - 1, TILE_Z = (BRICK_Z + POINTS - 1 + 3) / 4 * 4;
constexpr u32 ROW = row_words(TILE_Z), PLANE = plane_words(TILE_Y, ROW), TILE = PLANE * TILE_X;
static_assert(TILE * sizeof(mesh_real) <= SHARED_BYTES, "the host reserves enough");

// Brings a brick and what lies above it to shared memory.
__device__ __forceinline__ void fill_tile(mesh_real* tile, const Brick& b, const mesh_real* mesh)
{
    constexpr u32 V = MESH_Z % 4 == 0 && !MESH_DOUBLE ? 4 : 1;
    struct alignas(V * sizeof(mesh_real)) Vector {
        mesh_real value[V];
    };
    for (u32 k = threadIdx.x; k < TILE_X * TILE_Y * (TILE_Z / V); k += THREADS) {
        const u32 z = k % (TILE_Z / V) * V, y = k / (TILE_Z / V) % TILE_Y, x = k / (TILE_Z / V * TILE_Y);
        if (x >= u32(b.nx) + POINTS - 1 || y >= u32(b.ny) + POINTS - 1 || z >= u32(b.nz) + POINTS - 1) continue;
        const u64 from = mesh_index((u32(b.x) + x) % MESH_X, (u32(b.y) + y) % MESH_Y, (u32(b.z) + z) % MESH_Z);
        *reinterpret_cast<Vector*>(tile + x * PLANE + y * ROW + z) = *reinterpret_cast<const Vector*>(mesh + from);
    }
}

// Whether a particle begins in the brick.
__device__ __forceinline__ bool begins(const Brick& b, const Fractions& at)
{
    const u32 dx = along<MESH_X>(at.x).start - u32(b.x), dy = along<MESH_Y>(at.y).start - u32(b.y),
              dz = along<MESH_Z>(at.z).start - u32(b.z);
    return dx < u32(b.nx) && dy < u32(b.ny) && dz < u32(b.nz);
}

__device__ __forceinline__ Found gather_in(const mesh_real* tile, const Brick& b, const Fractions& at)
{
    mesh_real wx[POINTS], sx[POINTS], wy[POINTS], sy[POINTS], wz[POINTS], sz[POINTS];
    const Along x = along<MESH_X>(at.x), y = along<MESH_Y>(at.y), z = along<MESH_Z>(at.z);
    basis_derivatives(x.rest, wx, sx);
    basis_derivatives(y.rest, wy, sy);
    basis_derivatives(z.rest, wz, sz);
    const mesh_real* from = tile + (x.start - u32(b.x)) * PLANE + (y.start - u32(b.y)) * ROW + (z.start - u32(b.z));
    Found found = {};
#pragma unroll
    for (u32 i = 0; i < POINTS; ++i) {
        const Plane plane = collect_plane(wy, sy, [&](u32 j, mesh_real& v, mesh_real& s) {
#pragma unroll
            for (u32 c = 0; c < POINTS; ++c) {
                const mesh_real phi = from[i * PLANE + j * ROW + c];
                v = fused(wz[c], phi, v);
                s = fused(sz[c], phi, s);
            }
        });
        add_plane(found, wx[i], sx[i], plane);
    }
    return found;
}

KERNEL_RESIDENT(debye_mesh_gather_tile, THREADS, fitting(THREADS, RESIDENT), MeshParticles p, MeshLists l,
                const mesh_real* mesh, GatheredForces to)
{
    DYNAMIC_SHARED(mesh_real, tile);
    // Slots of particles that begin in the brick and wait for their warp to have 32 of them.
    SHARED(u32, queues, 2 * THREADS);
    if (rests(p)) return;
    const u32 lane = lane_of(threadIdx.x);
    u32* queue = queues + 2 * (threadIdx.x - lane);
    const Brick b = brick(blockIdx.x);
    const Present present(p);
    const u32 n = smaller(l.counts[blockIdx.x], l.capacity);
    const u32* list = l.slots + u64(blockIdx.x) * l.capacity;
    u32 slot = 0;
    Entry next = {};
    auto fetch = [&](u32 k) {
        if (k >= n) return;
        slot = list[k];
        next = present.at(slot);
    };
    fetch(threadIdx.x);
    fill_tile(tile, b, mesh);
    __syncthreads();
    i64 sums[3] = {};
    u32 waiting = 0;
    const auto serve = [&](u32 place) {
        const u32 mine = queue[place];
        const Entry e = present.at(mine);
        deliver(to, p.slots, mine, gather_in(tile, b, e.at), e.charge, sums);
    };
    for (u32 k = threadIdx.x; k - lane < n; k += THREADS) {
        const bool mine = k < n && begins(b, next.at);
        const u32 all = __ballot_sync(ALL_LANES, mine);
        if (mine) queue[waiting + u32(__popc(all & lanes_below(lane)))] = slot;
        fetch(k + THREADS);
        waiting += u32(__popc(all));
        __syncwarp();
        if (waiting < WARP) continue;
        waiting -= WARP;
        serve(waiting + lane);
        __syncwarp();
    }
    if (lane < waiting) serve(lane);
    if (to.sums) add_sums(to.sums, sums);
}
#endif
