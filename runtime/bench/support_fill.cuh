/* SPDX-License-Identifier: MIT */
/* Contents of buffers: those that a plan asks for, and poison. */

enum fill_kind { UNIFORM, NORMAL, IOTA, CONSTANT, PERMUTATION, SKEWED, ZIPF };

/* What was left out must not be asked for: doing nothing would look like success. */
DEVICE void require_use(int element, int kind)
{
    if (!USES(ELEMENTS, element) || !USES(FILLS, kind))
        STOP();
}

/* A fill, with what its elements have in common. */
struct recipe {
    int kind;
    int integer;
    double a, b;
    u64 seed;
    u64 count;
    struct zipf zipf;
};

DEVICE double fill_value(const struct recipe *recipe, u64 index)
{
    double a = recipe->a;
    double b = recipe->b;
    u64 word = random_word(recipe->seed, index);
    if (USES(FILLS, CONSTANT) && recipe->kind == CONSTANT)
        return a;
    if (USES(FILLS, IOTA) && recipe->kind == IOTA)
        return a + b * (double)index;
    if (USES(FILLS, NORMAL) && recipe->kind == NORMAL)
        return a + b * sqrt(-2.0 * log(1.0 - unit(word))) * cos(6.283185307179586 * unit(mix(word)));
    if (USES(FILLS, PERMUTATION) && recipe->kind == PERMUTATION)
        return (double)permute(index, recipe->count, recipe->seed | 1);
    if (USES(FILLS, SKEWED) && recipe->kind == SKEWED)
        return unit(word) < b ? 0.0 : floor(a * unit(mix(word)));
    if (USES(FILLS, ZIPF) && recipe->kind == ZIPF)
        return draw_zipf(recipe->zipf, word);
    if (recipe->integer) {
        double value = floor(a + (b - a + 1.0) * unit(word));
        return value > b ? b : value;
    }
    return a + (b - a) * unit(word);
}

/* Element i depends on seed and i only; the host mixes the argument's index into the seed. One loop for all types: each
 * copy of it would take a third of a second to compile, which every tune waits for. */
KERNEL hone_fill(void *data, u64 count, u64 row, u64 pitch, int element, int kind, double a, double b, u64 seed)
{
    struct recipe recipe = {kind, element < FLOAT32, a, b, seed, count, {0.0, 0.0, 0.0, 0.0, 0.0}};
    require_use(element, kind);
    if (USES(FILLS, ZIPF) && kind == ZIPF)
        recipe.zipf = prepare_zipf(a, b);
    for (u64 i = first_index(); i < count; i += index_stride())
        store(data, place(i, row, pitch), element, fill_value(&recipe, i));
}

/* What no kernel writes, as the bits of an element: NaN for reals where seed is 0; otherwise bits that depend on seed and
 * place, of a magnitude from 1 to 2 for reals. */
DEVICE u64 poison_bits(int element, u64 seed, u64 index)
{
    u64 word = random_word(seed, index);
    u64 bits = 0;
    switch (element) {
    case FLOAT64: return seed == 0 ? NOWHERE : (word & 0x800fffffffffffffull) | 0x3ff0000000000000ull;
    case FLOAT32: return seed == 0 ? 0xffffffffu : ((unsigned int)word & 0x807fffffu) | 0x3f800000u;
    case FLOAT16: return seed == 0 ? 0xffffu : ((unsigned int)word & 0x83ffu) | 0x3c00u;
    case BFLOAT16: return seed == 0 ? 0xffffu : ((unsigned int)word & 0x807fu) | 0x3f80u;
    }
    for (int byte = 0; byte < 1 << (element & 3); byte++) /* both runs of integer types go 1, 2, 4, 8 bytes */
        bits |= (u64)(unsigned char)random_word(seed, (index << (element & 3)) + (u64)byte) << 8 * byte;
    return bits;
}

/* Fills an output with poison. */
KERNEL hone_poison(void *data, u64 count, u64 row, u64 pitch, int element, u64 seed)
{
    u64 first = first_index();
    u64 stride = index_stride();
    if (element == FLOAT64) {
        for (u64 i = first; i < count; i += stride)
            ((u64 *)data)[place(i, row, pitch)] = poison_bits(FLOAT64, seed, i);
    } else if (element == FLOAT32) {
        for (u64 i = first; i < count; i += stride)
            ((unsigned int *)data)[place(i, row, pitch)] = (unsigned int)poison_bits(FLOAT32, seed, i);
    } else if (element == FLOAT16 || element == BFLOAT16) {
        for (u64 i = first; i < count; i += stride)
            ((unsigned short *)data)[place(i, row, pitch)] =
                (unsigned short)(element == FLOAT16 ? poison_bits(FLOAT16, seed, i) : poison_bits(BFLOAT16, seed, i));
    } else {
        int size = element & 3;
        for (u64 i = first; i < count << size; i += stride)
            ((unsigned char *)data)[place(i, row << size, pitch << size)] = (unsigned char)random_word(seed, i);
    }
}
