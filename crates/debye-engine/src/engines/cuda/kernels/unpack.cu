// Particles of a simulation as plain numbers: fractions of the cell and the charge. A thread has a slot; 16 to 28 bytes read,
// 32 written.
#include "mesh.cuh"

KERNEL(debye_mesh_unpack, 256, MeshParticles p, f64* to)
{
    const u32 slot = blockIdx.x * 256 + threadIdx.x;
    if (slot >= p.slots) return;
    f64* own = to + 4 * u64(slot);
    Entry e = {};
    if (slot < slots_used(p)) e = Present(p).at(slot);
    const f64 unit = sizeof(fraction) == 8 ? 0x1p-64 : 0x1p-32;
    own[0] = f64(e.at.x) * unit;
    own[1] = f64(e.at.y) * unit;
    own[2] = f64(e.at.z) * unit;
    own[3] = f64(e.charge);
}
