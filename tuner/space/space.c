/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/space/space_internal.h"

static const struct hn_space_limits limits = {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    20000, 100000, 1000, 10000, 50000, 20,
#else
    .points = 100000000,
    .steps = 1000000000,
    .enough_points = 1000000,
    .few_steps = 3000000,
    .many_steps = 60000000,
    .clearly_more = 20,
#endif
};

struct hn_space *hn_space_create(void)
{
    struct hn_space *space = hn_need(1, sizeof *space);
    space->limits = limits;
    pthread_mutex_init(&space->lock, NULL);
    return space;
}

/* With copies of the words among the values, which constraints can use. */
static void add_slot(struct hn_space *space, const char *name, const struct hn_value *values,
                     size_t count)
{
    assert(count > 0 && count <= UINT16_MAX);
    struct hn_space_parameter *made = HN_NEXT(space->parameters, space->slot_count);
    *made =
        (struct hn_space_parameter){hn_need_format(&space->memory, "%s", name),
                                    hn_need_block(&space->memory, count, sizeof *values), count};
    for (size_t i = 0; i < count; i++) {
        made->values[i] = values[i];
        if (values[i].type != HN_WORD)
            continue;
        hn_space_add_word(space, values[i].word);
        made->values[i].word = space->words[space->word_count - 1];
    }
}

void hn_space_add_parameter(struct hn_space *space, const char *name, const struct hn_value *values,
                            size_t value_count)
{
    assert(space->slot_count == space->parameter_count);
    add_slot(space, name, values, value_count);
    space->parameter_count++;
}

void hn_space_add_constant(struct hn_space *space, const char *name, const struct hn_value *value)
{
    add_slot(space, name, value, 1);
}

void hn_space_add_word(struct hn_space *space, const char *word)
{
    *HN_NEXT(space->words, space->word_count) = hn_need_format(&space->memory, "%s", word);
}

void hn_space_add_expression(struct hn_space *space, const struct hn_expression *expression,
                             const char *where)
{
    struct hn_space_constraint *made = HN_NEXT(space->constraints, space->constraint_count);
    made->where = where == NULL ? "" : hn_need_format(&space->memory, "%s: ", where);
    (void)hn_expression_copy(expression, &made->expression, NULL);
    hn_needed(made->expression);
}

size_t hn_space_parameter_count(const struct hn_space *space)
{
    return space->parameter_count;
}

const struct hn_space_parameter *hn_space_parameter(const struct hn_space *space, size_t parameter)
{
    return &space->parameters[parameter];
}

bool hn_space_is_numeric(const struct hn_space *space, size_t parameter)
{
    enum hn_value_type type = space->parameters[parameter].values[0].type;
    return type == HN_INTEGER || type == HN_REAL;
}

double hn_space_cartesian(const struct hn_space *space)
{
    double product = 1;
    for (size_t i = 0; i < space->parameter_count; i++)
        product *= (double)space->parameters[i].count;
    return product;
}

uint64_t hn_space_size(const struct hn_space *space)
{
    return space->size;
}

bool hn_space_enumerated(const struct hn_space *space)
{
    return space->size != UINT64_MAX;
}

double hn_space_valid(const struct hn_space *space, bool *exact)
{
    if (exact != NULL)
        *exact = space->exact;
    return space->valid;
}

const char *hn_space_count_text(const struct hn_space *space, char text[HN_SPACE_COUNT_TEXT])
{
    if (!isfinite(space->valid))
        snprintf(text, HN_SPACE_COUNT_TEXT, "more than 1e+308");
    else if (!space->exact)
        snprintf(text, HN_SPACE_COUNT_TEXT, "about %.2g", space->valid);
    else if (space->valid < 0x1p53)
        snprintf(text, HN_SPACE_COUNT_TEXT, "%.0f", space->valid);
    else
        snprintf(text, HN_SPACE_COUNT_TEXT, "%.15g", space->valid);
    return text;
}

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
    HN_EACH_OF(field, table->fields, table->field_count)
        choice[field->parameter] = (uint16_t)(key[field->word] >> field->shift & field->mask);
}

static void get_row(const struct hn_space_table *table, uint64_t row, uint16_t *choice)
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

static uint64_t find_first_row(const struct hn_space_table *table, const int *wanted)
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

static void list_values(const struct hn_space_table *table, const uint64_t *key, size_t parameter,
                        uint64_t *valid)
{
    const struct hn_space_field *field = hn_space_table_field(table, parameter);
    uint64_t trial[table->words], found[table->words];
    uint64_t rest = key[field->word] & ~(field->mask << field->shift);
    uint64_t from_here = field->mask << field->shift | (((uint64_t)1 << field->shift) - 1);
    uint64_t row = 0;
    memcpy(trial, key, sizeof trial);
    for (uint64_t index = 0; index <= field->mask;) {
        trial[field->word] = rest | index << field->shift;
        row = lower_row(table, row, table->count, trial);
        if (row == table->count)
            return;
        read_row(table, row, found);
        /* The fields before this one have to be the same. */
        if (compare_keys(found, trial, field->word) != 0 ||
            ((found[field->word] ^ trial[field->word]) & ~from_here) != 0)
            return;
        uint64_t next = found[field->word] >> field->shift & field->mask;
        if (compare_keys(found, trial, table->words) == 0)
            valid[index / 64] |= (uint64_t)1 << (index % 64);
        index = next > index ? next : index + 1; /* none is between */
    }
}

enum { BYTES = 8, DIGITS = 256 };

/* One stable pass of a radix sort. */
static void sort_by_byte(const uint64_t *from, uint64_t *to, uint64_t count, size_t words,
                         size_t word, unsigned shift, const uint64_t counts[DIGITS])
{
    uint64_t starts[DIGITS], start = 0;
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
    uint64_t ordered = 1;
    while (ordered < count &&
           compare_keys(*keys + (ordered - 1) * words, *keys + ordered * words, words) <= 0)
        ordered++;
    if (ordered >= count)
        return;
    uint64_t *other HN_FREED = hn_need_more(NULL, count * words, sizeof *other);
    for (size_t word = words; word-- > 0;) {
        /* How often each byte of the word has each value. */
        uint64_t counts[BYTES][DIGITS] = {{0}};
        for (uint64_t i = 0; i < count; i++) {
            uint64_t key = (*keys)[i * words + word];
            for (size_t byte = 0; byte < BYTES; byte++)
                counts[byte][key >> (8 * byte) & 0xff]++;
        }
        for (unsigned byte = 0; byte < BYTES; byte++) {
            if (counts[byte][(*keys)[word] >> (8 * byte) & 0xff] == count)
                continue; /* all the same */
            sort_by_byte(*keys, other, count, words, word, 8 * byte, counts[byte]);
            uint64_t *sorted = other;
            other = *keys;
            *keys = sorted;
        }
    }
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

/* The block's table; false when its points take too much. */
static bool init_block(struct hn_space *space, struct hn_space_block *block)
{
    size_t parameters[space->parameter_count + 1], count = 0;
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
    HN_EACH_OF(group, space->groups, space->group_count) {
        numbered = numbered && group->open == NULL;
        space->exact = space->exact && (group->open == NULL || group->open->counted);
        space->valid *= group->open == NULL ? (double)group->table.count : group->open->valid;
    }
    HN_EACH_OF(block, space->blocks, space->block_count) {
        for (size_t j = 0; j < block->group_count && numbered; j++)
            numbered = !__builtin_mul_overflow(
                block->count, space->groups[block->first_group + j].table.count, &block->count);
        numbered = numbered && !__builtin_mul_overflow(space->size, block->count, &space->size);
    }
    return numbered && space->size <= space->limits.points;
}

void hn_space_number(struct hn_space *space)
{
    size_t last = 0;
    space->blocks = hn_need_block(&space->memory, space->group_count, sizeof *space->blocks);
    /* Groups whose parameters alternate go into one block; groups are by their first parameter. */
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
    bool numbered = count_points(space);
    for (size_t i = 0; i < space->block_count && numbered; i++)
        if (space->blocks[i].group_count > 1)
            numbered = init_block(space, &space->blocks[i]);
    if (!numbered)
        space->size = UINT64_MAX;
}

/* Rows of the groups of a block that agree in the parameters so far. */
struct range {
    uint64_t first, end;
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
    uint64_t low = range->first, step = 1;
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

static const struct hn_space_table *block_table(const struct hn_space *space, size_t number)
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

void hn_space_point(const struct hn_space *space, uint64_t index, uint16_t *choice)
{
    memcpy(choice, space->fixed, space->parameter_count * sizeof *choice);
    for (size_t i = space->block_count; i-- > 0;) {
        const struct hn_space_table *table = block_table(space, i);
        get_row(table, index % table->count, choice);
        index /= table->count;
    }
}

/* Whether the indices in choice of a group's parameters are within their values. */
static bool group_has(const struct hn_space *space, const struct hn_space_group *group,
                      const uint16_t *choice)
{
    for (size_t i = 0; i < group->parameter_count; i++)
        if (choice[group->parameters[i]] >= space->parameters[group->parameters[i]].count)
            return false;
    return true;
}

/* Whether they are one of a group's combinations. */
static bool group_contains(const struct hn_space *space, size_t number, const uint16_t *choice)
{
    const struct hn_space_group *group = &space->groups[number];
    const struct hn_space_table *table = &group->table;
    if (!group_has(space, group, choice))
        return false;
    if (group->open != NULL)
        return hn_space_open_contains(group->open, choice);
    uint64_t key[table->words], found[table->words];
    hn_space_table_key(table, choice, key);
    uint64_t row = lower_row(table, 0, table->count, key);
    if (row == table->count)
        return false;
    read_row(table, row, found);
    return compare_keys(found, key, table->words) == 0;
}

/* How many parts of a point keep it from being valid, where 2 stands for more: parameters with
 * another value than their only one, and groups, of which *group is the last; SIZE_MAX: none. */
static size_t count_faults(const struct hn_space *space, const uint16_t *choice, size_t *group)
{
    size_t count = 0;
    *group = SIZE_MAX;
    for (size_t i = 0; i < space->parameter_count && count < 2; i++)
        count += space->group_of[i] == SIZE_MAX && choice[i] != space->fixed[i];
    for (size_t i = 0; i < space->group_count && count < 2; i++)
        if (!group_contains(space, i, choice)) {
            count++;
            *group = i;
        }
    return count;
}

bool hn_space_contains(const struct hn_space *space, const uint16_t *choice)
{
    if (space->building != NULL)
        return hn_space_admits(space, choice);
    size_t group;
    return space->size > 0 && count_faults(space, choice, &group) == 0;
}

void hn_space_sample(const struct hn_space *space, struct hn_random *random, uint16_t *choice)
{
    memcpy(choice, space->fixed, space->parameter_count * sizeof *choice);
    HN_EACH_OF(group, space->groups, space->group_count) {
        if (group->open != NULL)
            hn_space_open_draw(group->open, random, choice);
        else
            get_row(&group->table, hn_random_below(random, group->table.count), choice);
    }
}

bool hn_space_first(const struct hn_space *space, const int *wanted, uint16_t *choice)
{
    bool found = true;
    /* While it is built, the point that is wanted is the only candidate, where it leaves nothing
     * open. */
    for (size_t i = 0; space->building != NULL && i < space->parameter_count; i++) {
        if (wanted == NULL || wanted[i] < 0)
            return false;
        choice[i] = (uint16_t)wanted[i];
    }
    if (space->building != NULL)
        return hn_space_admits(space, choice);
    if (space->size == 0)
        return false;
    memcpy(choice, space->fixed, space->parameter_count * sizeof *choice);
    for (size_t i = 0; i < space->parameter_count && wanted != NULL; i++)
        if (space->group_of[i] == SIZE_MAX && wanted[i] >= 0 && wanted[i] != space->fixed[i])
            return false;
    /* the groups are independent: the first point is made of the first of each */
    for (size_t i = 0; i < space->group_count && found; i++) {
        const struct hn_space_group *group = &space->groups[i];
        uint64_t row = group->open != NULL ? 0 : find_first_row(&group->table, wanted);
        found = group->open != NULL ? hn_space_open_first(group->open, wanted, choice)
                                    : row != UINT64_MAX;
        if (found && group->open == NULL)
            get_row(&group->table, row, choice);
    }
    return found;
}

void hn_space_bindings(const struct hn_space *space, const uint16_t *choice,
                       struct hn_bindings *point)
{
    *point = (struct hn_bindings){0};
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct hn_space_parameter *parameter = &space->parameters[i];
        if (hn_bindings_set(point, parameter->name, &parameter->values[choice[i]], NULL) != HN_OK)
            hn_needed(NULL);
    }
}

static enum hn_status fail_unknown(const struct hn_space *space, const struct hn_bindings *point,
                                   struct hn_error *err)
{
    const char **names HN_FREED = hn_need(space->parameter_count, sizeof *names);
    for (size_t i = 0; i < space->parameter_count; i++)
        names[i] = space->parameters[i].name;
    for (size_t i = 0; i < point->count; i++) {
        if (hn_text_is_among(point->names[i], names, space->parameter_count))
            continue;
        struct hn_text known HN_ENDED_BY(hn_text_finish) = {0};
        hn_text_append_known(&known, point->names[i], names, space->parameter_count);
        return hn_fail(err, HN_ECONFIG, "unknown parameter '%s'%s", point->names[i], known.data);
    }
    return HN_ECONFIG;
}

static enum hn_status fail_other_value(const struct hn_space_parameter *parameter,
                                       const struct hn_value *value, struct hn_error *err)
{
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    hn_text_printf(&text, "'%s' has no value ", parameter->name);
    hn_value_append(&text, value);
    hn_text_append(&text, "; it has ");
    hn_values_append(&text, parameter->values, parameter->count);
    hn_fail(err, HN_ECONFIG, "%s", text.failed ? "out of memory" : text.data);
    return HN_ECONFIG;
}

enum hn_status hn_space_choice(const struct hn_space *space, const struct hn_bindings *point,
                               uint16_t *choice, struct hn_error *err)
{
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct hn_space_parameter *parameter = &space->parameters[i];
        const struct hn_value *value = hn_bindings_get(point, parameter->name);
        if (value == NULL && point->count >= space->parameter_count)
            return fail_unknown(space, point, err);
        if (value == NULL)
            return hn_fail(err, HN_ECONFIG, "parameter '%s' is missing", parameter->name);
        size_t index = 0;
        while (index < parameter->count && !hn_value_equal(&parameter->values[index], value))
            index++;
        if (index == parameter->count)
            return fail_other_value(parameter, value, err);
        choice[i] = (uint16_t)index;
    }
    return point->count > space->parameter_count ? fail_unknown(space, point, err) : HN_OK;
}

bool hn_space_has(const struct hn_space *space, const struct hn_bindings *point, uint16_t *choice)
{
    return hn_space_choice(space, point, choice, NULL) == HN_OK && hn_space_contains(space, choice);
}

size_t hn_space_neighbour_limit(const struct hn_space *space)
{
    size_t limit = 0;
    for (size_t i = 0; i < space->parameter_count; i++)
        limit += space->parameters[i].count - 1;
    return limit;
}

struct vicinity {
    const struct hn_space *space;
    const uint16_t *choice;
    enum hn_neighbourhood kind;
    uint16_t *neighbours;
    size_t count;
};

static void append(struct vicinity *vicinity, size_t parameter, size_t index)
{
    size_t count = vicinity->space->parameter_count;
    uint16_t *to = vicinity->neighbours + vicinity->count++ * count;
    memcpy(to, vicinity->choice, count * sizeof *to);
    to[parameter] = (uint16_t)index;
}

static void append_values(struct vicinity *vicinity, size_t parameter, const uint64_t *valid)
{
    size_t own = vicinity->choice[parameter], below = SIZE_MAX;
    size_t words = (vicinity->space->parameters[parameter].count + 63) / 64;
    bool adjacent = vicinity->kind == HN_ADJACENT;
    size_t index = hn_first_bit(valid, words, 0);
    for (; index < own; index = hn_first_bit(valid, words, index + 1)) {
        below = index;
        if (!adjacent)
            append(vicinity, parameter, index);
    }
    if (adjacent && below != SIZE_MAX)
        append(vicinity, parameter, below);
    index = hn_first_bit(valid, words, own + 1);
    for (; index != SIZE_MAX; index = adjacent ? SIZE_MAX : hn_first_bit(valid, words, index + 1))
        append(vicinity, parameter, index);
}

/* The indices of a parameter with which the group's others, as they are, are valid. */
static void find_values(const struct vicinity *vicinity, size_t number, size_t parameter,
                        uint64_t *valid)
{
    const struct hn_space *space = vicinity->space;
    const struct hn_space_group *group = &space->groups[number];
    const struct hn_space_table *table = &group->table;
    size_t count = space->parameters[parameter].count;
    uint16_t others[space->parameter_count];
    memcpy(others, vicinity->choice, sizeof others);
    others[parameter] = 0;
    memset(valid, 0, (count + 63) / 64 * sizeof *valid);
    if (!group_has(space, group, others))
        return;
    if (group->open != NULL) {
        hn_space_open_values(group->open, others, parameter, valid);
        return;
    }
    uint64_t key[table->words];
    hn_space_table_key(table, others, key);
    list_values(table, key, parameter, valid);
}

size_t hn_space_neighbours(const struct hn_space *space, const uint16_t *choice,
                           enum hn_neighbourhood kind, uint16_t *neighbours)
{
    struct vicinity vicinity = {space, choice, kind, neighbours, 0};
    size_t faulty, faults = count_faults(space, choice, &faulty);
    if (faults > 1)
        return 0;
    for (size_t i = 0; i < space->parameter_count; i++) {
        size_t group = space->group_of[i];
        if (group == SIZE_MAX) {
            if (choice[i] != space->fixed[i])
                append(&vicinity, i, space->fixed[i]);
            continue;
        }
        if (faults == 1 && faulty != group)
            continue;
        uint64_t valid[(space->parameters[i].count + 63) / 64];
        find_values(&vicinity, group, i, valid);
        append_values(&vicinity, i, valid);
    }
    return vicinity.count;
}
