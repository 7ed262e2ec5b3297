// SPDX-License-Identifier: MIT
// In place of templates/tensor_copy.cuh. Loads arrive when somebody waits for them, stores read when somebody waits for
// that; what nobody waited for when a block ends, was never copied.
#pragma once

#include "mbarrier.cuh"

using emulator::tensor_map;

namespace emulator
{
inline std::vector<std::function<void()>> stores; // of the one thread that asks for them

inline unsigned char *swizzled(unsigned char *shared, int swizzle)
{
    const uintptr_t address = (uintptr_t)shared, line = address >> 7;
    return (unsigned char *)(address ^ (line % (swizzle < 32 ? 1 : swizzle / 16)) << 4);
}

template <typename Copy> void for_box(void *shared, const tensor_map &map, int x, int y, Copy copy)
{
    if ((uintptr_t)shared % 128 != 0 || (map.swizzle != 0 && (uintptr_t)shared % (8 * map.swizzle) != 0))
        fail("a box at an address that is not aligned");
    for (int line = 0; line < map.box[1]; ++line)
        for (int column = 0; column < map.box[0]; ++column) {
            unsigned char *at = (unsigned char *)shared + (line * map.box[0] + column) * map.element;
            const long long row = y + line, place = x + column;
            const bool inside = row >= 0 && row < map.dims[1] && place >= 0 && place < map.dims[0];
            copy(swizzled(at, map.swizzle), inside ? map.data + row * map.stride + place * map.element : nullptr);
        }
}
} // namespace emulator

inline void load_box(void *shared, const tensor_map *given, int x, int y, mbarrier *barrier)
{
    const tensor_map map = *given;
    emulator::landings.push_back({barrier, [=] {
        emulator::for_box(shared, map, x, y, [&](unsigned char *to, const unsigned char *from) {
            from == nullptr ? std::memset(to, 0, map.element) : std::memcpy(to, from, map.element);
        });
        barrier->bytes -= map.box[0] * map.box[1] * map.element;
    }});
}

inline void store_box(const void *shared, const tensor_map *given, int x, int y)
{
    const tensor_map map = *given;
    emulator::stores.push_back([=] {
        emulator::for_box((void *)shared, map, x, y, [&](const unsigned char *from, unsigned char *to) {
            if (to != nullptr)
                std::memcpy(to, from, map.element);
        });
    });
}

template <int count> void wait_for_reads_of_stores()
{
    while (emulator::stores.size() > count) {
        emulator::stores.front()();
        emulator::stores.erase(emulator::stores.begin());
    }
}
inline void make_visible_to_copies() {}
inline void prefetch_map(const tensor_map *) {}
