// Inclusive prefix sums after Hedman (2016), "Fast prefix sum on the GPU, for molecular dynamics".
//
// A block sums one segment in shared memory and leaves the segment's total in blockSum; the host sums those totals in the
// same way, and debye_scan_add puts them back. 8 bytes of memory per element, 12 with the addition. Additions of
// integers, so the order does not matter.
//
// Defines: THREADS of a block, 512 in the paper; PADDED, whether an element is left free after every 32 in shared memory.
#include "prelude.cuh"

constexpr u32 BANKS = 32; // the paper's nrMB

// Where an element of a segment lies in shared memory.
__device__ __forceinline__ u32 slot(u32 element) { return PADDED ? element + element / BANKS : element; }

// Balanced trees: sums of pairs, of pairs of pairs, … up to the root, and down again. Segments of two elements for each
// thread. Printed in the paper with idxDouble = 2 dix; it must be 2 idx (docs/studies/prefix-sum.md).
KERNEL(debye_scan_tree, THREADS, const u32* input, u32* output, u32* blockSum, u32 arraySize)
{
    SHARED(u32, buffer, 2 * THREADS + 2 * BANKS);
    const u32 idx = threadIdx.x, dix = blockDim.x;
    const u32 idgL = 2 * blockIdx.x * dix + idx, idgH = idgL + dix;
    // What lies beyond the end adds nothing. The paper leaves it unset, which no sum that is written depends on.
    buffer[slot(idx)] = idgL < arraySize ? input[idgL] : 0u;
    buffer[slot(idx + dix)] = idgH < arraySize ? input[idgH] : 0u;
    __syncthreads();
    for (u32 offset = 1; offset < 2 * dix; offset *= 2) {
        const u32 idxH = offset * (2 * idx + 2) - 1;
        if (idxH < 2 * dix) buffer[slot(idxH)] += buffer[slot(idxH - offset)];
        __syncthreads();
    }
    for (u32 offset = dix / 2; offset >= 1; offset /= 2) {
        const u32 idxH = offset * (2 * idx + 3) - 1;
        if (idxH < 2 * dix) buffer[slot(idxH)] += buffer[slot(idxH - offset)];
        __syncthreads();
    }
    if (idgL < arraySize) output[idgL] = buffer[slot(idx)];
    if (idgH < arraySize) output[idgH] = buffer[slot(idx + dix)];
    if (idx == dix - 1) blockSum[blockIdx.x] = buffer[slot(2 * dix - 1)];
}

// Double-buffered: every element adds the one 1, 2, 4, … before it, from one buffer to the other. Segments of one element
// for each thread. All threads come to every barrier; in the paper those beyond the end do not.
KERNEL(debye_scan_double, THREADS, const u32* input, u32* output, u32* blockSum, u32 arraySize)
{
    SHARED(u32, buffer, 2 * THREADS);
    const u32 idx = threadIdx.x, dix = blockDim.x, idg = blockIdx.x * dix + idx;
    u32 in = THREADS, out = 0;
    buffer[out + idx] = idg < arraySize ? input[idg] : 0u;
    __syncthreads();
    for (u32 offset = 1; offset < dix; offset *= 2) {
        out = THREADS - out;
        in = THREADS - out;
        if (idx >= offset)
            buffer[out + idx] = buffer[in + idx] + buffer[in + idx - offset];
        else
            buffer[out + idx] = buffer[in + idx];
        __syncthreads();
    }
    if (idg < arraySize) output[idg] = buffer[out + idx];
    if (idx == dix - 1) blockSum[blockIdx.x] = buffer[out + idx];
}

// Adds to every segment but the first the sum of all segments before it. A block for each segment after the first.
KERNEL(debye_scan_add, THREADS, u32* output, const u32* sums, u32 segment, u32 arraySize)
{
    const u32 before = sums[blockIdx.x];
    for (u32 k = threadIdx.x; k < segment; k += THREADS) {
        const u32 at = (blockIdx.x + 1) * segment + k;
        if (at < arraySize) output[at] += before;
    }
}

// The paper's first attempt: every thread sums all elements up to its own.
KERNEL(debye_scan_quadratic, THREADS, const u32* input, u32* output, u32 arraySize)
{
    const u32 idg = blockIdx.x * THREADS + threadIdx.x;
    if (idg >= arraySize) return;
    u32 sum = 0;
    for (u32 k = 0; k <= idg; ++k) sum += input[k];
    output[idg] = sum;
}
