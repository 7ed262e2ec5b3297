// SPDX-License-Identifier: MIT
// In place of templates/load_once.cuh: a load like any other.
#pragma once

template <typename T> T load_once(const T *word)
{
    if ((uintptr_t)word % sizeof(T) != 0)
        emulator::fail("a load of a misaligned address");
    return *word;
}
