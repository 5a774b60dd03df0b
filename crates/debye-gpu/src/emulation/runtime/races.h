// The race check: the compiler reports every access to memory of a kernel (the calls it makes for its thread
// sanitizer, which races.cpp answers), and two accesses to one word by different threads, one of them writing,
// must have a barrier between them. Without DEBYE_RACE_CHECK all of it is empty.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace debye_emulator {

// What is ordered inside a block: when its threads last met.
class BlockOrder {
  public:
#if defined(DEBYE_RACE_CHECK)
    void start(std::size_t threads) { together_.assign(threads * 32, 0); }
    void barrier(std::uint64_t now) { barrier_ = now; }
    void warp_sync(unsigned warp, unsigned mask, std::uint64_t now)
    {
        for (unsigned a = 0; a < 32; ++a) {
            if (!(mask >> a & 1)) continue;
            std::uint64_t* others = &together_[(warp * 32 + a) * 32];
            for (unsigned b = 0; b < 32; ++b) others[b] = mask >> b & 1 ? now : others[b];
        }
    }
    // Whether what thread `a` did then comes before what thread `b` does now.
    bool ordered(unsigned a, std::uint64_t then, unsigned b) const
    {
        return a == b || then < barrier_ || (a / 32 == b / 32 && then < together_[a * 32 + b % 32]);
    }

  private:
    std::uint64_t barrier_ = 0;
    std::vector<std::uint64_t> together_;
#else
    void start(std::size_t) {}
    void barrier(std::uint64_t) {}
    void warp_sync(unsigned, unsigned, std::uint64_t) {}
#endif
};

class Races {
  public:
#if defined(DEBYE_RACE_CHECK)
    std::uint64_t now() { return ++now_; }
    void across_blocks(bool check) { across_ = check; }
    void enter(const BlockOrder* order, unsigned block, unsigned thread)
    {
        order_ = order;
        block_ = block;
        thread_ = thread;
    }
    void exit() { order_ = nullptr; }
    void quiet(bool yes) { quiet_ = yes; }
    void atomic(const void* address, std::size_t size, bool writes)
    {
        access(address, size, writes, true, __builtin_return_address(0));
    }
    void plain(const void* address, std::size_t size, bool writes, const void* caller)
    {
        if (order_ && !quiet_) access(address, size, writes, false, caller);
    }
    // Memory that was given to somebody new.
    void forget(const void* address, std::size_t size);

  private:
    struct Access {
        std::uint64_t when = 0;
        unsigned block = 0;
        unsigned short thread = 0;
        unsigned char bytes = 0;
        bool atomic = false;
        const void* caller = nullptr;
    };
    struct Word {
        Access write, read[2];
    };
    // Words side by side, as they are used.
    static constexpr std::uintptr_t PAGE = 64;
    using Page = std::array<Word, PAGE>;
    // A page that was found lately.
    struct Found {
        std::uintptr_t number = 0;
        Page* page = nullptr;
    };
    static constexpr std::uintptr_t LATELY = 256;
    Word& at(std::uintptr_t word)
    {
        const std::uintptr_t number = word / PAGE;
        // Threads in turn read the same few arrays.
        Found& found = lately_[number % LATELY];
        if (found.number != number || !found.page) {
            std::unique_ptr<Page>& page = pages_[number];
            if (!page) page = std::make_unique<Page>();
            found = {number, page.get()};
        }
        return (*found.page)[word % PAGE];
    }
    void access(const void* address, std::size_t size, bool writes, bool atomic, const void* caller);
    bool conflict(const Access& old, const Access& mine) const;
    void report(std::uintptr_t address, const Access& old, bool old_wrote, const Access& mine, bool writes);

    std::uint64_t now_ = 0;
    bool across_ = true, quiet_ = false;
    const BlockOrder* order_ = nullptr;
    unsigned block_ = 0, thread_ = 0;
    std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
    std::array<Found, LATELY> lately_{};
#else
    std::uint64_t now() { return 0; }
    void across_blocks(bool) {}
    void enter(const BlockOrder*, unsigned, unsigned) {}
    void exit() {}
    void quiet(bool) {}
    void atomic(const void*, std::size_t, bool) {}
    void forget(const void*, std::size_t) {}
#endif
};

// The launch that runs now, if any.
Races* current_races();
void race_found(const std::string& text);

} // namespace debye_emulator
