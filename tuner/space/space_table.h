/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SPACE_SPACE_TABLE_H
#define HONE_TUNER_SPACE_SPACE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Points over some parameters, for space*.c only: sorted, each packed into a key of a few bytes. */

/* Where a parameter's index is in a key: the first parameter in the highest bits of the first word. */
struct hn_space_field {
    size_t parameter;
    size_t word;
    unsigned shift;
    uint64_t mask;
};

struct hn_space_table {
    struct hn_space_field *fields; /* by parameter, ascending */
    size_t field_count;
    size_t words; /* of a key as it is handled */
    size_t bytes; /* of a key as it is kept */
    uint64_t last_mask;
    unsigned char *rows;
    uint64_t count;
};

/* values[p] is how many values parameter p has; parameters are ascending. HN_ENOMEM. */
enum hn_status hn_space_table_init(struct hn_space_table *table, const size_t *parameters, size_t parameter_count,
                                   const size_t *values, struct hn_error *err);
void hn_space_table_finish(struct hn_space_table *table);

/* The indices in choice are within their parameters' values. */
static inline void hn_space_table_key(const struct hn_space_table *table, const uint16_t *choice, uint64_t *key)
{
    for (size_t i = 0; i < table->words; i++)
        key[i] = 0;
    for (const struct hn_space_field *field = table->fields; field < table->fields + table->field_count; field++)
        key[field->word] |= (uint64_t)choice[field->parameter] << field->shift;
}

/* Where the parameter is in a key. */
static inline const struct hn_space_field *hn_space_table_field(const struct hn_space_table *table, size_t parameter)
{
    const struct hn_space_field *field = table->fields;
    while (field->parameter != parameter)
        field++;
    return field;
}

/* Sets the indices of the table's parameters in choice. */
void hn_space_table_unpack(const struct hn_space_table *table, const uint64_t *key, uint16_t *choice);

/* Takes `count` keys, one after another, in any order; frees them. HN_ENOMEM. */
enum hn_status hn_space_table_take(struct hn_space_table *table, uint64_t *keys, uint64_t count, struct hn_error *err);
/* Room for `count` keys, which hn_space_table_put then fills in ascending order. HN_ENOMEM. */
enum hn_status hn_space_table_reserve(struct hn_space_table *table, uint64_t count, struct hn_error *err);
void hn_space_table_put(struct hn_space_table *table, uint64_t row, const uint64_t *key);

void hn_space_table_row(const struct hn_space_table *table, uint64_t row, uint64_t *key);
void hn_space_table_get(const struct hn_space_table *table, uint64_t row, uint16_t *choice);
/* The row of a key, or UINT64_MAX. */
uint64_t hn_space_table_find(const struct hn_space_table *table, const uint64_t *key);
/* Sets the bits of the indices of a parameter with which the key, the rest as it is, has a row. */
void hn_space_table_values(const struct hn_space_table *table, const uint64_t *key, size_t parameter, uint64_t *valid);
/* The first row whose parameters' indices are those in wanted, each where it is not below 0; NULL: any. UINT64_MAX: none. */
uint64_t hn_space_table_first(const struct hn_space_table *table, const int *wanted);
/* The first row from `row` on whose key is not below `key`. */
uint64_t hn_space_table_lower(const struct hn_space_table *table, uint64_t row, uint64_t end, const uint64_t *key);

#endif
