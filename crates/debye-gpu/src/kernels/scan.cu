// Exclusive prefix sum of u32 in one pass over memory ("rounds").
//
// A grid that is resident as a whole; block j takes tiles j, j + G, j + 2G, … The sum of a block's NEXT tile is
// published one round early, so when a tile is written, the sums of all tiles before it are already there: its
// prefix is the block's own running total and the G - 1 sums published since. No chain of waiting, one barrier
// per tile. A published word holds {launch number, sum}, so nothing is cleared between launches.
//
// Defines: THREADS, ITEMS (a multiple of 4), STAGES (tiles of shared memory; 0: a block has one tile, which
// stays in registers). Stages are filled by bulk copies on sm_90 and later, by plain loads elsewhere.
#include "prelude.cuh"

constexpr u32 TILE = THREADS * ITEMS;
constexpr u32 WARPS = THREADS / WARP;
constexpr u32 VECTORS = ITEMS / 4;
// Elements of a warp: VECTORS chunks of 32 lanes with 4 consecutive elements each.
constexpr u32 WARP_ITEMS = WARP * ITEMS;

static_assert(ITEMS % 4 == 0 && THREADS % WARP == 0 && WARPS <= WARP, "shape of a tile");
static_assert(STAGES == 0 || STAGES >= 2, "the next tile is summed while the last is written");

#if STAGES > 0 && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define BULK_COPIES 1
#else
#define BULK_COPIES 0
#endif

// What survives between launches, in front of the published words; all of it begins as zero.
struct Header {
    u32 launch; // launches so far
    u32 finished;
};

__device__ __forceinline__ u64 word(u32 launch, u32 sum) { return u64(launch) << 32 | sum; }

__device__ __forceinline__ u32 published(const u64* words, u32 tile, u32 launch)
{
    for (;;) {
        const u64 found = load_relaxed(words + tile);
        if (u32(found >> 32) == launch) return u32(found);
        SPIN();
    }
}

__device__ __forceinline__ uint4 load4(const u32* in, u64 at, u64 n, bool aligned)
{
    if (aligned && at + 4 <= n) return *reinterpret_cast<const uint4*>(in + at);
    uint4 x = make_uint4(0, 0, 0, 0);
    if (at < n) x.x = in[at];
    if (at + 1 < n) x.y = in[at + 1];
    if (at + 2 < n) x.z = in[at + 2];
    if (at + 3 < n) x.w = in[at + 3];
    return x;
}

__device__ __forceinline__ void store4(u32* out, u64 at, u64 n, bool aligned, uint4 x)
{
    if (aligned && at + 4 <= n) {
        *reinterpret_cast<uint4*>(out + at) = x;
        return;
    }
    if (at < n) out[at] = x.x;
    if (at + 1 < n) out[at + 1] = x.y;
    if (at + 2 < n) out[at + 2] = x.z;
    if (at + 3 < n) out[at + 3] = x.w;
}

__device__ __forceinline__ u32 sum4(uint4 x) { return x.x + x.y + x.z + x.w; }

// Where a lane's vector k lies in the tile.
__device__ __forceinline__ u32 place(u32 warp, u32 lane, u32 k) { return warp * WARP_ITEMS + (k * WARP + lane) * 4; }

// Turns each vector of a warp into what is before it in the warp; gives the warp's sum.
__device__ __forceinline__ u32 scan_warp(const uint4 (&x)[VECTORS], u32 (&before)[VECTORS], u32 lane)
{
    u32 total = 0;
#pragma unroll
    for (u32 k = 0; k < VECTORS; ++k) {
        const u32 own = sum4(x[k]);
        const u32 inclusive = warp_inclusive(own, lane);
        before[k] = total + inclusive - own;
        total += __shfl_sync(ALL_LANES, inclusive, WARP - 1);
    }
    return total;
}

// Writes the exclusive sums of a tile.
__device__ __forceinline__ void write(u32* out, u64 at, u64 n, bool aligned, const uint4 (&x)[VECTORS],
                                      const u32 (&before)[VECTORS], u32 base, u32 warp, u32 lane)
{
#pragma unroll
    for (u32 k = 0; k < VECTORS; ++k) {
        uint4 y;
        y.x = base + before[k];
        y.y = y.x + x[k].x;
        y.z = y.y + x[k].y;
        y.w = y.z + x[k].z;
        store4(out, at + place(warp, lane, k), n, aligned, y);
    }
}

// The sum of what the tiles [from, to) published; a share of it in every warp.
__device__ __forceinline__ u32 gather(const u64* words, u32 from, u32 to, u32 launch)
{
    u32 sum = 0;
    for (u32 tile = from + threadIdx.x; tile < to; tile += THREADS) sum += published(words, tile, launch);
    return warp_sum(sum);
}

// The last block to finish makes the next launch a new one.
__device__ __forceinline__ void finish(Header* header, u32 launch)
{
    if (threadIdx.x != 0) return;
    __threadfence();
    if (atomicAdd(&header->finished, 1u) + 1 == gridDim.x) {
        header->finished = 0;
        header->launch = launch;
    }
}

#if STAGES == 0

// Every block one tile; small inputs.
KERNEL(debye_scan, THREADS, const u32* in, u32* out, u32* total, u64* state, u64 n)
{
    SHARED(u32, warp_sums, WARPS);
    SHARED(u32, gathered, WARPS);
    Header* header = reinterpret_cast<Header*>(state);
    u64* words = state + 1;
    const u32 warp = warp_of(threadIdx.x), lane = lane_of(threadIdx.x), tile = blockIdx.x;
    const u64 at = u64(tile) * TILE;
    const u32 launch = header->launch + 1;
    const bool in_aligned = (reinterpret_cast<u64>(in) & 15) == 0, out_aligned = (reinterpret_cast<u64>(out) & 15) == 0;

    uint4 x[VECTORS];
    u32 before[VECTORS];
#pragma unroll
    for (u32 k = 0; k < VECTORS; ++k) x[k] = load4(in, at + place(warp, lane, k), n, in_aligned);
    const u32 mine = scan_warp(x, before, lane);
    if (lane == 0) warp_sums[warp] = mine;
    __syncthreads();
    const u32 sums = lane < WARPS ? warp_sums[lane] : 0;
    const u32 tile_sum = warp_sum(sums);
    const u32 warp_before = warp_sum(lane < warp ? sums : 0);
    if (threadIdx.x == 0) store_relaxed(words + tile, word(launch, tile_sum));
    const u32 part = gather(words, 0, tile, launch);
    if (lane == 0) gathered[warp] = part;
    __syncthreads();
    const u32 base = warp_sum(lane < WARPS ? gathered[lane] : 0);
    write(out, at, n, out_aligned, x, before, base + warp_before, warp, lane);
    if (total != nullptr && tile == gridDim.x - 1 && threadIdx.x == 0) *total = base + tile_sum;
    finish(header, launch);
}

#else

#if BULK_COPIES
__device__ __forceinline__ u32 shared_address(const void* p) { return u32(__cvta_generic_to_shared(p)); }

__device__ __forceinline__ void barrier_start(u64* barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
}

// One thread asks for a whole tile; the barrier's phase ends when all its bytes are there.
__device__ __forceinline__ void bulk_copy(u32* to, const u32* from, u32 bytes, u64* barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}

__device__ __forceinline__ void bulk_wait(u64* barrier, u32 phase)
{
    u32 done = 0;
    while (!done) {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(phase)
                     : "memory");
    }
}
#endif

KERNEL(debye_scan, THREADS, const u32* in, u32* out, u32* total, u64* state, u64 n)
{
    // Slots by round: sums of warps are written a round early and read in two, so three of them.
    SHARED(u32, warp_sums, 3 * WARPS);
    SHARED(u32, gathered, 2 * WARPS);
    DYNAMIC_SHARED(u32, stages);
    Header* header = reinterpret_cast<Header*>(state);
    u64* words = state + 1;
    const u32 warp = warp_of(threadIdx.x), lane = lane_of(threadIdx.x), grid = gridDim.x;
    const u32 tiles = u32((n + TILE - 1) / TILE);
    const u32 rounds = (tiles - blockIdx.x + grid - 1) / grid;
    const u32 launch = header->launch + 1;
    const bool in_aligned = (reinterpret_cast<u64>(in) & 15) == 0, out_aligned = (reinterpret_cast<u64>(out) & 15) == 0;

#if BULK_COPIES
    SHARED(u64, full, STAGES);
    if (threadIdx.x == 0) {
        for (u32 s = 0; s < STAGES; ++s) barrier_start(full + s);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
#endif

    auto tile_of = [&](u32 round) { return blockIdx.x + round * grid; };
    auto start_of = [&](u32 round) { return u64(tile_of(round)) * TILE; };
#if BULK_COPIES
    auto whole = [&](u32 round) { return start_of(round) + TILE <= n; };
#endif
    // Asks for the tile of a round; a ragged or unaligned tile is loaded when it is first read.
    auto ask = [&](u32 round) {
#if BULK_COPIES
        if (threadIdx.x == 0 && round < rounds && in_aligned && whole(round)) {
            bulk_copy(stages + round % STAGES * TILE, in + start_of(round), TILE * 4, full + round % STAGES);
        }
#else
        (void)round;
#endif
    };
    // This thread's vector of a tile. Each thread reads only what it stored itself, or what a bulk copy brought.
    auto arrive = [&](u32 round) {
        u32* stage = stages + round % STAGES * TILE;
#if BULK_COPIES
        if (in_aligned && whole(round)) {
            bulk_wait(full + round % STAGES, round / STAGES & 1);
            return;
        }
#endif
#pragma unroll
        for (u32 k = 0; k < VECTORS; ++k) {
            const u32 at = place(warp, lane, k);
            *reinterpret_cast<uint4*>(stage + at) = load4(in, start_of(round) + at, n, in_aligned);
        }
    };
    auto read = [&](u32 round, u32 k) {
        return *reinterpret_cast<const uint4*>(stages + round % STAGES * TILE + place(warp, lane, k));
    };
    auto sum_ahead = [&](u32 round) {
        arrive(round);
        u32 sum = 0;
#pragma unroll
        for (u32 k = 0; k < VECTORS; ++k) sum += sum4(read(round, k));
        sum = warp_sum(sum);
        if (lane == 0) warp_sums[round % 3 * WARPS + warp] = sum;
    };
    auto publish = [&](u32 round) {
        if (warp != 0) return;
        const u32 sum = warp_sum(lane < WARPS ? warp_sums[round % 3 * WARPS + lane] : 0);
        if (lane == 0) store_relaxed(words + tile_of(round), word(launch, sum));
    };

    for (u32 round = 0; round < STAGES; ++round) ask(round);
    sum_ahead(0);
    __syncthreads();
    publish(0);

    u32 carried = 0;
    for (u32 round = 0; round < rounds; ++round) {
        const u32 tile = tile_of(round);
        if (round + 1 < rounds) sum_ahead(round + 1);
        uint4 x[VECTORS];
        u32 before[VECTORS];
#pragma unroll
        for (u32 k = 0; k < VECTORS; ++k) x[k] = read(round, k);
        scan_warp(x, before, lane);
        const u32 part = gather(words, round == 0 ? 0 : tile - grid + 1, tile, launch);
        if (lane == 0) gathered[round % 2 * WARPS + warp] = part;
        __syncthreads();
        if (round + 1 < rounds) publish(round + 1);
        ask(round + STAGES);

        const u32 sums = lane < WARPS ? warp_sums[round % 3 * WARPS + lane] : 0;
        const u32 base = carried + warp_sum(lane < WARPS ? gathered[round % 2 * WARPS + lane] : 0);
        const u32 warp_before = warp_sum(lane < warp ? sums : 0);
        write(out, start_of(round), n, out_aligned, x, before, base + warp_before, warp, lane);
        carried = base + warp_sum(sums);
        if (total != nullptr && tile == tiles - 1 && threadIdx.x == 0) *total = carried;
    }
    finish(header, launch);
}

#endif
