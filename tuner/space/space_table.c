/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/space/space_internal.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "keys are kept without their high bytes");

/* Keys are read eight bytes at a time, the last one beyond its end. */
enum { READ_BEYOND = 8 };

static unsigned bits_of(size_t values)
{
    unsigned bits = 0;
    while (values > (size_t)1 << bits)
        bits++;
    return bits;
}

void hn_space_table_init(struct hn_space_table *table, const struct hn_space *space,
                         const size_t *parameters, size_t parameter_count)
{
    memset(table, 0, sizeof *table);
    table->fields = hn_need(parameter_count, sizeof *table->fields);
    table->field_count = parameter_count;
    table->words = 1;
    unsigned used = 0;
    for (size_t i = 0; i < parameter_count; i++) {
        unsigned bits = bits_of(space->parameters[parameters[i]].count);
        if (used + bits > 64) {
            table->words++;
            used = 0;
        }
        used += bits;
        table->fields[i] = (struct hn_space_field){
            .parameter = parameters[i],
            .word = table->words - 1,
            .mask = ((uint64_t)1 << bits) - 1,
        };
    }
    unsigned shift = 0;
    for (size_t i = parameter_count; i-- > 0;) {
        bool is_last =
            i + 1 == parameter_count || table->fields[i + 1].word != table->fields[i].word;
        shift = is_last ? 0 : shift;
        table->fields[i].shift = shift;
        shift += bits_of(space->parameters[parameters[i]].count);
    }
    table->bytes = 8 * (table->words - 1) + (used + 7) / 8;
    table->last_mask = used == 64 ? UINT64_MAX : ((uint64_t)1 << used) - 1;
}

void hn_space_table_finish(struct hn_space_table *table)
{
    free(table->fields);
    free(table->rows);
    memset(table, 0, sizeof *table);
}

static void read_row(const struct hn_space_table *table, uint64_t row, uint64_t *key)
{
    memcpy(key, table->rows + row * table->bytes, 8 * table->words);
    key[table->words - 1] &= table->last_mask;
}

void hn_space_table_unpack(const struct hn_space_table *table, const uint64_t *key,
                           uint16_t *choice)
{
    for (size_t i = 0; i < table->field_count; i++) {
        const struct hn_space_field *field = &table->fields[i];
        choice[field->parameter] = (uint16_t)(key[field->word] >> field->shift & field->mask);
    }
}

void hn_space_table_get(const struct hn_space_table *table, uint64_t row, uint16_t *choice)
{
    uint64_t key[table->words];
    read_row(table, row, key);
    hn_space_table_unpack(table, key, choice);
}

static int compare_keys(const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* The first row from `row` on whose key is not below `key`. */
static uint64_t lower_row(const struct hn_space_table *table, uint64_t row, uint64_t end,
                          const uint64_t *key)
{
    uint64_t found[table->words];
    while (row < end) {
        uint64_t middle = row + (end - row) / 2;
        read_row(table, middle, found);
        if (compare_keys(found, key, table->words) < 0)
            row = middle + 1;
        else
            end = middle;
    }
    return row;
}

uint64_t hn_space_table_first(const struct hn_space_table *table, const int *wanted)
{
    uint64_t lowest[table->words], highest[table->words], mask[table->words], found[table->words];
    memset(lowest, 0, sizeof lowest);
    memset(highest, 0xff, sizeof highest);
    memset(mask, 0, sizeof mask);
    for (size_t i = 0; wanted != NULL && i < table->field_count; i++) {
        const struct hn_space_field *field = &table->fields[i];
        if (wanted[field->parameter] < 0)
            continue;
        uint64_t bits = (uint64_t)wanted[field->parameter] << field->shift;
        mask[field->word] |= field->mask << field->shift;
        lowest[field->word] |= bits;
        highest[field->word] &= ~(field->mask << field->shift) | bits;
    }
    /* Rows are sorted: what is wanted is between the two. */
    for (uint64_t row = lower_row(table, 0, table->count, lowest); row < table->count; row++) {
        size_t same = 0;
        read_row(table, row, found);
        if (compare_keys(found, highest, table->words) > 0)
            break;
        while (same < table->words && (found[same] & mask[same]) == lowest[same])
            same++;
        if (same == table->words)
            return row;
    }
    return UINT64_MAX;
}

uint64_t hn_space_table_find(const struct hn_space_table *table, const uint64_t *key)
{
    uint64_t found[table->words];
    uint64_t row = lower_row(table, 0, table->count, key);
    if (row == table->count)
        return UINT64_MAX;
    read_row(table, row, found);
    return compare_keys(found, key, table->words) == 0 ? row : UINT64_MAX;
}

/* Whether the fields before this one are the same. */
static bool same_before(const uint64_t *a, const uint64_t *b, const struct hn_space_field *field)
{
    uint64_t from_here = field->mask << field->shift | (((uint64_t)1 << field->shift) - 1);
    return compare_keys(a, b, field->word) == 0 &&
           ((a[field->word] ^ b[field->word]) & ~from_here) == 0;
}

void hn_space_table_values(const struct hn_space_table *table, const uint64_t *key,
                           size_t parameter, uint64_t *valid)
{
    const struct hn_space_field *field = hn_space_table_field(table, parameter);
    uint64_t trial[table->words], found[table->words];
    uint64_t rest = key[field->word] & ~(field->mask << field->shift);
    uint64_t row = 0;
    memcpy(trial, key, sizeof trial);
    for (uint64_t index = 0; index <= field->mask;) {
        trial[field->word] = rest | index << field->shift;
        row = lower_row(table, row, table->count, trial);
        if (row == table->count)
            return;
        read_row(table, row, found);
        if (!same_before(found, trial, field))
            return;
        uint64_t next = found[field->word] >> field->shift & field->mask;
        if (compare_keys(found, trial, table->words) == 0)
            valid[index / 64] |= (uint64_t)1 << (index % 64);
        index = next > index ? next : index + 1; /* none is between */
    }
}

static bool is_sorted(const uint64_t *keys, uint64_t count, size_t words)
{
    for (uint64_t i = 1; i < count; i++)
        if (compare_keys(keys + (i - 1) * words, keys + i * words, words) > 0)
            return false;
    return true;
}

enum { BYTES = 8, DIGITS = 256 };

/* How often each byte of the word has each value. */
static void count_bytes(const uint64_t *keys, uint64_t count, size_t words, size_t word,
                        uint64_t counts[BYTES][DIGITS])
{
    memset(counts, 0, BYTES * sizeof *counts);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = keys[i * words + word];
        for (size_t byte = 0; byte < BYTES; byte++)
            counts[byte][key >> (8 * byte) & 0xff]++;
    }
}

/* One stable pass of a radix sort. */
static void sort_by_byte(const uint64_t *from, uint64_t *to, uint64_t count, size_t words,
                         size_t word, unsigned shift, const uint64_t counts[DIGITS])
{
    uint64_t starts[DIGITS];
    uint64_t start = 0;
    for (size_t i = 0; i < DIGITS; i++) {
        starts[i] = start;
        start += counts[i];
    }
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t *key = from + i * words;
        uint64_t place = starts[key[word] >> shift & 0xff]++;
        for (size_t j = 0; j < words; j++)
            to[place * words + j] = key[j];
    }
}

static void sort_keys(uint64_t **keys, uint64_t count, size_t words)
{
    if (is_sorted(*keys, count, words))
        return;
    uint64_t *other = hn_need_more(NULL, count * words, sizeof *other);
    uint64_t counts[BYTES][DIGITS];
    for (size_t word = words; word-- > 0;) {
        count_bytes(*keys, count, words, word, counts);
        for (unsigned byte = 0; byte < BYTES; byte++) {
            if (counts[byte][(*keys)[word] >> (8 * byte) & 0xff] == count)
                continue; /* all the same */
            sort_by_byte(*keys, other, count, words, word, 8 * byte, counts[byte]);
            uint64_t *sorted = other;
            other = *keys;
            *keys = sorted;
        }
    }
    free(other);
}

void hn_space_table_take(struct hn_space_table *table, uint64_t *keys, uint64_t count)
{
    sort_keys(&keys, count, table->words);
    for (uint64_t i = 0; i < count; i++)
        memmove((unsigned char *)keys + i * table->bytes, keys + i * table->words, table->bytes);
    table->rows = hn_need_more(keys, count * table->bytes + READ_BEYOND, 1);
    table->count = count;
}

/* Points are numbered block by block, like the digits of a number. */

static const uint64_t most_bytes = (uint64_t)2 << 30;

static size_t last_parameter(const struct hn_space_group *group)
{
    return group->parameters[group->parameter_count - 1];
}

/* Groups whose parameters alternate go into one block; groups are by their first parameter. */
static void make_blocks(struct hn_space *space)
{
    size_t last = 0;
    for (size_t i = 0; i < space->group_count; i++) {
        const struct hn_space_group *group = &space->groups[i];
        if (i == 0 || group->parameters[0] > last) {
            space->blocks[space->block_count++] =
                (struct hn_space_block){.first_group = i, .count = 1};
            last = last_parameter(group);
        }
        space->blocks[space->block_count - 1].group_count++;
        if (last_parameter(group) > last)
            last = last_parameter(group);
    }
}

/* The block's table; false when its points take too much. */
static bool init_block(struct hn_space *space, struct hn_space_block *block)
{
    size_t parameters[space->parameter_count + 1];
    size_t count = 0;
    for (size_t i = 0; i < space->parameter_count; i++) {
        size_t group = space->group_of[i];
        if (group != SIZE_MAX && group >= block->first_group &&
            group < block->first_group + block->group_count)
            parameters[count++] = i;
    }
    hn_space_table_init(&block->table, space, parameters, count);
    if (block->count > most_bytes / (block->table.bytes + 1))
        return false;
    block->table.rows = hn_need_more(NULL, block->count * block->table.bytes + READ_BEYOND, 1);
    block->table.count = block->count;
    return true;
}

/* Counts the points; false when they are too many to be numbered. */
static bool count_points(struct hn_space *space)
{
    bool numbered = true;
    space->valid = 1;
    space->exact = true;
    space->size = 1;
    for (size_t i = 0; i < space->group_count; i++) {
        const struct hn_space_group *group = &space->groups[i];
        numbered = numbered && group->open == NULL;
        space->exact = space->exact && (group->open == NULL || group->open->counted);
        space->valid *= group->open == NULL ? (double)group->table.count : group->open->valid;
    }
    for (size_t i = 0; i < space->block_count; i++) {
        struct hn_space_block *block = &space->blocks[i];
        for (size_t j = 0; j < block->group_count && numbered; j++)
            numbered = !__builtin_mul_overflow(
                block->count, space->groups[block->first_group + j].table.count, &block->count);
        numbered = numbered && !__builtin_mul_overflow(space->size, block->count, &space->size);
    }
    return numbered && space->size <= space->limits.points;
}

void hn_space_number(struct hn_space *space)
{
    space->blocks = hn_need(space->group_count, sizeof *space->blocks);
    make_blocks(space);
    bool numbered = count_points(space);
    for (size_t i = 0; i < space->block_count && numbered; i++)
        if (space->blocks[i].group_count > 1)
            numbered = init_block(space, &space->blocks[i]);
    if (!numbered)
        space->size = UINT64_MAX;
}

/* Rows of the groups of a block that agree in the parameters so far. */
struct range {
    uint64_t first;
    uint64_t end;
};

struct filling {
    const struct hn_space *space;
    struct hn_space_block *block;
    struct range *ranges; /* by group of the block */
    uint16_t *choice;
    uint64_t row;
};

static uint64_t word_of(const struct hn_space_table *table, uint64_t row, size_t word)
{
    uint64_t key[table->words];
    read_row(table, row, key);
    return key[word];
}

/* The end of the rows that have the same index in the field as the range's first one. All of the
 * range agree in the fields before. */
static uint64_t end_of_same(const struct hn_space_table *table, const struct range *range,
                            const struct hn_space_field *field)
{
    uint64_t most = word_of(table, range->first, field->word) | (((uint64_t)1 << field->shift) - 1);
    uint64_t low = range->first;
    uint64_t step = 1;
    while (low + step < range->end && word_of(table, low + step, field->word) <= most) {
        low += step;
        step *= 2;
    }
    uint64_t high = low + step < range->end ? low + step : range->end;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (word_of(table, middle, field->word) <= most)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The groups are independent, so that every value that a group has left goes with all that the
 * others have. */
static void fill(struct filling *filling, size_t depth)
{
    struct hn_space_table *table = &filling->block->table;
    if (depth == table->field_count) {
        uint64_t key[table->words];
        hn_space_table_key(table, filling->choice, key);
        memcpy(table->rows + filling->row++ * table->bytes, key, table->bytes);
        return;
    }
    size_t parameter = table->fields[depth].parameter;
    size_t number = filling->space->group_of[parameter];
    const struct hn_space_table *group = &filling->space->groups[number].table;
    const struct hn_space_field *field = hn_space_table_field(group, parameter);
    struct range *range = &filling->ranges[number - filling->block->first_group];
    const struct range all = *range;
    while (range->first < all.end) {
        range->end = all.end;
        range->end = end_of_same(group, range, field);
        uint64_t next = range->end;
        filling->choice[parameter] =
            (uint16_t)(word_of(group, range->first, field->word) >> field->shift & field->mask);
        fill(filling, depth + 1);
        range->first = next;
    }
    *range = all;
}

static void fill_block(const struct hn_space *space, struct hn_space_block *block)
{
    struct range ranges[block->group_count];
    uint16_t choice[space->parameter_count];
    for (size_t i = 0; i < block->group_count; i++)
        ranges[i] = (struct range){0, space->groups[block->first_group + i].table.count};
    struct filling filling = {.space = space, .block = block, .ranges = ranges, .choice = choice};
    fill(&filling, 0);
}

const struct hn_space_table *hn_space_block_table(const struct hn_space *space, size_t number)
{
    struct hn_space *own = (struct hn_space *)space;
    struct hn_space_block *block = &own->blocks[number];
    if (block->group_count == 1)
        return &space->groups[block->first_group].table;
    if (!atomic_load_explicit(&block->filled, memory_order_acquire)) {
        pthread_mutex_lock(&own->lock);
        if (!atomic_load_explicit(&block->filled, memory_order_relaxed))
            fill_block(space, block);
        atomic_store_explicit(&block->filled, true, memory_order_release);
        pthread_mutex_unlock(&own->lock);
    }
    return &block->table;
}
