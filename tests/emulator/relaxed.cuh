// SPDX-License-Identifier: MIT
// In place of templates/relaxed.cuh. Blocks that run one after the other would always find that the tile before knows the
// sum of all before it; most such states are therefore held back, so that a look-back has far to go.
#pragma once

inline unsigned long long load_relaxed(const unsigned long long *word) { return *word; }

inline void store_relaxed(unsigned long long *word, unsigned long long value)
{
    static unsigned updates;
    const bool second = *word >> 32 == (value >> 32) - 1;
    if (!second || ++updates % 41 == 0)
        *word = value;
}
