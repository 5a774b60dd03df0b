// Forces and potentials of charges from a mesh of potentials, and the sums of forces that a mean is taken from.
//
// debye_mesh_gather: a thread per slot reads the points around its charge from memory, in whole vectors along z where rows
// are made of them. debye_mesh_gather_tile: a block per brick brings its points to shared memory and takes the particles that
// begin in it. Both add in one order, so that they give the same bits. 16 bytes read per particle, 24 written (48 moved where
// forces are added to), and every point read once from memory at best.
//
// Forces are summed as whole numbers, so that the order of particles does not matter. Spreading clears the sums; who reads
// forces takes the mean away (MeshLeft in engine.cuh), which so costs no pass over the particles.
//
// Defines: those of mesh.cuh; THREADS; RESIDENT; TILED.
#include "mesh.cuh"

// What may change between steps, in device memory.
struct MeshCell {
    f64 turn[9];   // force = turn × (−q ∂φ/∂fraction), by rows
    f64 potential; // times q φ
    f64 scale;     // units of the sums of forces
    f64 most;      // the largest force that cannot make a sum too large
};

struct MeshForces {
    const MeshCell* cell;
    f64* forces;     // axis by axis
    f64* potentials; // none if nobody asks
    u64* sums;       // of the forces on all charged particles; none if nobody asks
    MeshNotes* notes;
    u32 add;         // to what is there
    u32 unused;
};

// Sums over the points of a stencil: φ and its slopes.
struct Found {
    mesh_real value, x, y, z;
};

// `row(i, j, value, slope)` adds up a row.
template <class Row>
__device__ __forceinline__ Found collect(const mesh_real (&wx)[POINTS], const mesh_real (&sx)[POINTS], const mesh_real (&wy)[POINTS],
                                         const mesh_real (&sy)[POINTS], Row&& row)
{
    Found f = {};
#pragma unroll
    for (u32 i = 0; i < POINTS; ++i) {
        mesh_real value = 0, along_y = 0, along_z = 0;
#pragma unroll
        for (u32 j = 0; j < POINTS; ++j) {
            mesh_real v = 0, s = 0;
            row(i, j, v, s);
            value = fused(wy[j], v, value);
            along_y = fused(sy[j], v, along_y);
            along_z = fused(wy[j], s, along_z);
        }
        f.value = fused(wx[i], value, f.value);
        f.x = fused(sx[i], value, f.x);
        f.y = fused(wx[i], along_y, f.y);
        f.z = fused(wx[i], along_z, f.z);
    }
    return f;
}

// Writes a particle's force; adds it to this thread's sums.
__device__ __forceinline__ void deliver(const MeshForces& to, u32 slots, u32 slot, const Found& found, mesh_real charge, i64 (&sums)[3])
{
    const MeshCell& c = *to.cell;
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
__device__ __forceinline__ void deliver_none(const MeshForces& to, u32 slots, u32 slot)
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
// Numbers of 16 bytes; whole vectors that hold a row of a stencil wherever it begins.
constexpr u32 V = MESH_Z % (16 / sizeof(mesh_real)) == 0 ? 16 / sizeof(mesh_real) : 1, VECTORS = (POINTS + 2 * (V - 1)) / V;
struct alignas(V * sizeof(mesh_real)) Vector {
    mesh_real value[V];
};

__device__ __forceinline__ Found gather_at(const mesh_real* mesh, const Fractions& at)
{
    mesh_real wx[POINTS], sx[POINTS], wy[POINTS], sy[POINTS], wz[POINTS], sz[POINTS];
    const Along x = along<MESH_X>(at.x), y = along<MESH_Y>(at.y), z = along<MESH_Z>(at.z);
    basis_slopes(x.rest, wx, sx);
    basis_slopes(y.rest, wy, sy);
    basis_slopes(z.rest, wz, sz);
    // Weights in their places in the vectors, zero elsewhere.
    mesh_real value[VECTORS * V], slope[VECTORS * V];
    const u32 shift = z.start % V;
#pragma unroll
    for (u32 k = 0; k < VECTORS * V; ++k) {
        value[k] = slope[k] = 0;
#pragma unroll
        for (u32 o = 0; o < V; ++o) {
            if (shift == o && k >= o && k - o < POINTS) {
                value[k] = wz[k - o];
                slope[k] = sz[k - o];
            }
        }
    }
    u32 column[VECTORS];
#pragma unroll
    for (u32 v = 0; v < VECTORS; ++v) {
        const u32 from = z.start - shift + v * V;
        column[v] = from >= MESH_Z ? from - MESH_Z : from;
    }
    return collect(wx, sx, wy, sy, [&](u32 i, u32 j, mesh_real& v, mesh_real& s) {
        u32 px = x.start + i, py = y.start + j;
        px = px >= MESH_X ? px - MESH_X : px;
        py = py >= MESH_Y ? py - MESH_Y : py;
        const mesh_real* row = mesh + mesh_index(px, py, 0);
#pragma unroll
        for (u32 k = 0; k < VECTORS; ++k) {
            const Vector here = *reinterpret_cast<const Vector*>(row + column[k]);
#pragma unroll
            for (u32 c = 0; c < V; ++c) {
                v = fused(value[k * V + c], here.value[c], v);
                s = fused(slope[k * V + c], here.value[c], s);
            }
        }
    });
}

KERNEL_RESIDENT(debye_mesh_gather, THREADS, fitting(THREADS, RESIDENT), MeshParticles p, const mesh_real* mesh, MeshForces to)
{
    const u32 slot = blockIdx.x * THREADS + threadIdx.x;
    i64 sums[3] = {};
    if (slot < slots_used(p)) {
        const Entry e = Present(p).at(slot);
        if (e.charge != mesh_real(0)) deliver(to, p.slots, slot, gather_at(mesh, e.at), e.charge, sums);
        else deliver_none(to, p.slots, slot);
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

KERNEL_RESIDENT(debye_mesh_gather_tile, THREADS, fitting(THREADS, RESIDENT), MeshParticles p, MeshLists l, const mesh_real* mesh, MeshForces to)
{
    DYNAMIC_SHARED(mesh_real, tile);
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
    for (u32 k = threadIdx.x; k < n; k += THREADS) {
        const Entry e = next;
        const u32 mine = slot;
        fetch(k + THREADS);
        const Along x = along<MESH_X>(e.at.x), y = along<MESH_Y>(e.at.y), z = along<MESH_Z>(e.at.z);
        const u32 dx = x.start - u32(b.x), dy = y.start - u32(b.y), dz = z.start - u32(b.z);
        // Others have it.
        if (dx >= u32(b.nx) || dy >= u32(b.ny) || dz >= u32(b.nz)) continue;
        mesh_real wx[POINTS], sx[POINTS], wy[POINTS], sy[POINTS], wz[POINTS], sz[POINTS];
        basis_slopes(x.rest, wx, sx);
        basis_slopes(y.rest, wy, sy);
        basis_slopes(z.rest, wz, sz);
        const mesh_real* at = tile + dx * PLANE + dy * ROW + dz;
        const Found found = collect(wx, sx, wy, sy, [&](u32 i, u32 j, mesh_real& v, mesh_real& s) {
#pragma unroll
            for (u32 c = 0; c < POINTS; ++c) {
                const mesh_real phi = at[i * PLANE + j * ROW + c];
                v = fused(wz[c], phi, v);
                s = fused(sz[c], phi, s);
            }
        });
        deliver(to, p.slots, mine, found, e.charge, sums);
    }
    if (to.sums) add_sums(to.sums, sums);
}
#endif
