// The scheduler behind emulator.h: every CUDA thread is a fiber, some blocks live at once, and control passes on
// at barriers, warp collectives, spin loops and, by chance, atomics. One launch at a time runs, in one system
// thread, so that a seed fixes what happens.
#include "emulator.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "fiber.h"
#include "races.h"

#include "races.cpp"

namespace debye_emulator {

Self self;

namespace {

// Passes over all threads in which none gets anywhere before a spin loop is called dead.
constexpr int PATIENCE = 2000;
// CUDA's limit for shared memory of a fixed size.
constexpr std::size_t STATIC_LIMIT = 48 * 1024;

enum class State { Ready, Spinning, AtBarrier, AtCollective, Done };

struct Thread {
    Fiber fiber;
    dim3 index;
    State state = State::Ready;
    const char* file = "";
    int line = 0;
    Collective what = Collective::Sync;
    unsigned mask = 0;
    int lane_argument = 0, width = 0;
    std::uint64_t value = 0, result = 0;
};

struct SharedPiece {
    const void* declaration;
    std::size_t size;
    std::unique_ptr<unsigned char, void (*)(void*)> memory{nullptr, std::free};
};

// The lanes of a warp that wait at a collective or have ended. While all who wait came with one mask to one collective,
// nobody needs to look at each of them.
struct Warp {
    unsigned waiting = 0, done = 0;
    bool alike = true;
    unsigned mask = 0;
    Collective what = Collective::Sync;
};

struct Block {
    dim3 index;
    unsigned number = 0;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::vector<unsigned> order;
    unsigned alive = 0, waiting = 0;
    const char* file = "";
    int line = 0;
    int count = 0, result = 0;
    std::vector<SharedPiece> pieces;
    BlockOrder happened;
};

struct Shape {
    unsigned grid[3], block[3];
    unsigned long long shared_bytes;
    unsigned cooperative;
    unsigned long long seed;
};

struct Launch {
    Call call;
    void** values;
    Shape shape;
    unsigned block_size;
    std::uint64_t random;
    std::string failure;
    // Whether an atomic has changed memory since the last pass.
    bool changed = false;
    Block* block = nullptr;
    Thread* thread = nullptr;
    Fiber scheduler;
    Races races;
};

Launch* launch = nullptr;

std::vector<Kernel>& kernels()
{
    static std::vector<Kernel> all;
    return all;
}

std::uint64_t next_random()
{
    std::uint64_t z = (launch->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

template <class T> void shuffle_order(std::vector<T>& list)
{
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[next_random() % i]);
}

void leave() { launch->thread->fiber.switch_to(launch->scheduler, launch->thread->state == State::Done); }

// Stops the launch with a message; the fibers are left where they are.
[[noreturn]] void fail(const char* format, ...)
{
    char text[400];
    va_list list;
    va_start(list, format);
    std::vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const dim3 b = launch->block->index, t = launch->thread->index;
    char where[200];
    std::snprintf(where, sizeof where, "block (%u, %u, %u), thread (%u, %u, %u): ", b.x, b.y, b.z, t.x, t.y, t.z);
    launch->failure = std::string(where) + text;
    for (;;) leave();
}

unsigned number_in_block() { return unsigned(launch->thread - launch->block->threads.data()); }

void release_barrier(Block& block)
{
    for (Thread& t : block.threads) {
        if (t.state == State::AtBarrier) t.state = State::Ready;
    }
    block.waiting = 0;
    block.result = block.count;
    block.happened.barrier(launch->races.now());
}

std::uint64_t combined(const Block& block, unsigned warp, unsigned lane)
{
    const Thread* lanes = &block.threads[warp * 32];
    const Thread& me = lanes[lane];
    auto signed_of = [](std::uint64_t x) { return int(unsigned(x)); };
    auto fold = [&](std::uint64_t x, auto&& with) {
        for (unsigned l = 0; l < 32; ++l) {
            if (me.mask >> l & 1 && l != lane) x = with(x, lanes[l].value);
        }
        return x;
    };
    switch (me.what) {
    case Collective::Sync: return 0;
    case Collective::Shuffle:
    case Collective::ShuffleUp:
    case Collective::ShuffleDown:
    case Collective::ShuffleXor: {
        const int width = me.width, base = int(lane) / width * width, place = int(lane) % width;
        int from = place;
        if (me.what == Collective::Shuffle) from = ((me.lane_argument % width) + width) % width;
        if (me.what == Collective::ShuffleUp) from = place - me.lane_argument;
        if (me.what == Collective::ShuffleDown) from = place + me.lane_argument;
        if (me.what == Collective::ShuffleXor) from = place ^ me.lane_argument;
        if (from < 0 || from >= width) from = place;
        if (!(me.mask >> (base + from) & 1)) {
            fail("%s:%d: lane %u shuffles from lane %d, which is not in the mask %08x", me.file, me.line, lane,
                 base + from, me.mask);
        }
        return lanes[base + from].value;
    }
    case Collective::Ballot: {
        std::uint64_t votes = 0;
        for (unsigned l = 0; l < 32; ++l) {
            if (me.mask >> l & 1 && lanes[l].value) votes |= 1u << l;
        }
        return votes;
    }
    case Collective::MatchAny:
    case Collective::MatchAll: {
        std::uint64_t same = 0;
        for (unsigned l = 0; l < 32; ++l) {
            if (me.mask >> l & 1 && lanes[l].value == me.value) same |= 1u << l;
        }
        return me.what == Collective::MatchAny || same == me.mask ? same : 0;
    }
    case Collective::AddU32: return fold(me.value, [](auto a, auto b) { return std::uint64_t(unsigned(a + b)); });
    case Collective::MinU32: return fold(me.value, [](auto a, auto b) { return std::min(a, b); });
    case Collective::MaxU32: return fold(me.value, [](auto a, auto b) { return std::max(a, b); });
    case Collective::MinI32:
        return fold(me.value, [&](auto a, auto b) { return signed_of(a) < signed_of(b) ? a : b; });
    case Collective::MaxI32:
        return fold(me.value, [&](auto a, auto b) { return signed_of(a) > signed_of(b) ? a : b; });
    case Collective::And: return fold(me.value, [](auto a, auto b) { return a & b; });
    case Collective::Or: return fold(me.value, [](auto a, auto b) { return a | b; });
    case Collective::Xor: return fold(me.value, [](auto a, auto b) { return a ^ b; });
    }
    return 0;
}

// What a thread runs; never returns.
void thread_main()
{
    launch->thread->fiber.arrived();
    launch->call(launch->values);
    Block& block = *launch->block;
    launch->thread->state = State::Done;
    block.warps[number_in_block() / 32].done |= 1u << number_in_block() % 32;
    --block.alive;
    if (block.waiting > 0) {
        fail("this thread ended while %u others wait at the barrier %s:%d", block.waiting, block.file, block.line);
    }
    for (;;) leave();
}

const char* waiting_for(const Thread& t)
{
    switch (t.state) {
    case State::AtBarrier: return "at the barrier";
    case State::AtCollective: return "at the warp collective";
    case State::Spinning: return "in a spin loop after";
    case State::Done: return "ended; last seen";
    case State::Ready: return "running after";
    }
    return "";
}

// Where everybody is, runs of threads in the same place together.
void report_stall(const std::vector<std::unique_ptr<Block>>& live)
{
    std::string text = "no thread can go on:";
    int lines = 0;
    for (const auto& block : live) {
        const auto& threads = block->threads;
        for (std::size_t i = 0; i < threads.size() && lines < 12; ++lines) {
            std::size_t j = i + 1;
            while (j < threads.size() && threads[j].state == threads[i].state && threads[j].line == threads[i].line) {
                ++j;
            }
            char line[300];
            std::snprintf(line, sizeof line, "\n  block %u, threads %zu to %zu: %s %s:%d", block->number, i, j - 1,
                          waiting_for(threads[i]), threads[i].file, threads[i].line);
            text += line;
            i = j;
        }
    }
    launch->failure = text;
}

std::unique_ptr<Block> start_block(unsigned number)
{
    auto block = std::make_unique<Block>();
    const Shape& shape = launch->shape;
    block->number = number;
    block->index = {number % shape.grid[0], number / shape.grid[0] % shape.grid[1],
                    number / shape.grid[0] / shape.grid[1]};
    block->alive = launch->block_size;
    block->threads.resize(launch->block_size);
    block->warps.resize((launch->block_size + 31) / 32);
    block->order.resize(launch->block_size);
    for (unsigned i = 0; i < launch->block_size; ++i) {
        Thread& t = block->threads[i];
        t.index = {i % shape.block[0], i / shape.block[0] % shape.block[1], i / shape.block[0] / shape.block[1]};
        block->order[i] = i;
    }
    shuffle_order(block->order);
    block->happened.start(launch->block_size);
    return block;
}

// Runs a thread until it waits, spins or ends.
void run_thread(Block& block, Thread& thread)
{
    launch->block = &block;
    launch->thread = &thread;
    const Shape& shape = launch->shape;
    self = {thread.index, block.index, {shape.block[0], shape.block[1], shape.block[2]},
            {shape.grid[0], shape.grid[1], shape.grid[2]}};
    thread.state = State::Ready;
    if (!thread.fiber.started()) thread.fiber.start(thread_main);
    launch->races.enter(&block.happened, block.number, number_in_block());
    launch->scheduler.switch_to(thread.fiber, false);
    launch->scheduler.arrived();
    launch->races.exit();
    if (thread.state == State::Done) thread.fiber.finish();
}

// One pass over the live blocks; says whether anything happened: a thread came to another place than a spin loop or an
// atomic, or memory changed. Who adds a long time gets somewhere; who only looks does not.
bool pass(std::vector<std::unique_ptr<Block>>& live)
{
    bool progress = false;
    launch->changed = false;
    for (auto& block : live) {
        for (unsigned i : block->order) {
            Thread& t = block->threads[i];
            if (t.state != State::Ready && t.state != State::Spinning) continue;
            run_thread(*block, t);
            if (!launch->failure.empty()) return true;
            progress |= t.state != State::Spinning;
        }
    }
    return progress || launch->changed;
}

void run_all()
{
    const Shape& shape = launch->shape;
    const std::size_t blocks = std::size_t(shape.grid[0]) * shape.grid[1] * shape.grid[2];
    std::vector<unsigned> order(blocks);
    for (std::size_t i = 0; i < blocks; ++i) order[i] = unsigned(i);
    shuffle_order(order);
    const std::size_t together = shape.cooperative ? blocks : 3;
    std::vector<std::unique_ptr<Block>> live;
    std::size_t next = 0;
    int stalled = 0;
    while (next < blocks || !live.empty()) {
        while (next < blocks && live.size() < together) live.push_back(start_block(order[next++]));
        const bool progress = pass(live);
        if (!launch->failure.empty()) return;
        if (!progress) {
            bool spinning = false;
            for (const auto& block : live) {
                for (const Thread& t : block->threads) spinning |= t.state == State::Spinning;
            }
            if (!spinning || ++stalled > PATIENCE) return report_stall(live);
        }
        if (progress) stalled = 0;
        live.erase(std::remove_if(live.begin(), live.end(), [](auto& block) { return block->alive == 0; }),
                   live.end());
    }
}

} // namespace

void declare(const Kernel& kernel) { kernels().push_back(kernel); }

int block_barrier(const char* file, int line, Vote vote, int value)
{
    Block& block = *launch->block;
    Thread& thread = *launch->thread;
    thread.file = file;
    thread.line = line;
    if (block.alive < launch->block_size) {
        fail("barrier %s:%d, but %u threads of the block have ended", file, line, launch->block_size - block.alive);
    }
    if (block.waiting == 0) {
        block.file = file;
        block.line = line;
        block.count = 0;
    } else if (block.line != line || std::strcmp(block.file, file) != 0) {
        fail("barrier %s:%d, while others of the block wait at the barrier %s:%d", file, line, block.file, block.line);
    }
    block.count += value;
    if (++block.waiting == launch->block_size) {
        release_barrier(block);
    } else {
        thread.state = State::AtBarrier;
        leave();
    }
    switch (vote) {
    case Vote::None: return 0;
    case Vote::Count: return block.result;
    case Vote::And: return block.result == int(launch->block_size);
    case Vote::Or: return block.result > 0;
    }
    return 0;
}

std::uint64_t warp_collective(const char* file, int line, Collective what, unsigned mask, std::uint64_t value,
                              int lane_argument, int width)
{
    Block& block = *launch->block;
    Thread& thread = *launch->thread;
    const unsigned lane = number_in_block() % 32, warp = number_in_block() / 32;
    Thread* lanes = &block.threads[warp * 32];
    if (!(mask >> lane & 1)) fail("%s:%d: lane %u is not in its own mask %08x", file, line, lane, mask);
    thread.file = file;
    thread.line = line;
    thread.what = what;
    thread.mask = mask;
    thread.value = value;
    thread.lane_argument = lane_argument;
    thread.width = width;
    Warp& all = block.warps[warp];
    const unsigned others = mask & ~(1u << lane);
    if (all.waiting == 0) {
        all.alike = true;
        all.mask = mask;
        all.what = what;
    }
    all.alike = all.alike && all.mask == mask && all.what == what;
    bool complete = (others & ~all.waiting) == 0;
    for (unsigned l = 0; l < 32 && (!all.alike || others & all.done); ++l) {
        if (!(others >> l & 1)) continue;
        const Thread& other = lanes[l];
        if (other.state == State::Done) {
            fail("%s:%d: lane %u is in the mask %08x but has ended", file, line, l, mask);
        }
        if (other.state == State::AtCollective && (other.mask != mask || other.what != what)) {
            fail("%s:%d: a warp collective with mask %08x, while lane %u waits at another at %s:%d with mask %08x",
                 file, line, mask, l, other.file, other.line, other.mask);
        }
    }
    if (!complete) {
        thread.state = State::AtCollective;
        all.waiting |= 1u << lane;
        leave();
        return thread.result;
    }
    all.waiting &= ~mask;
    // What is the same for all is found once.
    const bool each = what == Collective::MatchAny || (what >= Collective::Shuffle && what <= Collective::ShuffleXor);
    const std::uint64_t common = each ? 0 : combined(block, warp, lane);
    for (unsigned l = 0; l < 32; ++l) {
        if (mask >> l & 1) lanes[l].result = each ? combined(block, warp, l) : common;
    }
    for (unsigned l = 0; l < 32; ++l) {
        if (mask >> l & 1) lanes[l].state = State::Ready;
    }
    // Only this call orders memory; shuffles and votes do not.
    if (what == Collective::Sync) block.happened.warp_sync(warp, mask, launch->races.now());
    return thread.result;
}

unsigned active_lanes()
{
    const unsigned warp = number_in_block() / 32;
    unsigned lanes = 0;
    for (unsigned l = 0; l < 32; ++l) {
        const State state = launch->block->threads[warp * 32 + l].state;
        if (state == State::Ready || state == State::Spinning) lanes |= 1u << l;
    }
    // Any subset that holds this lane is a possible answer; take the smallest, so that nobody relies on more.
    return lanes & (1u << number_in_block() % 32);
}

void spin()
{
    launch->thread->state = State::Spinning;
    leave();
}

void shared_access_begins(const void* address, std::size_t size, bool writes)
{
    // To be interrupted here is not to get anywhere, but to change memory is.
    if (next_random() % 16 == 0) spin();
    launch->races.atomic(address, size, writes);
    launch->races.quiet(true);
}

void shared_access_ends(bool changed)
{
    launch->changed |= changed;
    launch->races.quiet(false);
}

static void* shared_piece(const void* declaration, std::size_t size)
{
    Block& block = *launch->block;
    for (SharedPiece& piece : block.pieces) {
        if (piece.declaration == declaration) return piece.memory.get();
    }
    const std::size_t room = (size + 127) / 128 * 128;
    auto* memory = static_cast<unsigned char*>(std::aligned_alloc(128, room ? room : 128));
    // Nobody may rely on what is there: it differs from launch to launch.
    for (std::size_t i = 0; i < room; i += sizeof(std::uint64_t)) {
        const std::uint64_t garbage = next_random();
        std::memcpy(memory + i, &garbage, sizeof garbage);
    }
#if defined(__SANITIZE_ADDRESS__)
    __asan_poison_memory_region(memory + size, room - size);
#endif
    block.pieces.push_back({declaration, size, {memory, std::free}});
    launch->races.forget(memory, room);
    return memory;
}

void* static_shared(const void* declaration, std::size_t size)
{
    void* memory = shared_piece(declaration, size);
    std::size_t total = 0;
    for (const SharedPiece& piece : launch->block->pieces) {
        if (piece.declaration) total += piece.size;
    }
    if (total > STATIC_LIMIT) fail("%zu bytes of fixed shared memory; CUDA allows 48 KiB", total);
    return memory;
}

void* dynamic_shared() { return shared_piece(nullptr, launch->shape.shared_bytes); }

long long clock_now()
{
    static long long now = 0;
    return now += 1 + (next_random() & 15);
}

void race_found(const std::string& text)
{
    if (launch && launch->failure.empty()) launch->failure = text;
}

Races* current_races() { return launch ? &launch->races : nullptr; }

// The interface to the host program.
extern "C" {

DEBYE_VISIBLE unsigned debye_emulator_kernels(const Kernel** list)
{
    *list = kernels().data();
    return unsigned(kernels().size());
}

// Returns 0, or 1 with a message.
DEBYE_VISIBLE int debye_emulator_launch(Call call, void** values, const Shape* shape, char* message, std::size_t room)
{
    static std::mutex one_at_a_time;
    const std::lock_guard<std::mutex> guard(one_at_a_time);
    Launch now{};
    now.call = call;
    now.values = values;
    now.shape = *shape;
    now.block_size = shape->block[0] * shape->block[1] * shape->block[2];
    now.random = shape->seed;
    now.races.across_blocks(!shape->cooperative);
    launch = &now;
    run_all();
    launch = nullptr;
    std::snprintf(message, room, "%s", now.failure.c_str());
    return now.failure.empty() ? 0 : 1;
}

} // extern "C"

} // namespace debye_emulator
