/* SPDX-License-Identifier: MIT */
/* Which elements of an output a kernel writes. */

DEVICE u64 element_bits(const void *data, u64 key, u64 index, unsigned int size)
{
    switch (size) {
    case 1: return UNVEIL(unsigned char, data, index);
    case 2: return UNVEIL(unsigned short, data, index);
    case 4: return UNVEIL(unsigned int, data, index);
    default: return UNVEIL(u64, data, index);
    }
}

/* All but those that were left as they had been poisoned, from one seed before the launch whose outputs were captured and
 * from another before the one that left `found`. A bit of `written` each, and their number. */
KERNEL hone_written(const void *found, const void *captured, u64 key, u64 count, u64 row, u64 pitch, int element,
                    unsigned int size, u64 captured_poison, u64 found_poison, unsigned int *written, u64 *sums)
{
    u64 own = 0;
    if (!LOOSE)
        STOP();
    for (u64 word = first_index(); LOOSE && word < (count + 31) / 32; word += index_stride()) {
        unsigned int bits = 0;
        for (u64 i = 32 * word; i < 32 * word + 32 && i < count; i++) {
            u64 at = place(i, row, pitch);
            int left = element_bits(captured, key, at, size) == poison_bits(element, captured_poison, at) &&
                       element_bits(found, 0, at, size) == poison_bits(element, found_poison, at);
            bits |= (unsigned int)!left << (i & 31);
            own += !left;
        }
        written[word] = bits;
    }
    store_block_sum(own, sums);
}
