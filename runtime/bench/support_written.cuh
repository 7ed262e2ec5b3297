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

DEVICE int is_nan(int element, u64 bits)
{
    switch (element) {
    case FLOAT64: return (bits & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
    case FLOAT32: return (bits & 0x7fffffffu) > 0x7f800000u;
    case FLOAT16: return (bits & 0x7fffu) > 0x7c00u;
    case BFLOAT16: return (bits & 0x7fffu) > 0x7f80u;
    case FLOAT8_E4M3: return (bits & 0x7fu) == 0x7fu;
    default: return 0;
    }
}

/* All but those that were left as they had been poisoned, from one seed before the launch whose outputs were captured and
 * from another before the one that left `found`; where that is null, all but those that were captured as NaN. A bit of
 * `written` each, and their number. */
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
            u64 own_bits = element_bits(captured, key, at, size);
            int left = found == 0 ? is_nan(element, own_bits)
                                  : own_bits == poison_bits(element, captured_poison, at) &&
                                        element_bits(found, 0, at, size) == poison_bits(element, found_poison, at);
            bits |= (unsigned int)!left << (i & 31);
            own += !left;
        }
        written[word] = bits;
    }
    store_block_sum(own, sums);
}
