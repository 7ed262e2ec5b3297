/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include "tuner/space/space_internal.h"

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

/* False when the product is beyond 64 bits. */
static bool multiply(uint64_t *product, uint64_t factor)
{
    return !__builtin_mul_overflow(*product, factor, product);
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
    hn_space_table_reserve(&block->table, block->count);
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
            numbered = multiply(&block->count, space->groups[block->first_group + j].table.count);
        numbered = numbered && multiply(&space->size, block->count);
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
    hn_space_table_row(table, row, key);
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
        hn_space_table_put(table, filling->row++, key);
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
