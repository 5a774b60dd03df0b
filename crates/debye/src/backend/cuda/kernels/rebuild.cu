// A new list: sort the particles into columns and blocks, box them, and find for every block which places are near
// (the stage, read together into shared memory in every step) and for every particle which of those are its
// neighbours (16-bit places in the stage, four to a row).
//
// Defines: STAGE, the most places of a stage; GROUPS, the most groups of 32 of them near one warp; ROWS, the most rows of
// a particle; NEAR, the most near blocks; WRAP, see engine.cuh; BONDED (0 or 1).
#include "engine.cuh"

// Where a particle belongs: column, and layer along z. Particles that are nowhere go beyond the last bucket.
KERNEL(debye_keys, 256, World w, Setup f)
{
    const Control* c = w.control;
    const u32 slot = blockIdx.x * 256 + threadIdx.x;
    if (slot >= f.slots) return;
    const bool used = slot < c->blocks * BLOCK;
    const uint4 p = half_of(w.pos, c->parity, f.slots)[used ? slot : 0];
    const u32 column = __umulhi(p.y, f.ny) * f.nx + __umulhi(p.x, f.nx);
    w.keys[slot] = used && p.w != NOBODY ? column * f.nz + __umulhi(p.z, f.nz) : f.nx * f.ny * f.nz;
}

// How many blocks every column needs, and where they begin. One block.
KERNEL(debye_columns, 1024, World w, Setup f)
{
    SHARED(u32, sums, WARP);
    Control* c = w.control;
    const u32 lane = lane_of(threadIdx.x), warp = warp_of(threadIdx.x), columns = f.nx * f.ny;
    const bool wanted = c->stale && !c->overflow && !c->lost;
    __syncthreads();
    if (threadIdx.x == 0) c->building = wanted;
    if (!wanted) return;
    u32 carried = 0;
    for (u32 base = 0; base < columns; base += 1024) {
        const u32 column = base + threadIdx.x;
        u32 own = 0;
        if (column < columns) own = (w.starts[(column + 1) * f.nz] - w.starts[column * f.nz] + BLOCK - 1) / BLOCK;
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
            c->needed[0] = carried;
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
    const u32 k = (b - w.column_blocks[first]) * BLOCK + threadIdx.x, to = b * BLOCK + threadIdx.x;
    const bool there = k < count;
    const u32 from = w.order[there ? begin + k : begin];
    uint4 at = half_of(w.pos, c->parity, f.slots)[from];
    if (!there) at.w = NOBODY;
    half_of(w.pos, c->parity ^ 1, f.slots)[to] = at;
    w.reference[to] = at;
    if (threadIdx.x == 0) w.block_column[b] = first;
    const u32 now = c->side, next = now ^ 1;
    half_of(w.ids, next, f.slots)[to] = there ? half_of(w.ids, now, f.slots)[from] : NOBODY;
#if BONDED
    if (there) half_of(w.slot_of, next, f.slots)[half_of(w.ids, now, f.slots)[from]] = to;
#endif
    for (u32 axis = 0; axis < 3; ++axis) {
        const u32 source = axis * f.slots + from, target = axis * f.slots + to;
        half_of(w.low, next, 3 * f.slots)[target] = half_of(w.low, now, 3 * f.slots)[source];
        half_of(w.velocities, next, 3 * f.slots)[target] = half_of(w.velocities, now, 3 * f.slots)[source];
        half_of(w.images, next, 3 * f.slots)[target] = half_of(w.images, now, 3 * f.slots)[source];
    }
}

// Notes that something did not fit.
__device__ __forceinline__ void too_much(Control* c, u32 what, u32 needed)
{
    atomicMax(&c->needed[what], needed);
    atomicMax(&c->overflow, 1u);
}

// The boxes of blocks and of their warps. Positions are those a list is made from.
KERNEL(debye_boxes, BLOCK, World w, Setup f)
{
    SHARED(i32, lowest, 3 * BLOCK_WARPS);
    SHARED(i32, highest, 3 * BLOCK_WARPS);
    const Control* c = w.control;
    const u32 b = blockIdx.x, lane = lane_of(threadIdx.x), warp = warp_of(threadIdx.x);
    if (!c->building || b >= w.column_blocks[f.nx * f.ny]) return;
    const uint4 first = w.reference[b * BLOCK], p = w.reference[b * BLOCK + threadIdx.x];
    const bool there = p.w != NOBODY;
    const u32 origin[3] = {first.x, first.y, first.z};
    const i32 d[3] = {i32(p.x - first.x), i32(p.y - first.y), i32(p.z - first.z)};
    // A margin of two units: conversions round.
    auto write = [&](Box* box, u32 axis, u32 from, f32 unit, i32 low, i32 high) {
        const bool empty = high < low;
        const u32 width = empty ? 0 : u32(high) - u32(low);
        box->middle[axis] = from + (empty ? 0 : u32(low) + width / 2);
        box->half[axis] = empty ? -1e18f : (0.5f * f32(width) + 2.0f) * unit;
    };
#pragma unroll
    for (u32 axis = 0; axis < 3; ++axis) {
        const i32 low = warp_lowest(there ? d[axis] : 0x7fffffff);
        const i32 high = warp_highest(there ? d[axis] : -0x7fffffff - 1);
        if (lane == 0) {
            lowest[axis * BLOCK_WARPS + warp] = low;
            highest[axis * BLOCK_WARPS + warp] = high;
            Box* box = w.warp_boxes + b * BLOCK_WARPS + warp;
            write(box, axis, origin[axis], f.unit[axis], low, high);
        }
    }
    __syncthreads();
    if (threadIdx.x < 3) {
        const u32 axis = threadIdx.x;
        i32 low = lowest[axis * BLOCK_WARPS], high = highest[axis * BLOCK_WARPS];
        for (u32 k = 1; k < BLOCK_WARPS; ++k) {
            const i32 l = lowest[axis * BLOCK_WARPS + k], h = highest[axis * BLOCK_WARPS + k];
            low = l < low ? l : low;
            high = h > high ? h : high;
        }
        // Indices that are not known here would put the arrays into local memory.
        const u32 from = axis == 0 ? first.x : axis == 1 ? first.y : first.z;
        const f32 unit = axis == 0 ? f.unit[0] : axis == 1 ? f.unit[1] : f.unit[2];
        write(w.boxes + b, axis, from, unit, low, high);
#if !WRAP
        // Particles move a little before the next list; limit2 is the square of how far.
        const f32 width = f32(u32(high) - u32(low)) * unit;
        const f32 length = axis == 0 ? f.length[0] : axis == 1 ? f.length[1] : f.length[2];
        if (width + 2.1f * f.radius > length) too_much(w.control, 6, 1);
#endif
    }
    if (threadIdx.x == 3) w.boxes[b].column = w.block_column[b];
}

KERNEL_RESIDENT(debye_lists, BLOCK, 3, World w, Setup f)
{
    const u32 nx = f.nx, ny = f.ny, reach_x = f.reach_x, reach_y = f.reach_y;
    const f32 radius2 = f.radius2;
    constexpr u32 NEAR_GROUPS = NEAR * BLOCK_WARPS;
    SHARED(u32, column_mask, WARP);
    SHARED(u32, column_first, WARP);
    SHARED(u32, column_before, WARP + 1);
    SHARED(u32, near_blocks, NEAR);
    SHARED(u16, near_groups, NEAR_GROUPS);
    SHARED(u32, group_masks, NEAR_GROUPS);
    SHARED(u16, group_before, NEAR_GROUPS);
    SHARED(u32, sums, BLOCK_WARPS);
    SHARED(u32, totals, 2); // near groups, staged places
    SHARED(u8, warp_groups, BLOCK_WARPS * GROUPS);
    DYNAMIC_SHARED(f32, dynamic);
    f32 *sx = dynamic, *sy = dynamic + STAGE, *sz = dynamic + 2 * STAGE;
    u32* masks = reinterpret_cast<u32*>(dynamic + 3 * STAGE); // BLOCK_WARPS x GROUPS x WARP
    const Control* c = w.control;
    const u32 b = blockIdx.x, lane = lane_of(threadIdx.x), warp = warp_of(threadIdx.x);
    if (!c->building || b >= w.column_blocks[nx * ny]) return;
    const Box* all_boxes = w.boxes;
    const Box* all_warp_boxes = w.warp_boxes;
    const Box own_box = all_boxes[b];
    const uint4* places = w.reference;
    const u32 slot = b * BLOCK + threadIdx.x;
    const uint4 own = places[slot];

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
            if (end - begin > WARP) too_much(w.control, 1, end - begin);
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
    if (near > NEAR) {
        if (threadIdx.x == 0) too_much(w.control, 2, near);
        near = NEAR;
    }
    for (u32 q = warp; q < columns; q += BLOCK_WARPS) {
        const u32 mask = column_mask[q], at = column_before[q] + u32(__popc(mask & lanes_below(lane)));
        if ((mask >> lane & 1) && at < NEAR) near_blocks[at] = column_first[q] + lane;
    }
    __syncthreads();

    // Near groups of 32 places, by the boxes of the warps.
    if (warp == 0) {
        u32 count = 0;
        for (u32 base = 0; base < near * BLOCK_WARPS; base += WARP) {
            const u32 g = base + lane;
            bool hit = false;
            if (g < near * BLOCK_WARPS) {
                const u32 of = near_blocks[g / BLOCK_WARPS] * BLOCK_WARPS + g % BLOCK_WARPS;
                hit = boxes_close(own_box, all_warp_boxes[of], f, radius2);
            }
            const u32 mask = __ballot_sync(ALL_LANES, hit);
            if (hit) near_groups[count + u32(__popc(mask & lanes_below(lane)))] = u16(g);
            count += u32(__popc(mask));
        }
        if (lane == 0) totals[0] = count;
    }
    __syncthreads();
    const u32 groups = totals[0];
    auto slot_of = [&](u32 k) {
        const u32 g = near_groups[k];
        return near_blocks[g / BLOCK_WARPS] * BLOCK + g % BLOCK_WARPS * WARP + lane;
    };
    // Which places of each group are near the block; four groups at a time, so that loads overlap.
    constexpr u32 AT_ONCE = 4;
    for (u32 k = warp; k < groups; k += BLOCK_WARPS * AT_ONCE) {
        uint4 p[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * BLOCK_WARPS < groups) p[j] = places[slot_of(k + j * BLOCK_WARPS)];
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * BLOCK_WARPS >= groups) continue;
            const bool hit = p[j].w != NOBODY && near_box(seen_from(own_box.middle, p[j], f), own_box.half, radius2);
            const u32 mask = __ballot_sync(ALL_LANES, hit);
            if (lane == 0) group_masks[k + j * BLOCK_WARPS] = mask;
        }
    }
    __syncthreads();
    // Where each group begins in the stage.
    constexpr u32 EACH = NEAR_GROUPS / BLOCK;
    static_assert(NEAR_GROUPS % BLOCK == 0, "groups per thread");
    u32 counts[EACH], own_sum = 0;
#pragma unroll
    for (u32 k = 0; k < EACH; ++k) {
        const u32 g = threadIdx.x * EACH + k;
        counts[k] = g < groups ? u32(__popc(group_masks[g])) : 0;
        own_sum += counts[k];
    }
    const u32 inclusive = warp_inclusive(own_sum, lane);
    if (lane == WARP - 1) sums[warp] = inclusive;
    __syncthreads();
    u32 before = inclusive - own_sum;
    for (u32 k = 0; k < warp; ++k) before += sums[k];
#pragma unroll
    for (u32 k = 0; k < EACH; ++k) {
        group_before[threadIdx.x * EACH + k] = u16(before);
        before += counts[k];
    }
    if (threadIdx.x == BLOCK - 1) totals[1] = before;
    __syncthreads();
    u32 staged = totals[1];
    if (staged >= STAGE) { // one place is kept for nobody
        if (threadIdx.x == 0) too_much(w.control, 3, staged + 1);
        staged = STAGE - 1;
    }
    u32* stage = w.stages + u64(b) * STAGE;
    for (u32 k = warp; k < groups; k += BLOCK_WARPS * AT_ONCE) {
        uint4 p[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            if (k + j * BLOCK_WARPS < groups) p[j] = places[slot_of(k + j * BLOCK_WARPS)];
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            const u32 g = k + j * BLOCK_WARPS;
            if (g >= groups) continue;
            const u32 mask = group_masks[g], at = group_before[g] + u32(__popc(mask & lanes_below(lane)));
            if (!(mask >> lane & 1) || at >= staged) continue;
            const Place d = seen_from(own_box.middle, p[j], f);
            sx[at] = d.x;
            sy[at] = d.y;
            sz[at] = d.z;
            stage[at] = slot_of(g);
        }
    }
    const u32 padded = (staged + WARP) / WARP * WARP; // at least one place out of reach
    for (u32 k = staged + threadIdx.x; k < smaller(padded, u32(STAGE)); k += BLOCK) {
        sx[k] = OUT_OF_REACH;
        sy[k] = OUT_OF_REACH;
        sz[k] = OUT_OF_REACH;
    }
    if (threadIdx.x == 0) w.stage_counts[b] = staged;
    __syncthreads();

    // Every warp looks at the groups near its own box; a bit for every neighbour.
    const bool there = own.w != NOBODY;
    const Place me = seen_from(own_box.middle, own, f);
    const Box warp_box = all_warp_boxes[b * BLOCK_WARPS + warp];
    const Place middle = {apart(warp_box.middle[0], own_box.middle[0], f.unit[0]),
                          apart(warp_box.middle[1], own_box.middle[1], f.unit[1]),
                          apart(warp_box.middle[2], own_box.middle[2], f.unit[2])};
    u32* own_masks = masks + warp * GROUPS * WARP;
    u32 found = 0, total = 0;
    for (u32 g = 0; g < padded / WARP && warp_box.half[0] >= 0.0f; ++g) {
        const u32 at = g * WARP + lane;
        const Place d = {nearest(sx[at] - middle.x, 0, f), nearest(sy[at] - middle.y, 1, f),
                         nearest(sz[at] - middle.z, 2, f)};
        u32 left = __ballot_sync(ALL_LANES, near_box(d, warp_box.half, radius2));
        if (left == 0) continue;
        u32 hits = 0;
        const f32 *gx = sx + g * WARP, *gy = sy + g * WARP, *gz = sz + g * WARP;
        auto test = [&](u32 j, f32 x, f32 y, f32 z) {
            const f32 dx = nearest(me.x - x, 0, f), dy = nearest(me.y - y, 1, f), dz = nearest(me.z - z, 2, f);
            if (dx * dx + dy * dy + dz * dz < radius2) hits |= 1u << j;
        };
        if (__popc(left) > 8) {
#pragma unroll
            for (u32 j = 0; j < WARP; j += 4) {
                const float4 x = *reinterpret_cast<const float4*>(gx + j), y = *reinterpret_cast<const float4*>(gy + j),
                             z = *reinterpret_cast<const float4*>(gz + j);
                test(j, x.x, y.x, z.x);
                test(j + 1, x.y, y.y, z.y);
                test(j + 2, x.z, y.z, z.z);
                test(j + 3, x.w, y.w, z.w);
            }
        } else {
            for (; left != 0; left &= left - 1) {
                const u32 j = u32(__ffs(int(left))) - 1;
                test(j, gx[j], gy[j], gz[j]);
            }
        }
        if (!there) hits = 0;
        if (found < GROUPS) {
            own_masks[found * WARP + lane] = hits;
            if (lane == 0) warp_groups[warp * GROUPS + found] = u8(g);
        }
        ++found;
        total += u32(__popc(hits));
    }
    if (found > GROUPS) {
        if (lane == 0) too_much(w.control, 4, found);
        found = GROUPS;
        total = 0;
    }
    if (there && total > 0) total -= 1; // a particle is near itself
    u32 rows = (total + 3) / 4;
    if (rows > ROWS) {
        too_much(w.control, 5, rows);
        rows = 0;
    }
    const u32 of_warp = warp_sum(total);
    if (lane == 0) atomicAdd(reinterpret_cast<u64*>(w.control->pairs), u64(of_warp));
    __syncwarp();
    u32 g = 0, mask = rows > 0 ? own_masks[lane] : 0;
    auto next = [&]() {
        for (;;) {
            while (mask == 0) mask = own_masks[++g * WARP + lane];
            const u32 j = u32(__ffs(int(mask))) - 1, at = warp_groups[warp * GROUPS + g] * WARP + j;
            mask &= mask - 1;
            if (stage[at] != slot) return at;
        }
    };
    ushort4* list = reinterpret_cast<ushort4*>(w.lists) + u64(b) * ROWS * BLOCK + threadIdx.x;
    for (u32 r = 0; r < rows; ++r) {
        const u32 left = total - 4 * r;
        ushort4 row;
        row.x = u16(next());
        row.y = u16(left > 1 ? next() : staged);
        row.z = u16(left > 2 ? next() : staged);
        row.w = u16(left > 3 ? next() : staged);
        list[u64(r) * BLOCK] = row;
    }
    w.rows_of[slot] = u16(rows);
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
}
