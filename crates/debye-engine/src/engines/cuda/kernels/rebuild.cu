// A new list: sort the bodies into columns and blocks, box them, and find for every block which bodies are near
// (the stage, read together into shared memory in every step) and for every body which of those are its
// neighbors (16-bit places in the stage, four to a row). What is said here of particles holds for the anchors of bodies.
//
// Room is told by `Setup`, so that these kernels need not be compiled again where it grows.
//
// Defines: WRAP, see engine.cuh; MANY, whether a warp may have more than 32 groups of candidates; EXCLUSIONS, whether pairs are left out, and BONDED, whether there are bonded terms (0 or
// 1); TILES, see visit.cuh; PARTED, whether lists have parts: SHORT (1: there are terms
// of orientations that end before the others), SOME_APOLAR (1: there are particles that no long one acts on).
#include "engine.cuh"
#include "lists.cuh"

// Notes that something did not fit.
__device__ __forceinline__ void too_much(Control* c, u32 Needed::*what, u32 needed)
{
    atomicMax(&(c->needed.*what), needed);
    atomicMax(&c->overflow, 1u);
}

// Where a particle belongs: column, and layer along z. Particles that are nowhere (NaN) go beyond the last bucket.
KERNEL(debye_keys, 256, World w, Setup f)
{
    const Control* c = w.control;
    load_frame(w, f);
    const u32 body = blockIdx.x * 256 + threadIdx.x;
    if (body >= f.slots / LANES) return;
    const bool used = body < c->blocks * BODIES;
    const uint4 p = half_of(w.pos, c->parity, f.slots)[used ? body * LANES : 0];
    const u32 column = __umulhi(p.y, f.ny) * f.nx + __umulhi(p.x, f.nx);
    const bool there = used && p.w != EMPTY_SLOT;
    w.keys[body] = there ? column * f.nz + __umulhi(p.z, f.nz) : f.nx * f.ny * f.nz;
    if (f.open != 0 && there && c->stale) {
        // Where the cell is open, nobody may come so near a face of the frame that it meets who is near the other.
        const u32 at[3] = {p.x, p.y, p.z};
        for (u32 axis = 0; axis < 3; ++axis) {
            const u32 margin = u32(1.5f * f.radius / f.frame.height[axis] * 4294967040.0f);
            if ((f.open >> axis & 1) && (at[axis] < margin || at[axis] > ~margin)) {
                too_much(w.control, &Needed::frame, 1);
            }
        }
    }
}

// How many blocks every column needs, and where they begin. One block.
KERNEL(debye_columns, 1024, World w, Setup f)
{
    SHARED(u32, sums, WARP);
    Control* c = w.control;
    load_frame(w, f);
    const u32 lane = lane_of(threadIdx.x), warp = warp_of(threadIdx.x), columns = f.nx * f.ny;
#if MOVING
    // A cell that shrank: neighbors may be farther columns away, or more than one image near.
    const bool narrow_x = 2 * f.reach_x + 1 < f.nx && f32(f.reach_x) * f.frame.height[0] < f.radius * f32(f.nx);
    const bool narrow_y = 2 * f.reach_y + 1 < f.ny && f32(f.reach_y) * f.frame.height[1] < f.radius * f32(f.ny);
    const f32 shortest = fminf(f.frame.height[0], fminf(f.frame.height[1], f.frame.height[2]));
    if (threadIdx.x == 0 && c->stale && (narrow_x || narrow_y || 2.0f * f.radius > shortest)) {
        too_much(c, &Needed::frame, 1);
    }
    __syncthreads();
#endif
    const bool wanted = c->stale && !c->overflow && !c->failed;
    __syncthreads();
    if (threadIdx.x == 0) c->building = wanted;
    if (!wanted) return;
    u32 carried = 0;
    for (u32 base = 0; base < columns; base += 1024) {
        const u32 column = base + threadIdx.x;
        u32 own = 0;
        if (column < columns) own = (w.starts[(column + 1) * f.nz] - w.starts[column * f.nz] + BODIES - 1) / BODIES;
        const u32 inclusive = warp_inclusive(own, lane);
        if (lane == WARP - 1) sums[warp] = inclusive;
        __syncthreads();
        const u32 of_warps = sums[lane];
        const u32 before = warp_sum(lane < warp ? of_warps : 0);
        if (column < columns) w.column_blocks[column] = carried + before + inclusive - own;
        carried += warp_sum(of_warps);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        w.column_blocks[columns] = carried;
        c->pairs[0] = 0;
        c->pairs[1] = 0;
        if (carried > f.blocks) {
            c->needed.blocks = carried;
            c->overflow = 1;
            c->building = 0;
        }
    }
}

// Moves every particle to its new slot, into the other half of everything.
KERNEL(debye_place, BLOCK, World w, Setup f)
{
    const Control* c = w.control;
    const u32 b = blockIdx.x, columns = f.nx * f.ny;
    if (!c->building || b >= w.column_blocks[columns]) return;
    // The column of this block. Columns without a block begin where the next one does; the last of those has it.
    u32 first = 0, last = columns;
    while (last - first > 1) {
        const u32 middle = (first + last) / 2;
        if (w.column_blocks[middle] <= b) first = middle;
        else last = middle;
    }
    const u32 begin = w.starts[first * f.nz], count = w.starts[(first + 1) * f.nz] - begin;
    const u32 k = (b - w.column_blocks[first]) * BODIES + threadIdx.x / LANES, to = b * BLOCK + threadIdx.x;
    const u32 from = w.order[k < count ? begin + k : begin] * LANES + threadIdx.x % LANES;
    uint4 at = half_of(w.pos, c->parity, f.slots)[from];
    if (k >= count) at.w = EMPTY_SLOT;
    const bool there = at.w != EMPTY_SLOT;
    half_of(w.pos, c->parity ^ 1, f.slots)[to] = at;
    w.reference[to] = at;
    if (threadIdx.x == 0) w.block_column[b] = first;
    const u32 now = c->side, next = now ^ 1;
    half_of(w.ids, next, f.slots)[to] = there ? half_of(w.ids, now, f.slots)[from] : EMPTY_SLOT;
#if NUMBERED
    if (there) half_of(w.slot_of, next, f.slots)[half_of(w.ids, now, f.slots)[from]] = to;
#endif
    for (u32 axis = 0; axis < 3; ++axis) {
        const u32 source = axis * f.slots + from, target = axis * f.slots + to;
#if PRECISION != 0
        half_of(w.low, low_half(c->parity ^ 1, next), 3 * f.slots)[target] =
            half_of(w.low, low_half(c->parity, now), 3 * f.slots)[source];
#endif
        half_of(w.velocities, next, 3 * f.slots)[target] = half_of(w.velocities, now, 3 * f.slots)[source];
        half_of(w.images, next, 3 * f.slots)[target] = half_of(w.images, now, 3 * f.slots)[source];
#if TURNING
        half_of(w.momenta, next, 3 * f.slots)[target] = half_of(w.momenta, now, 3 * f.slots)[source];
#endif
    }
#if TURNING
    for (u32 k = 0; k < 4; ++k) {
        half_of(w.turns, next, 4 * f.slots)[u64(k) * f.slots + to] = half_of(w.turns, now, 4 * f.slots)[u64(k) * f.slots + from];
    }
    half_of(w.facings, c->parity ^ 1, f.slots)[to] = half_of(w.facings, c->parity, f.slots)[from];
#endif
}

// The boxes of blocks and of 32 bodies of them. Positions are those a list is made from.
KERNEL(debye_boxes, BODIES, World w, Setup f)
{
    SHARED(i32, lowest, 3 * BODY_WARPS);
    SHARED(i32, highest, 3 * BODY_WARPS);
    const Control* c = w.control;
    const u32 b = blockIdx.x, lane = lane_of(threadIdx.x), warp = warp_of(threadIdx.x);
    if (!c->building || b >= w.column_blocks[f.nx * f.ny]) return;
    load_frame(w, f);
    const uint4 first = w.reference[b * BLOCK], p = w.reference[b * BLOCK + threadIdx.x * LANES];
    const bool there = p.w != EMPTY_SLOT;
    const i32 d[3] = {i32(p.x - first.x), i32(p.y - first.y), i32(p.z - first.z)};
    auto write = [&](Box& box, const i32 (&low)[3], const i32 (&high)[3]) {
        const u32 from[3] = {first.x, first.y, first.z};
        f32 half[3];
#pragma unroll
        for (u32 axis = 0; axis < 3; ++axis) {
            const u32 width = high[axis] < low[axis] ? 0 : u32(high[axis]) - u32(low[axis]);
            box.middle[axis] = from[axis] + (high[axis] < low[axis] ? 0 : u32(low[axis]) + width / 2);
            // A margin of two units: conversions round.
            half[axis] = high[axis] < low[axis] ? -1e18f : 0.5f * f32(width) + 2.0f;
        }
        const f32* unit = f.frame.unit;
        box.half[0] = half[0] * unit[0];
        box.half[1] = half[1] * unit[1];
        box.half[2] = half[2] * unit[2];
#if TRICLINIC
        if (high[0] >= low[0]) {
            box.half[0] += half[1] * fabsf(unit[3]) + half[2] * fabsf(unit[4]);
            box.half[1] += half[2] * fabsf(unit[5]);
        }
        for (u32 axis = 0; axis < 3; ++axis) {
            box.slab[axis] = half[axis] * (f.frame.height[axis] * (1.0f / 4294967296.0f));
        }
#endif
    };
    i32 low[3], high[3];
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
        low[axis] = warp_lowest(there ? d[axis] : 0x7fffffff);
        high[axis] = warp_highest(there ? d[axis] : -0x7fffffff - 1);
        if (lane == 0) {
            lowest[axis * BODY_WARPS + warp] = low[axis];
            highest[axis * BODY_WARPS + warp] = high[axis];
        }
    }
    if (lane == 0) write(w.warp_boxes[b * BODY_WARPS + warp], low, high);
    __syncthreads();
    if (threadIdx.x != 0) return;
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
        for (u32 k = 1; k < BODY_WARPS; ++k) {
            const i32 l = lowest[axis * BODY_WARPS + k], h = highest[axis * BODY_WARPS + k];
            low[axis] = l < low[axis] ? l : low[axis];
            high[axis] = h > high[axis] ? h : high[axis];
        }
#if !WRAP
        // Particles move a little before the next list; limit2 is the square of how far.
        const f32 width = f32(u32(high[axis]) - u32(low[axis])) * (1.0f / 4294967296.0f);
        const f32 needed = width + (2.1f * f.radius + 2.0f * f.arm) / f.frame.height[axis];
        if (needed > 1.0f) too_much(w.control, &Needed::wrap, 1);
#endif
    }
    write(w.boxes[b], low, high);
    w.boxes[b].column = w.block_column[b];
}

// The stage of every block: all places near its box, in the order of their slots' blocks. If there is no room for them,
// the count is zero. Latencies rule here, so that many blocks share a multiprocessor.
KERNEL_RESIDENT(debye_stages, BLOCK, 4, World w, Setup f)
{
    SHARED(u32, column_mask, WARP);
    SHARED(u32, column_first, WARP);
    SHARED(u32, column_before, WARP + 1);
    SHARED(u32, sums, BLOCK_WARPS);
    SHARED(u32, total, 1);
    DYNAMIC_SHARED(u32, near_blocks);
    const u32 most_near = f.most_near, most_groups = most_near * BODY_WARPS;
    u32 *near_words = near_blocks + most_near, *group_masks = near_words + most_groups / WARP;
    u16 *near_groups = reinterpret_cast<u16*>(group_masks + most_groups), *group_before = near_groups + most_groups;
    const u32 nx = f.nx, ny = f.ny, reach_x = f.reach_x, reach_y = f.reach_y;
    const f32 radius2 = f.radius2;
    const Control* c = w.control;
    const u32 b = blockIdx.x, lane = lane_of(threadIdx.x), warp = warp_of(threadIdx.x);
    if (!c->building || b >= w.column_blocks[nx * ny]) return;
    load_frame(w, f);
    const Box* all_boxes = w.boxes;
    const Box own_box = all_boxes[b];
    bool fits = b - w.column_blocks[own_box.column] < WARP; // so that it finds itself

    // Near blocks: a warp takes a column, a lane a block of it. At most 32 columns of at most 32 blocks.
    const u32 wide = smaller(2 * reach_x + 1, nx), columns = wide * smaller(2 * reach_y + 1, ny);
    const u32 x0 = own_box.column % nx + nx - smaller(reach_x, nx), y0 = own_box.column / nx + ny - smaller(reach_y, ny);
    if (warp == 0) column_mask[lane] = 0;
    __syncthreads();
    for (u32 q = warp; q < columns; q += BLOCK_WARPS) {
        const u32 column = (y0 + q / wide) % ny * nx + (x0 + q % wide) % nx;
        const u32 begin = w.column_blocks[column], end = w.column_blocks[column + 1], k = begin + lane;
        const u32 mask = __ballot_sync(ALL_LANES, k < end && boxes_close(own_box, all_boxes[k < end ? k : b], f, radius2));
        if (lane == 0) {
            column_mask[q] = mask;
            column_first[q] = begin;
            if (end - begin > WARP) too_much(w.control, &Needed::column_blocks, end - begin);
        }
    }
    __syncthreads();
    if (warp == 0) {
        const u32 count = u32(__popc(column_mask[lane])), inclusive = warp_inclusive(count, lane);
        column_before[lane] = inclusive - count;
        if (lane == WARP - 1) column_before[WARP] = inclusive;
    }
    __syncthreads();
    u32 near = column_before[WARP];
    if (near > most_near) {
        if (threadIdx.x == 0) too_much(w.control, &Needed::near_blocks, near);
        fits = false;
        near = most_near;
    }
    for (u32 q = warp; q < columns; q += BLOCK_WARPS) {
        const u32 mask = column_mask[q], at = column_before[q] + u32(__popc(mask & lanes_below(lane)));
        if ((mask >> lane & 1) && at < most_near) near_blocks[at] = column_first[q] + lane;
    }
    __syncthreads();

    // Near groups of 32 places, by the boxes of the warps: a word for 32 of them.
    const u32 words = (near * BODY_WARPS + WARP - 1) / WARP;
    for (u32 q = warp; q < words; q += BLOCK_WARPS) {
        const u32 g = q * WARP + lane;
        bool hit = false;
        if (g < near * BODY_WARPS) {
            const u32 of = near_blocks[g / BODY_WARPS] * BODY_WARPS + g % BODY_WARPS;
            hit = boxes_close(own_box, w.warp_boxes[of], f, radius2);
        }
        const u32 mask = __ballot_sync(ALL_LANES, hit);
        if (lane == 0) near_words[q] = mask;
    }
    __syncthreads();
    auto bits_before = [&](u32 q) {
        u32 count = 0;
        for (u32 k = lane; k < q; k += WARP) count += u32(__popc(near_words[k]));
        return warp_sum(count);
    };
    for (u32 q = warp; q < words; q += BLOCK_WARPS) {
        const u32 mask = near_words[q], before = bits_before(q);
        if (mask >> lane & 1) near_groups[before + u32(__popc(mask & lanes_below(lane)))] = u16(q * WARP + lane);
    }
    const u32 groups = bits_before(words);
    __syncthreads();
    auto body_of = [&](u32 k) {
        const u32 g = near_groups[k];
        return near_blocks[g / BODY_WARPS] * BODIES + g % BODY_WARPS * WARP + lane;
    };
    // Which places of each group are near the block; four groups at a time, so that loads overlap.
    constexpr u32 AT_ONCE = 4;
    for (u32 k = warp; k < groups; k += BLOCK_WARPS * AT_ONCE) {
        uint4 p[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * BLOCK_WARPS < groups) p[j] = w.reference[body_of(k + j * BLOCK_WARPS) * LANES];
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * BLOCK_WARPS >= groups) continue;
            const bool hit =
                p[j].w != EMPTY_SLOT && near_box(seen_from(own_box.middle, p[j], f), own_box.half, radius2);
            const u32 mask = __ballot_sync(ALL_LANES, hit);
            if (lane == 0) group_masks[k + j * BLOCK_WARPS] = mask;
        }
    }
    __syncthreads();
    // Where each group begins in the stage.
    const u32 each = (groups + BLOCK - 1) / BLOCK, first = threadIdx.x * each, behind = smaller(first + each, groups);
    u32 own_sum = 0;
    for (u32 g = first; g < behind; ++g) own_sum += u32(__popc(group_masks[g]));
    const u32 inclusive = warp_inclusive(own_sum, lane);
    if (lane == WARP - 1) sums[warp] = inclusive;
    __syncthreads();
    u32 before = inclusive - own_sum;
    for (u32 k = 0; k < warp; ++k) before += sums[k];
    for (u32 g = first; g < behind; ++g) {
        group_before[g] = u16(before);
        before += u32(__popc(group_masks[g]));
    }
    if (threadIdx.x == BLOCK - 1) total[0] = before;
    __syncthreads();
    const u32 staged = total[0];
    fits = fits && staged < f.stage; // one place is kept for padding
    if (threadIdx.x == 0) {
        if (staged >= f.stage) too_much(w.control, &Needed::places, staged + 1);
        w.stage_counts[b] = fits ? staged : 0;
    }
    if (!fits) return;
    u32* stage = w.stages + u64(b) * f.stage;
    for (u32 k = warp; k < groups; k += BLOCK_WARPS) {
        const u32 mask = group_masks[k];
        if (mask >> lane & 1) stage[group_before[k] + u32(__popc(mask & lanes_below(lane)))] = body_of(k);
    }
}

// The lists of a block's particles. A warp picks from the stage the places near its own box, its candidates. Where lists
// are those of warps, that is all. Else its lanes take 32 candidates at a time and test all the warp's particles, and
// the lists are written in the order of the stage.
KERNEL_RESIDENT(debye_lists, BODIES, (LANES > 4 ? 16 : 3 * LANES), World w, Setup f)
{
    SHARED(u16, own_places, BODIES);
    DYNAMIC_SHARED(float4, places);
    u16* all_candidates = reinterpret_cast<u16*>(places + f.stage);
#if !TILES
    float4* particles = reinterpret_cast<float4*>(all_candidates + f.most_groups * BODIES);
    u32* words = reinterpret_cast<u32*>(particles + BODIES);
#endif
    const Control* c = w.control;
    const u32 b = blockIdx.x, lane = lane_of(threadIdx.x), warp = warp_of(threadIdx.x), body = b * BODIES + threadIdx.x;
    if (!c->building || b >= w.column_blocks[f.nx * f.ny]) return;
    load_frame(w, f);
    const u32 staged = w.stage_counts[b];
    if (staged == 0) return; // there was no room
    const Box own_box = w.boxes[b];
    const u32* stage = w.stages + u64(b) * f.stage;
    const u32* ids = half_of(w.ids, c->side ^ 1, f.slots); // particles are in their new slots
    constexpr u32 AT_ONCE = 4;
    for (u32 k = threadIdx.x; k < staged; k += BODIES * AT_ONCE) {
        u32 from[AT_ONCE], number[AT_ONCE] = {};
        uint4 p[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * BODIES < staged) from[j] = stage[k + j * BODIES];
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * BODIES >= staged) continue;
            p[j] = w.reference[from[j] * LANES];
            if (EXCLUSIONS) number[j] = ids[from[j] * LANES];
#if SOME_APOLAR
            number[j] |= w.kinds[p[j].w].polar << 31;
#endif
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * BODIES >= staged) continue;
            const Place d = seen_from(own_box.middle, p[j], f);
            places[k + j * BODIES] = make_float4(d.x, d.y, d.z, __uint_as_float(number[j]));
            if (from[j] / BODIES == b) own_places[from[j] % BODIES] = u16(k + j * BODIES);
        }
    }
    if (threadIdx.x == 0) places[staged] = make_float4(OUT_OF_REACH, OUT_OF_REACH, OUT_OF_REACH, 0.0f);
    const uint4 own = w.reference[body * LANES];
    const bool there = own.w != EMPTY_SLOT;
#if !TILES
    particles[threadIdx.x] = searching(seen_from(own_box.middle, own, f), there, own_box, f);
#endif
    __syncthreads();

    const Box warp_box = w.warp_boxes[b * BODY_WARPS + warp];
    if (warp_box.half[0] < 0.0f) {
        w.rows_of[body] = 0;
#if PARTED
        w.parts_of[2 * body] = w.parts_of[2 * body + 1] = 0;
#endif
        if (TILES && lane == 0) tile_of(w, b, warp, f)[0] = make_uint4(0, 0, 0, 0);
        return;
    }
    u16* candidates = all_candidates + warp * f.most_groups * WARP;
    const Place middle = between(own_box, warp_box, f);
    const u32 own_place = there ? own_places[threadIdx.x] : NO_PLACE;
    const Picked picked = pick(candidates, places, staged, own_place, warp_box, middle, lane, f);
    u32 groups = (picked.count + WARP - 1) / WARP;
    if (groups > f.most_groups) {
        if (lane == 0) too_much(w.control, &Needed::groups, groups);
        groups = 0;
    }
    if (picked.count + lane < groups * WARP) candidates[picked.count + lane] = u16(staged);
    __syncwarp();
    u64* pairs = reinterpret_cast<u64*>(w.control->pairs);
#if TILES
    uint4* tile = tile_of(w, b, warp, f);
    const uint4* from = reinterpret_cast<const uint4*>(candidates);
    const u32 eights = groups > 0 ? (picked.count + 7) / 8 : 0, molecule = u32(__popc(__ballot_sync(ALL_LANES, there)));
    for (u32 k = lane; k < eights; k += WARP) tile[k + 1] = from[k];
    if (lane == 0) tile[0] = make_uint4(eights, 0, 0, 0);
    if (lane == 0) atomicAdd(pairs, u64(picked.count) * molecule);
    w.rows_of[body] = u16(own_place);
#else
    u32* present = words + f.most_groups * BODIES + warp * ((f.most_groups + WARP - 1) / WARP) * WARP + lane;
    Neighbors neighbors = {words + warp * f.most_groups * WARP + lane, present, candidates, picked.own, 0, 0, 0, 0, 0};
    test_all(neighbors, groups, places, particles + warp * WARP, lane, f);
    // Every part of a list may end with a row that is not full.
    const u32 needed = (neighbors.total + 3) / 4 + (PARTED ? 2 : 0);
    if (needed > f.rows) {
        too_much(w.control, &Needed::rows, needed);
        neighbors.total = 0;
    }
    neighbors.rewind(groups);
    ushort4* list = reinterpret_cast<ushort4*>(w.lists) + u64(b) * f.rows * BODIES + threadIdx.x;
    u32 kept = neighbors.total;
#if EXCLUSIONS || PARTED
    LeftOut left_out = {};
#endif
#if EXCLUSIONS
    if (there) {
        const u32 id = ids[body * LANES];
        left_out = {w.excluded_near[id], id, w.excluded_starts[id], w.excluded_starts[id + 1]};
    }
#endif
#if PARTED
    const bool polar = there && w.kinds[own.w].polar != 0;
    const Place me = seen_from(own_box.middle, own, f);
    const Parts parts = write_parts(list, neighbors, groups, staged, left_out, w.excluded_far, places, me, polar, f);
    kept = parts.kept;
    const u32 rows = parts.back;
    w.parts_of[2 * body] = u16(parts.first);
    w.parts_of[2 * body + 1] = u16(parts.front);
#elif EXCLUSIONS
    kept = write_list(list, neighbors, staged, left_out, w.excluded_far, places);
#else
    write_list(list, neighbors, staged);
#endif
#if !PARTED
    const u32 rows = (kept + 3) / 4;
#endif
    __syncwarp();
    const u32 of_warp = warp_sum(kept);
    if (lane == 0) atomicAdd(pairs, u64(of_warp));
    w.rows_of[body] = u16(rows);
#endif
}

// The list is good, or it did not fit and everything is as before. One thread.
KERNEL(debye_commit, 32, World w, Setup f)
{
    Control* c = w.control;
    if (threadIdx.x != 0 || !c->building) return;
    c->building = 0;
    if (c->overflow) return;
    c->parity ^= 1;
    c->side ^= 1;
    c->blocks = w.column_blocks[f.nx * f.ny];
    c->stale = 0;
    c->builds += 1;
    write_rests(c, c->split, c->step >= c->target);
#if MOVING
    const f32 half = 0.5f * (f.radius - f32(f.cutoff));
    w.frame->limit2 = half * half * 0.9999f;
    for (u32 k = 0; k < 3; ++k) w.frame->scale[k] = 1.0;
#endif
}
