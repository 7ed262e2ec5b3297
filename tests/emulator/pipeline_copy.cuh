// SPDX-License-Identifier: MIT
// In place of templates/pipeline_copy.cuh: a copy is there as late as it may be, when its group is waited for.
#pragma once

#include <deque>

namespace emulator
{
struct late_copy {
    float *to;
    float data[4];
    int bytes;
    unsigned group;
};
struct copy_queue {
    std::deque<late_copy> copies;
    unsigned group = 0;
};
inline copy_queue copy_queues[most_threads];

inline copy_queue &my_copies() { return copy_queues[threads[current].number]; }
} // namespace emulator

template <int bytes> void copy_or_zero(int copied, float *shared, const float *global)
{
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
    if ((uintptr_t)shared % bytes != 0 || (uintptr_t)global % bytes != 0)
        emulator::fail("cp.async of a misaligned address");
    emulator::copy_queue &own = emulator::my_copies();
    emulator::late_copy copy = {shared, {}, bytes, own.group};
    std::memcpy(copy.data, global, copied);
    own.copies.push_back(copy);
}

template <int bytes> void copy_if(bool wanted, float *shared, const float *global)
{
    if (wanted)
        copy_or_zero<bytes>(bytes, shared, global);
}

inline void end_copy_group() { ++emulator::my_copies().group; }

template <int groups> void wait_for_copies()
{
    emulator::copy_queue &own = emulator::my_copies();
    while (!own.copies.empty() && (groups == 0 || own.copies.front().group + groups < own.group)) {
        std::memcpy(own.copies.front().to, own.copies.front().data, own.copies.front().bytes);
        own.copies.pop_front();
    }
}
