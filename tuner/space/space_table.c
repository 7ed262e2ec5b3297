/* SPDX-License-Identifier: MIT */
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

void hn_space_table_reserve(struct hn_space_table *table, uint64_t count)
{
    table->rows = hn_need_more(NULL, count * table->bytes + READ_BEYOND, 1);
    table->count = count;
}

void hn_space_table_put(struct hn_space_table *table, uint64_t row, const uint64_t *key)
{
    memcpy(table->rows + row * table->bytes, key, table->bytes);
}

void hn_space_table_row(const struct hn_space_table *table, uint64_t row, uint64_t *key)
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
    hn_space_table_row(table, row, key);
    hn_space_table_unpack(table, key, choice);
}

static int compare_keys(const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t i = 0; i < words; i++) {
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

uint64_t hn_space_table_lower(const struct hn_space_table *table, uint64_t row, uint64_t end,
                              const uint64_t *key)
{
    uint64_t found[table->words];
    while (row < end) {
        uint64_t middle = row + (end - row) / 2;
        hn_space_table_row(table, middle, found);
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
    for (uint64_t row = hn_space_table_lower(table, 0, table->count, lowest); row < table->count;
         row++) {
        size_t same = 0;
        hn_space_table_row(table, row, found);
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
    uint64_t row = hn_space_table_lower(table, 0, table->count, key);
    if (row == table->count)
        return UINT64_MAX;
    hn_space_table_row(table, row, found);
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
        row = hn_space_table_lower(table, row, table->count, trial);
        if (row == table->count)
            return;
        hn_space_table_row(table, row, found);
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
    for (uint64_t i = 1; i < count; i++) {
        if (compare_keys(keys + (i - 1) * words, keys + i * words, words) > 0)
            return false;
    }
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
