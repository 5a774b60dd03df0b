// A fiber: a stack of its own and a place to go on from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
extern "C" {
void __sanitizer_start_switch_fiber(void** fake, const void* bottom, std::size_t size);
void __sanitizer_finish_switch_fiber(void* fake, const void** bottom, std::size_t* size);
void __asan_unpoison_memory_region(void const volatile* address, std::size_t size);
void __asan_poison_memory_region(void const volatile* address, std::size_t size);
}
#endif

#if defined(__x86_64__) && !defined(DEBYE_UCONTEXT)
#define DEBYE_OWN_SWITCH 1
// Saves what a call must preserve, stores the stack pointer, and goes on at the other one.
extern "C" __attribute__((visibility("hidden"))) void debye_fiber_switch(void** save, void* load);
asm(R"(
.text
.hidden debye_fiber_switch
.globl debye_fiber_switch
.type debye_fiber_switch, @function
debye_fiber_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size debye_fiber_switch, .-debye_fiber_switch
)");
#else
#include <ucontext.h>
#endif

namespace debye_emulator {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t STACK = 256 * 1024;
#else
constexpr std::size_t STACK = 64 * 1024;
#endif

// How far apart stacks lie: the ends of stacks a power of two apart would share the same few lines of a cache.
constexpr std::size_t STRIDE = STACK + 13 * 64;

// Stacks, used again and again. They begin with a page nobody may touch: poisoned where the address sanitizer watches;
// elsewhere a mark at its start is looked at whenever a fiber gives way, before another can run on what was overwritten.
// (A page without rights would be a mapping of its own, of which a process may have some 65,000 for all its modules.)
class Stacks {
  public:
    Stacks() = default;
    Stacks(const Stacks&) = delete;
    ~Stacks()
    {
        for (unsigned char* slab : slabs_) {
#if defined(__SANITIZE_ADDRESS__)
            __asan_unpoison_memory_region(slab, SLAB * STRIDE);
#endif
            munmap(slab, SLAB * STRIDE);
        }
    }
    // Ends the process if somebody has written through the end of this stack.
    static void inspect(const unsigned char* stack)
    {
#if !defined(__SANITIZE_ADDRESS__)
        if (*reinterpret_cast<const std::uint64_t*>(stack) != MARK) {
            std::fputs("a thread of a kernel needs more stack than the emulator gives it\n", stderr);
            std::abort();
        }
#else
        (void)stack;
#endif
    }
    unsigned char* take()
    {
        if (free_.empty()) more();
        unsigned char* stack = free_.back();
        free_.pop_back();
        return stack;
    }
    void give(unsigned char* stack) { free_.push_back(stack); }
    // Whether this address lies in one of them.
    bool owns(const void* address) const
    {
        const auto* p = static_cast<const unsigned char*>(address);
        if (p < first_ || p >= last_ + SLAB * STRIDE) return false;
        for (const unsigned char* slab : slabs_) {
            if (p >= slab && p < slab + SLAB * STRIDE) return true;
        }
        return false;
    }
    static Stacks& all()
    {
        static Stacks stacks;
        return stacks;
    }

  private:
    // Stacks asked of the system at once.
    static constexpr std::size_t SLAB = 64;
    static constexpr std::uint64_t MARK = 0x6465'6279'6520'6d64;
    void more()
    {
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void* memory = mmap(nullptr, SLAB * STRIDE, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (memory == MAP_FAILED) {
            std::fputs("the emulator has no memory for stacks\n", stderr);
            std::abort();
        }
        auto* slab = static_cast<unsigned char*>(memory);
        if (slabs_.empty() || slab < first_) first_ = slab;
        if (slab > last_) last_ = slab;
        slabs_.push_back(slab);
        for (std::size_t i = SLAB; i-- > 0;) {
            unsigned char* stack = slab + i * STRIDE;
#if defined(__SANITIZE_ADDRESS__)
            __asan_poison_memory_region(stack, 4096);
#else
            *reinterpret_cast<std::uint64_t*>(stack) = MARK;
#endif
            free_.push_back(stack);
        }
    }
    std::vector<unsigned char*> free_, slabs_;
    const unsigned char *first_ = nullptr, *last_ = nullptr;
};

class Fiber {
  public:
    Fiber() = default;
    Fiber(const Fiber&) = delete;
    Fiber(Fiber&& other) noexcept { *this = static_cast<Fiber&&>(other); }
    Fiber& operator=(Fiber&& other) noexcept
    {
        stack_ = other.stack_;
        other.stack_ = nullptr;
        return *this;
    }
    ~Fiber() { finish(); }

    bool started() const { return stack_ != nullptr; }

    // Prepares to run `main`, which must never return.
    void start(void (*main)())
    {
        stack_ = Stacks::all().take();
#if defined(__SANITIZE_ADDRESS__)
        __asan_unpoison_memory_region(stack_ + 4096, STACK - 4096);
#endif
#if defined(DEBYE_OWN_SWITCH)
        void** top = reinterpret_cast<void**>(stack_ + STACK);
        *--top = nullptr;
        *--top = reinterpret_cast<void*>(main);
        for (int i = 0; i < 6; ++i) *--top = nullptr;
        pointer_ = top;
#else
        getcontext(&context_);
        context_.uc_stack.ss_sp = stack_ + 4096;
        context_.uc_stack.ss_size = STACK - 4096;
        context_.uc_link = nullptr;
        makecontext(&context_, main, 0);
#endif
    }

    // Goes on with another; `last`: this one never comes back.
    void switch_to(Fiber& other, bool last)
    {
        if (stack_) Stacks::inspect(stack_);
#if defined(__SANITIZE_ADDRESS__)
        const void* bottom = other.stack_ ? other.stack_ + 4096 : system_bottom;
        const std::size_t size = other.stack_ ? STACK - 4096 : system_size;
        __sanitizer_start_switch_fiber(last ? nullptr : &fake_, bottom, size);
#else
        (void)last;
#endif
#if defined(DEBYE_OWN_SWITCH)
        debye_fiber_switch(&pointer_, other.pointer_);
#else
        swapcontext(&context_, &other.context_);
#endif
        if (stack_) arrived();
    }

    // To be called first thing after control came here.
    void arrived()
    {
#if defined(__SANITIZE_ADDRESS__)
        if (stack_) {
            __sanitizer_finish_switch_fiber(fake_, &system_bottom, &system_size);
        } else {
            __sanitizer_finish_switch_fiber(fake_, nullptr, nullptr);
        }
#endif
    }

    // Gives the stack back.
    void finish()
    {
        if (stack_) Stacks::all().give(stack_);
        stack_ = nullptr;
    }

  private:
    unsigned char* stack_ = nullptr;
#if defined(DEBYE_OWN_SWITCH)
    void* pointer_ = nullptr;
#else
    ucontext_t context_;
#endif
#if defined(__SANITIZE_ADDRESS__)
    void* fake_ = nullptr;
    static inline const void* system_bottom = nullptr;
    static inline std::size_t system_size = 0;
#endif
};

} // namespace debye_emulator
