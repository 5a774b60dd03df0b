// The race check of races.h, and the calls that a compiler makes for its thread sanitizer. Part of emulator.cpp,
// which is itself compiled without it.
#include "races.h"

#if defined(DEBYE_RACE_CHECK)
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

#include "fiber.h"

namespace debye_emulator {

void Races::forget(const void* address, std::size_t size)
{
    const auto from = reinterpret_cast<std::uintptr_t>(address) / 4;
    for (std::uintptr_t word = from; word <= from + size / 4; ++word) {
        const auto page = pages_.find(word / PAGE);
        if (page != pages_.end()) (*page->second)[word % PAGE] = Word{};
    }
}

bool Races::conflict(const Access& old, const Access& mine) const
{
    if (old.when == 0 || !(old.bytes & mine.bytes) || (old.atomic && mine.atomic)) return false;
    if (old.block != mine.block) return across_;
    return !order_->ordered(old.thread, old.when, mine.thread);
}

// The function an address of code lies in, as far as the loader knows.
static std::string place(const void* code)
{
    Dl_info info{};
    if (!dladdr(code, &info) || !info.dli_fname) return "?";
    char text[160];
    const auto offset = static_cast<const char*>(code) - static_cast<const char*>(info.dli_fbase);
    std::snprintf(text, sizeof text, "%s+0x%tx", info.dli_sname ? info.dli_sname : "module", offset);
    return text;
}

void Races::report(std::uintptr_t address, const Access& old, bool old_wrote, const Access& mine, bool writes)
{
    char text[700];
    std::snprintf(text, sizeof text,
                  "race at %#zx: thread %u of block %u %s it (%s) with no barrier after thread %u of block %u %s it "
                  "(%s)",
                  std::size_t(address), unsigned(mine.thread), mine.block, writes ? "writes" : "reads",
                  place(mine.caller).c_str(), unsigned(old.thread), old.block, old_wrote ? "wrote" : "read",
                  place(old.caller).c_str());
    race_found(text);
}

void Races::access(const void* pointer, std::size_t size, bool writes, bool atomic, const void* caller)
{
    if (Stacks::all().owns(pointer)) return;
    auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const std::uintptr_t end = address + size;
    const std::uint64_t when = now();
    while (address < end) {
        const std::uintptr_t word = address / 4, next = (word + 1) * 4 < end ? (word + 1) * 4 : end;
        unsigned char bytes = 0;
        for (std::uintptr_t i = address; i < next; ++i) bytes |= static_cast<unsigned char>(1u << i % 4);
        Word& cell = at(word);
        const Access mine{when, block_, static_cast<unsigned short>(thread_), bytes, atomic, caller};
        if (conflict(cell.write, mine)) report(address, cell.write, true, mine, writes);
        if (writes) {
            for (const Access& read : cell.read) {
                if (conflict(read, mine)) report(address, read, false, mine, true);
            }
            cell.write = mine;
        } else {
            Access& first = cell.read[0];
            const bool same = first.when && first.block == block_ && first.thread == thread_;
            if (!same) cell.read[1] = first;
            first = mine;
        }
        address = next;
    }
}

} // namespace debye_emulator

namespace {
void seen(const void* address, std::size_t size, bool writes, const void* caller)
{
    if (auto* races = debye_emulator::current_races()) races->plain(address, size, writes, caller);
}
} // namespace

extern "C" {
#define DEBYE_HOOK(size)                                                                                          \
    void __tsan_read##size(void* p) { seen(p, size, false, __builtin_return_address(0)); }                        \
    void __tsan_write##size(void* p) { seen(p, size, true, __builtin_return_address(0)); }                        \
    void __tsan_unaligned_read##size(void* p) { seen(p, size, false, __builtin_return_address(0)); }              \
    void __tsan_unaligned_write##size(void* p) { seen(p, size, true, __builtin_return_address(0)); }              \
    void __tsan_volatile_read##size(void* p) { seen(p, size, false, __builtin_return_address(0)); }               \
    void __tsan_volatile_write##size(void* p) { seen(p, size, true, __builtin_return_address(0)); }               \
    void __tsan_read_write##size(void* p)                                                                         \
    {                                                                                                             \
        seen(p, size, false, __builtin_return_address(0));                                                        \
        seen(p, size, true, __builtin_return_address(0));                                                         \
    }                                                                                                             \
    void __tsan_unaligned_read_write##size(void* p) { __tsan_read_write##size(p); }
DEBYE_HOOK(1)
DEBYE_HOOK(2)
DEBYE_HOOK(4)
DEBYE_HOOK(8)
DEBYE_HOOK(16)
#undef DEBYE_HOOK
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* p, std::size_t n) { seen(p, n, false, __builtin_return_address(0)); }
void __tsan_write_range(void* p, std::size_t n) { seen(p, n, true, __builtin_return_address(0)); }
void* __tsan_memcpy(void* to, const void* from, std::size_t n)
{
    seen(from, n, false, __builtin_return_address(0));
    seen(to, n, true, __builtin_return_address(0));
    return std::memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, std::size_t n)
{
    seen(from, n, false, __builtin_return_address(0));
    seen(to, n, true, __builtin_return_address(0));
    return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, std::size_t n)
{
    seen(to, n, true, __builtin_return_address(0));
    return std::memset(to, value, n);
}
}
#endif
