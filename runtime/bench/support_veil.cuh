/* SPDX-License-Identifier: MIT */
/* What a variant has to write lies in memory that it can read. So it is kept veiled: each element is combined with a
 * number that follows from its place and a key, which the host draws anew for every bench and passes to these kernels by
 * value. Only a comparison, which no variant runs beside, ever sees what is below, and only in registers. */

/* The 32 bits of a place: few instructions, since a comparison takes one for each element. */
DEVICE unsigned int veil_half(u64 key, u64 index)
{
    unsigned int z = (unsigned int)index * 0x9e3779b9u + (unsigned int)key + (unsigned int)(index >> 32);
    z = (z ^ (z >> 15)) * (unsigned int)(key >> 32 | 1);
    return z ^ (z >> 16);
}

/* Of an element of `size` bytes. Key 0: there is no veil. */
DEVICE u64 veil(u64 key, u64 index, unsigned int size)
{
    if (key == 0)
        return 0;
    u64 low = veil_half(key, index);
    return size < 8 ? low : low | (u64)veil_half(~key, index) << 32;
}

#define UNVEIL(word, data, index) ((word)(((const word *)(data))[index] ^ (word)veil(key, index, sizeof(word))))

#define COPY_VEILED(word)                                                                                              \
    for (u64 i = first_index(); i < count; i += index_stride())                                                        \
    ((word *)to)[i] = UNVEIL(word, from, i)

/* Copies `count` elements of `size` bytes, laying the veil on or taking it off. */
KERNEL hone_veil(const void *from, void *to, u64 count, unsigned int size, u64 key)
{
    switch (size) {
    case 1: COPY_VEILED(unsigned char); break;
    case 2: COPY_VEILED(unsigned short); break;
    case 4: COPY_VEILED(unsigned int); break;
    default: COPY_VEILED(u64); break;
    }
}
