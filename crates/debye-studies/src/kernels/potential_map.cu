// Direct Coulomb summation after Stone (2016), chapter 15: a slice of the grid, for the atoms of one chunk.
//
// An atom is x, y, the square of its distance from the slice, and its charge, in constant memory. Every thread adds
// what these atoms make at its points to what is there already, so that chunks follow one another. Rows and columns are
// padded to whole blocks: no thread asks whether its points exist.
//
// Per thread and atom 16 bytes from the constant cache; per point 8 bytes of memory once in a launch. Nobody else writes
// to a thread's points, and atoms are summed in order, so the sum does not depend on scheduling.
#include "prelude.cuh"

constexpr u32 SIDE = 16; // threads of a block along x and along y: the paper's BLOCKSIZEX
constexpr u32 ATOMS = 4096; // 64 KiB, all of the constant memory

CONSTANT(float4, debye_atominfo, ATOMS)

// Fig. 15.5: one point for each thread. The old value is read first, so that the loop hides the wait.
KERNEL(debye_dcs_1, SIDE* SIDE, f32* energygrid, u32 row, f32 gridspacing, u32 numatoms)
{
    const u32 xindex = blockIdx.x * SIDE + threadIdx.x, yindex = blockIdx.y * SIDE + threadIdx.y;
    const u32 outaddr = yindex * row + xindex;
    const f32 curenergy = energygrid[outaddr];
    const f32 coorx = gridspacing * f32(xindex), coory = gridspacing * f32(yindex);
    f32 energyval = 0.0f;
    for (u32 atomid = 0; atomid < numatoms; ++atomid) {
        const f32 dx = coorx - debye_atominfo[atomid].x;
        const f32 dy = coory - debye_atominfo[atomid].y;
        energyval += debye_atominfo[atomid].w * rsqrtf(dx * dx + dy * dy + debye_atominfo[atomid].z);
    }
    energygrid[outaddr] = curenergy + energyval;
}

// Fig. 15.7: four neighboring points for each thread, which share dy² + dz² and what is read of the atom.
KERNEL(debye_dcs_2, SIDE* SIDE, f32* energygrid, u32 row, f32 gridspacing, u32 numatoms)
{
    const u32 xindex = 4 * (blockIdx.x * SIDE + threadIdx.x), yindex = blockIdx.y * SIDE + threadIdx.y;
    const u32 outaddr = yindex * row + xindex;
    const f32 coory = gridspacing * f32(yindex);
    f32 coorx[4], curenergy[4], energyval[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        coorx[k] = gridspacing * f32(xindex + k);
        curenergy[k] = energygrid[outaddr + k];
    }
    for (u32 atomid = 0; atomid < numatoms; ++atomid) {
        const f32 dy = coory - debye_atominfo[atomid].y;
        const f32 dysqpdzsq = dy * dy + debye_atominfo[atomid].z;
        const f32 x = debye_atominfo[atomid].x, charge = debye_atominfo[atomid].w;
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            const f32 dx = coorx[k] - x;
            energyval[k] += charge * rsqrtf(dx * dx + dysqpdzsq);
        }
    }
#pragma unroll
    for (u32 k = 0; k < 4; ++k) energygrid[outaddr + k] = curenergy[k] + energyval[k];
}

// Fig. 15.9: eight points for each thread, 16 apart, so that neighboring threads write neighboring points. The old
// values are read after the loop, which saves eight registers in it.
KERNEL(debye_dcs_3, SIDE* SIDE, f32* energygrid, u32 row, f32 gridspacing, u32 numatoms)
{
    const u32 xindex = 8 * SIDE * blockIdx.x + threadIdx.x, yindex = blockIdx.y * SIDE + threadIdx.y;
    const u32 outaddr = yindex * row + xindex;
    const f32 coorx = gridspacing * f32(xindex), coory = gridspacing * f32(yindex);
    const f32 gridspacing_coalesce = gridspacing * f32(SIDE);
    f32 energyval[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (u32 atomid = 0; atomid < numatoms; ++atomid) {
        const f32 dy = coory - debye_atominfo[atomid].y;
        const f32 dyz2 = dy * dy + debye_atominfo[atomid].z;
        f32 dx = coorx - debye_atominfo[atomid].x;
#pragma unroll
        for (u32 k = 0; k < 8; ++k) {
            energyval[k] += debye_atominfo[atomid].w * rsqrtf(dx * dx + dyz2);
            dx += gridspacing_coalesce;
        }
    }
#pragma unroll
    for (u32 k = 0; k < 8; ++k) energygrid[outaddr + k * SIDE] += energyval[k];
}
