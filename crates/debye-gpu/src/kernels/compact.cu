// The second half of a stable compaction: the first is a scan of the marks.
#include "prelude.cuh"

KERNEL(debye_compact, 256, const u32* values, const u32* marks, const u32* places, u32* out, u64 n)
{
    const u64 i = u64(blockIdx.x) * 256 + threadIdx.x;
    if (i < n && marks[i] != 0) out[places[i]] = values[i];
}

// The same for the indices themselves.
KERNEL(debye_compact_indices, 256, const u32* marks, const u32* places, u32* out, u64 n)
{
    const u64 i = u64(blockIdx.x) * 256 + threadIdx.x;
    if (i < n && marks[i] != 0) out[places[i]] = u32(i);
}
