// A plain copy: what memory can do, beside which other kernels are measured.
#include "prelude.cuh"

KERNEL(debye_copy, 512, const u32* from, u32* to, u64 quads)
{
    const uint4* source = reinterpret_cast<const uint4*>(from);
    uint4* target = reinterpret_cast<uint4*>(to);
    const u64 start = u64(blockIdx.x) * 2048 + threadIdx.x;
    uint4 x[4];
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        if (start + k * 512 < quads) x[k] = source[start + k * 512];
    }
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        if (start + k * 512 < quads) target[start + k * 512] = x[k];
    }
}
