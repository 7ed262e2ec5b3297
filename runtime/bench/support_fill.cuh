/* SPDX-License-Identifier: MIT */
/* Contents of buffers: those that a plan asks for, and poison. */

enum fill_kind { UNIFORM, NORMAL, IOTA, CONSTANT, PERMUTATION, SKEWED, ZIPF, SORTED, CSR_ROWS, CSR_COLUMNS, TRANSPOSED };

/* What was left out must not be asked for: doing nothing would look like success. */
DEVICE void require_use(int element, int kind)
{
    if (!USES(ELEMENTS, element) || !USES(FILLS, kind))
        STOP();
}

/* A fill, with what its elements have in common. The host fills as this does, by the same text: a product and a sum are
 * one fma, because a compiler that may contract would else decide on the last bit. */
struct hone_recipe {
    double a, b;
    u64 seed;
    u64 count;
    u64 turned;             /* the rows of the elements' places, which are exchanged with its columns; 0: they are not */
    double entries, spread; /* of the rows in which columns are */
    u64 rows;
    u64 rows_seed;
    double low, high; /* of an integer type: tails of a normal distribution end there */
    int kind;
    int integer;
};

/* The first entry of a row of a sparse matrix: as many entries a row in the mean, and none of it further from its place than
 * half a spread of a row. */
DEVICE u64 row_start(double entries, double spread, u64 rows, u64 seed, u64 row)
{
    double place = fma(spread, unit(random_word(seed, row)) - 0.5, (double)row);
    return row == 0 ? 0 : (u64)(entries * (row < rows ? place : (double)rows));
}

/* One of `a` columns: those of a row ascend, and differ where there are enough. */
DEVICE double column_of(const struct hone_recipe *recipe, u64 entry, u64 word)
{
    double entries = recipe->entries;
    double spread = recipe->spread;
    u64 rows = recipe->rows;
    u64 columns = (u64)recipe->a;
    u64 row = (u64)((double)(entry + 1) / entries) + 2;
    row = row < rows ? row : rows - 1;
    while (row > 0 && row_start(entries, spread, rows, recipe->rows_seed, row) > entry)
        row--;
    u64 start = row_start(entries, spread, rows, recipe->rows_seed, row);
    u64 length = row_start(entries, spread, rows, recipe->rows_seed, row + 1) - start;
    u64 low = (entry - start) * columns / length;
    u64 high = (entry - start + 1) * columns / length;
    u64 column = low + (u64)((double)(high - low) * unit(word));
    return (double)(column < columns ? column : columns - 1);
}

DEVICE double whole_between(double low, double high, double share)
{
    return fmin(floor(fma(high - low + 1.0, share, low)), high);
}

DEVICE double fill_value(const struct hone_recipe *recipe, const struct zipf *zipf, u64 index)
{
    double a = recipe->a;
    double b = recipe->b;
    if (USES(FILLS, TRANSPOSED) && recipe->turned > 0)
        index = index % recipe->turned * (recipe->count / recipe->turned) + index / recipe->turned;
    u64 word = random_word(recipe->seed, index);
    double share = unit(word);
    if (USES(FILLS, CONSTANT) && recipe->kind == CONSTANT)
        return a;
    if (USES(FILLS, IOTA) && recipe->kind == IOTA)
        return fma(b, (double)index, a);
    if (USES(FILLS, NORMAL) && recipe->kind == NORMAL) {
        double value = fma(b * sqrt(-2.0 * natural_log(1.0 - share)), cosine_of_turns(unit(mix(word))), a);
        return recipe->integer ? fmin(fmax(value, recipe->low), recipe->high) : value;
    }
    if (USES(FILLS, PERMUTATION) && recipe->kind == PERMUTATION)
        return (double)permute(index, recipe->count, recipe->seed | 1);
    if (USES(FILLS, SKEWED) && recipe->kind == SKEWED)
        return share < b ? 0.0 : floor(a * unit(mix(word)));
    if (USES(FILLS, ZIPF) && recipe->kind == ZIPF)
        return draw_zipf(*zipf, word);
    if (USES(FILLS, CSR_ROWS) && recipe->kind == CSR_ROWS)
        return (double)row_start(a, b, recipe->count - 1, recipe->seed, index);
    if (USES(FILLS, CSR_COLUMNS) && recipe->kind == CSR_COLUMNS)
        return column_of(recipe, index, word);
    if (USES(FILLS, SORTED) && recipe->kind == SORTED) /* one in each of `count` equal parts */
        share = ((double)index + share) / (double)recipe->count;
    return recipe->integer ? whole_between(a, b, share) : fma(b - a, share, a);
}

DEVICE struct zipf zipf_of(const struct hone_recipe *recipe)
{
    struct zipf none = {0.0, 0.0, 0.0, 0.0, 0.0};
    return USES(FILLS, ZIPF) && recipe->kind == ZIPF ? prepare_zipf(recipe->a, recipe->b) : none;
}

/* Element i depends on seed and i only; the host mixes the argument's index into the seed. One loop for all types: each
 * copy of it would take a third of a second to compile, which every tune waits for. */
KERNEL hone_fill(void *data, u64 count, u64 row, u64 pitch, int element, struct hone_recipe recipe)
{
    struct zipf zipf = zipf_of(&recipe);
    require_use(element, recipe.kind);
    for (u64 i = first_index(); i < count; i += index_stride())
        store(data, place(i, row, pitch), element, fill_value(&recipe, &zipf, i));
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
    case FLOAT8_E4M3: return seed == 0 ? 0xffu : ((unsigned int)word & 0x87u) | 0x38u;
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
    } else if (element == FLOAT8_E4M3) {
        for (u64 i = first; i < count; i += stride)
            ((unsigned char *)data)[place(i, row, pitch)] = (unsigned char)poison_bits(FLOAT8_E4M3, seed, i);
    } else {
        int size = element & 3;
        for (u64 i = first; i < count << size; i += stride)
            ((unsigned char *)data)[place(i, row << size, pitch << size)] = (unsigned char)random_word(seed, i);
    }
}
