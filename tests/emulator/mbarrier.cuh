// SPDX-License-Identifier: MIT
// In place of templates/mbarrier.cuh. What copies bring arrives as late as it may: when a thread looks whether it has.
#pragma once

#include <functional>
#include <vector>

struct mbarrier {
    unsigned char arrivals, missing;
    unsigned short phase;
    int bytes; // announced and not copied
};
static_assert(sizeof(mbarrier) == 8);

namespace emulator
{
struct landing {
    mbarrier *barrier;
    std::function<void()> copy;
};
inline std::vector<landing> landings;

inline void settle(mbarrier *barrier)
{
    if (barrier->missing != 0 || barrier->bytes != 0)
        return;
    ++barrier->phase;
    barrier->missing = barrier->arrivals;
}
} // namespace emulator

inline void barrier_init(mbarrier *barrier, int arrivals)
{
    *barrier = {(unsigned char)arrivals, (unsigned char)arrivals, 0, 0};
}
inline void barriers_are_ready() {}
inline void barrier_arrive_and_expect(mbarrier *barrier, int bytes)
{
    barrier->bytes += bytes;
    if (barrier->missing-- == 0)
        emulator::fail("more arrive at a barrier than it was made for");
    emulator::settle(barrier);
}
inline bool barrier_has_ended(mbarrier *barrier, int parity)
{
    const std::vector<emulator::landing> all = std::move(emulator::landings);
    emulator::landings.clear();
    for (const emulator::landing &one : all)
        if (one.barrier == barrier)
            one.copy();
        else
            emulator::landings.push_back(one);
    emulator::settle(barrier);
    return barrier->phase % 2 != parity;
}
inline void barrier_wait(mbarrier *barrier, int parity)
{
    for (int looks = 0; !barrier_has_ended(barrier, parity); ++looks) {
        if (looks > 100000)
            emulator::fail("a thread waits for a phase that never ends");
        emulator::yield();
    }
}
