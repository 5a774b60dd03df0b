// Bonds, angles, dihedrals and scaled pairs, in double precision from exact differences.
//
// A thread owns a particle and evaluates every link that it is part of, in full, to add its own share of the force. So a
// link is evaluated as often as it has particles, but nothing is shared and sums have one order. The links of a particle
// are sorted by term, and all threads go through the terms together. A link is 16 bytes, a partner of it 28.
#include "block_sum.cuh"
#include "bonded.cuh"
#if TURNING
#include "rotation.cuh"
#else
#include "motion.cuh"
#endif

// Where the particles are: the positions of now.
struct Positions {
    const uint4* pos;
    const u32* low;
    const u32* slot_of;
    u32 slots;
#if TURNING
    const speed* turns;
    // The axis z of the particle in a slot.
    __device__ __forceinline__ Vector axis_at(u32 slot) const
    {
        Vector z;
        z_axis_of(turns[slot], turns[u64(slots) + slot], turns[2 * u64(slots) + slot], turns[3 * u64(slots) + slot], z.x, z.y, z.z);
        return z;
    }
    __device__ __forceinline__ Vector axis_of(u32 id) const { return axis_at(slot_of[id]); }
#endif
    __device__ __forceinline__ Exact at(u32 slot) const { return exact_at(pos, low, slot, slots); }
    __device__ __forceinline__ Exact of(u32 id) const { return at(slot_of[id]); }
};

// A particle on its way through its links, term by term.
template <bool ENERGY> struct Walk {
    const Links& l;
    const Positions& p;
    const f64 (&cell)[6];
    const Exact me;
#if TURNING
    const Vector my_axis;
#endif
    u32 at;
    const u32 end;
    f64* sums;  // of this block
    f64* warps; // room for a sum over the block
    uint4 next;
    Share s;

    template <class Term> __device__ __forceinline__ void operator()(const Term& term)
    {
        s.energy = 0.0;
        while (at < end && next.w >> (ROW_BITS + PLACE_BITS) == Term::TERM) {
            const uint4 now = next;
            if (++at < end) next = l.links[at];
#if TURNING
            if constexpr (Term::AXIS) {
                axis_link<ENERGY>(s, term, now, me, my_axis, p, l, cell);
                continue;
            }
#endif
            if constexpr (!Term::AXIS) link<ENERGY>(s, term, now, me, p, l, cell);
        }
        if (ENERGY) {
            const f64 sum = block_sum(s.energy, warps);
            if (threadIdx.x == 0) sums[Term::TERM] = sum;
        }
    }
};

// Forces of all links on the particle of this slot. With energies, all threads of a block must be here.
template <bool ENERGY>
__device__ __forceinline__ void all_links(const World& w, const Links& l, const Setup& f, u32 parity, u32 side, f64* warps)
{
    const u32 slots = f.slots, slot = blockIdx.x * BLOCK + threadIdx.x;
    const Positions p = {half_of(w.pos, parity, slots), half_of(w.low, low_half(parity, side), 3 * slots), half_of(w.slot_of, side, slots),
                         slots,
#if TURNING
                         half_of(w.turns, side, 4 * slots)
#endif
    };
    const bool there = p.pos[slot].w != EMPTY_SLOT;
    const u32 id = there ? half_of(w.ids, side, slots)[slot] : 0;
    const u32 begin = there ? l.starts[id] : 0, end = there ? l.starts[id + 1] : 0;
    f64* sums = l.partial + u64(blockIdx.x) * (LINK_TERMS + 6);
    Walk<ENERGY> walk = {l, p, f.frame.cell, p.at(slot),
#if TURNING
                         p.axis_at(slot),
#endif
                         begin, end, sums, warps, {}, {}};
    if (begin < end) walk.next = l.links[begin];
    each_link_term(walk);
    const Share& s = walk.s;
    if (there) {
        w.bonded[slot] = s.force.x;
        w.bonded[u64(slots) + slot] = s.force.y;
        w.bonded[2 * u64(slots) + slot] = s.force.z;
#if MOVING
        for (u32 k = 0; k < 3; ++k) w.bonded[u64(3 + k) * slots + slot] = s.virial[k];
#endif
#if TURNING
        w.bonded[u64(BONDED_TORQUES) * slots + slot] = s.torque.x;
        w.bonded[u64(BONDED_TORQUES + 1) * slots + slot] = s.torque.y;
        w.bonded[u64(BONDED_TORQUES + 2) * slots + slot] = s.torque.z;
#endif
    }
    if (ENERGY) {
        for (u32 k = 0; k < 6; ++k) {
            const f64 sum = block_sum(s.virial[k], warps);
            if (threadIdx.x == 0) sums[LINK_TERMS + k] = sum;
        }
    }
}

// Before every step. Returns at once whenever the step will.
KERNEL_RESIDENT(debye_bonded, BLOCK, 2, World w, Links l, Setup f)
{
    SHARED(f64, warps, BLOCK_WARPS);
    const Steering now = steering(w);
    if (now.idle || blockIdx.x >= now.blocks || (now.split & SUMMED) ||
        (f.due != DUE_ALWAYS && (f.due == DUE_WITH_SUMS) != (now.split != 0))) return;
    load_frame(w, f);
    // A barostat needs the virial.
    if (MOVING && (now.split & SCALES)) all_links<true>(w, l, f, now.parity, now.side, warps);
    else all_links<false>(w, l, f, now.parity, now.side, warps);
}

// Forces, and for every block: energies by term and virial (xx yy zz xy xz yz).
KERNEL_RESIDENT(debye_bonded_sums, BLOCK, 1, World w, Links l, Setup f)
{
    SHARED(f64, warps, BLOCK_WARPS);
    const Control* c = w.control;
    if (blockIdx.x >= c->blocks) return;
    load_frame(w, f);
    all_links<true>(w, l, f, c->parity, c->side, warps);
}
