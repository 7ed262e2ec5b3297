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

/* Fills an output with what no kernel writes: NaN for reals where seed is 0; otherwise bits that depend on seed and
 * place, of a magnitude from 1 to 2 for reals. */
KERNEL hone_poison(void *data, u64 count, u64 row, u64 pitch, int element, u64 seed)
{
    u64 first = first_index();
    u64 stride = index_stride();
    if (element == FLOAT64) {
        for (u64 i = first; i < count; i += stride)
            ((u64 *)data)[place(i, row, pitch)] =
                seed == 0 ? NOWHERE : (random_word(seed, i) & 0x800fffffffffffffull) | 0x3ff0000000000000ull;
    } else if (element == FLOAT32) {
        for (u64 i = first; i < count; i += stride)
            ((unsigned int *)data)[place(i, row, pitch)] =
                seed == 0 ? 0xffffffffu : ((unsigned int)random_word(seed, i) & 0x807fffffu) | 0x3f800000u;
    } else if (element == FLOAT16 || element == BFLOAT16) {
        unsigned int kept = element == FLOAT16 ? 0x83ffu : 0x807fu;
        unsigned int one = element == FLOAT16 ? 0x3c00u : 0x3f80u;
        for (u64 i = first; i < count; i += stride)
            ((unsigned short *)data)[place(i, row, pitch)] =
                (unsigned short)(seed == 0 ? 0xffffu : ((unsigned int)random_word(seed, i) & kept) | one);
    } else {
        int size = element & 3; /* both runs of integer types go 1, 2, 4, 8 bytes */
        for (u64 i = first; i < count << size; i += stride)
            ((unsigned char *)data)[place(i, row << size, pitch << size)] = (unsigned char)random_word(seed, i);
    }
}
