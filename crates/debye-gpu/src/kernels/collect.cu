// Pieces of device memory, copied side by side to where the host reads them.
#include "collect_shared.cuh"

template <class T> __device__ __forceinline__ void copy_piece(u64 from, u64 to, u64 bytes)
{
    const T* source = reinterpret_cast<const T*>(from);
    T* target = reinterpret_cast<T*>(to);
    const u64 stride = u64(gridDim.x) * COLLECT_THREADS;
    for (u64 k = u64(blockIdx.x) * COLLECT_THREADS + threadIdx.x; k < bytes / sizeof(T); k += stride) target[k] = source[k];
}

KERNEL(debye_collect, COLLECT_THREADS, PieceList list, u32 number, u64 to)
{
    for (u32 p = 0; p < number; ++p) {
        const Piece piece = list.pieces[p];
        const u32 which = piece.which == 0 ? 0 : *reinterpret_cast<const u32*>(piece.which);
        const u64 from = piece.from + which * piece.length;
        if ((from | piece.length) % sizeof(uint4) == 0) copy_piece<uint4>(from, to + piece.to, piece.length);
        else copy_piece<u32>(from, to + piece.to, piece.length);
    }
}
