// What surrounds all images at infinity, or the gap above a slab: the dipole of all charges, and the energy and forces that
// follow from it. As `vacuum` and `slab` in forces/electrostatics.rs.
//
// debye_boundary_sum: a thread to a slot, sums of every block in one order. debye_boundary_push: every block adds these in the
// same order, so that all come to the same field, and adds its forces to those of the mesh. 16 + 24 bytes read per particle for
// the sums, 16 + 48 moved for the forces.
//
// Defines: those of motion.cuh; SLAB, the axis along which the cell is open (3: it is not, and there is vacuum).
#include "block_sum.cuh"
#include "exact.cuh"
#include "motion.cuh"

// Where the particle of a slot is, with the cells it has crossed.
__device__ __forceinline__ Vector unwrapped(const World& w, const Setup& f, u32 parity, u32 side, u32 slot)
{
    constexpr f64 UNIT = 5.421010862427522e-20; // 2^-64
    const Exact at = exact_at(half_of(w.pos, parity, f.slots), half_of(w.low, low_half(parity, side), 3 * f.slots), slot, f.slots);
    const i32* images = half_of(w.images, side, 3 * f.slots);
    const f64 x = f64(at.x) * UNIT + images[slot], y = f64(at.y) * UNIT + images[u64(f.slots) + slot],
              z = f64(at.z) * UNIT + images[2 * u64(f.slots) + slot];
    const f64* cell = f.frame.cell;
    return {cell[0] * x + cell[3] * y + cell[4] * z, cell[1] * y + cell[5] * z, cell[2] * z};
}

__device__ __forceinline__ f64 along_slab(const Vector& r) { return SLAB == 0 ? r.x : SLAB == 1 ? r.y : r.z; }

// Whether there is nothing to do.
__device__ __forceinline__ bool rests(const World& w, const Setup& f)
{
    const Control* c = w.control;
    if (f.due == DUE_ALWAYS) return false;
    return f.due == DUE_WITH_LIST ? c->stale != 0 : c->rests[f.due - DUE_WITHOUT_SUMS] != 0;
}

KERNEL(debye_boundary_sum, BLOCK, World w, Setup f, BoundaryCharges b)
{
    SHARED(f64, warps, BLOCK_WARPS);
    const Control* c = w.control;
    const u32 slot = blockIdx.x * BLOCK + threadIdx.x;
    if (blockIdx.x >= c->blocks || rests(w, f)) return;
    load_frame(w, f);
    const u32 kind = half_of(w.pos, c->parity, f.slots)[slot].w;
    const f64 q = kind == EMPTY_SLOT ? 0.0 : b.charges[kind];
    Vector r = {0.0, 0.0, 0.0};
    if (q != 0.0) r = unwrapped(w, f, c->parity, c->side, slot);
    const f64 z = along_slab(r), x[BOUNDARY_SUMS] = {q * r.x, q * r.y, q * r.z, SLAB == VACUUM ? 0.0 : q * z * z};
    for (u32 k = 0; k < BOUNDARY_SUMS; ++k) {
        const f64 sum = block_sum(x[k], warps);
        if (threadIdx.x == 0) b.partial[u64(blockIdx.x) * BOUNDARY_SUMS + k] = sum;
    }
}

// The distance between the faces that end the frame.
__device__ __forceinline__ f64 height_of(const Setup& f)
{
    constexpr f64 UNIT = 5.421010862427522e-20; // 2^-64
    const f64* per = f.frame.per_length;
    if (SLAB == 0) return 1.0 / (UNIT * sqrt(per[0] * per[0] + per[3] * per[3] + per[4] * per[4]));
    if (SLAB == 1) return 1.0 / (UNIT * sqrt(per[1] * per[1] + per[5] * per[5]));
    return f.frame.cell[2];
}

// Energy and virial; one thread.
__device__ inline void tell(const Setup& f, const BoundaryCharges& b, f64 strength, const f64* m)
{
    f64 virial[6] = {m[0] * m[0], m[1] * m[1], m[2] * m[2], m[0] * m[1], m[0] * m[2], m[1] * m[2]};
    f64 energy;
    if (SLAB == VACUUM) {
        energy = strength * (virial[0] + virial[1] + virial[2]);
        for (u32 k = 0; k < 6; ++k) virial[k] = -2.0 * strength * virial[k] + (k < 3 ? energy : 0.0);
    } else {
        const f64 length = height_of(f), dipole = m[SLAB % 3];
        energy = strength * (dipole * dipole - b.total * m[3] - b.total * b.total * length * length / 12.0);
        for (u32 k = 0; k < 6; ++k) virial[k] = k == SLAB ? -energy : k < 3 ? energy : 0.0;
    }
    b.sums[0] = energy;
    for (u32 k = 0; k < 6; ++k) b.sums[1 + k] = virial[k];
}

KERNEL(debye_boundary_push, BLOCK, World w, Setup f, BoundaryCharges b)
{
    constexpr f64 PI = 3.14159265358979323846;
    SHARED(f64, sums, BOUNDARY_SUMS);
    const Control* c = w.control;
    const u32 blocks = c->blocks, slot = blockIdx.x * BLOCK + threadIdx.x, lane = lane_of(threadIdx.x);
    if (blockIdx.x >= blocks || rests(w, f)) return;
    load_frame(w, f);
    if (warp_of(threadIdx.x) < BOUNDARY_SUMS) {
        const u32 k = warp_of(threadIdx.x);
        f64 x = 0.0;
        for (u32 n = lane; n < blocks; n += WARP) x += b.partial[u64(n) * BOUNDARY_SUMS + k];
        for (u32 step = WARP / 2; step > 0; step /= 2) x += __shfl_down_sync(ALL_LANES, x, step);
        if (lane == 0) sums[k] = x;
    }
    __syncthreads();
    const f64* cell = f.frame.cell;
    const f64 strength = (SLAB == VACUUM ? 2.0 * PI / 3.0 : 2.0 * PI) * b.k / (cell[0] * cell[1] * cell[2]);
    if (slot == 0) tell(f, b, strength, sums);
    const u32 kind = half_of(w.pos, c->parity, f.slots)[slot].w;
    const f64 q = kind == EMPTY_SLOT ? 0.0 : b.charges[kind];
    if (q == 0.0) return;
    if (SLAB == VACUUM) {
        for (u32 k = 0; k < 3; ++k) w.bonded[u64(k) * f.slots + slot] -= 2.0 * strength * q * sums[k];
    } else {
        const f64 z = along_slab(unwrapped(w, f, c->parity, c->side, slot));
        w.bonded[u64(SLAB) * f.slots + slot] -= 2.0 * strength * q * (sums[SLAB % 3] - b.total * z);
    }
}
