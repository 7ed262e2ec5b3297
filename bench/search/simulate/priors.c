/* SPDX-License-Identifier: MIT */
#include "bench/search/simulate/priors.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { NONE = UINT16_MAX };

/* For each parameter of a space the parameter of the source, and for each value of that the index
 * of the same value in the space. */
struct translation {
    size_t *parameters; /* SIZE_MAX: the source lacks it, and it has one value */
    uint16_t **values;
    size_t count;
};

static const struct hn_table_parameter *find_parameter(const struct hn_recording_table *table,
                                                       const char *name)
{
    for (size_t i = 0; i < table->parameter_count; i++)
        if (strcmp(table->parameters[i].name, name) == 0)
            return &table->parameters[i];
    return NULL;
}

static bool same_value(const struct hn_value *a, const struct hn_value *b)
{
    if (a->type == HN_WORD || b->type == HN_WORD)
        return hn_value_equal(a, b);
    return hn_value_number(a) == hn_value_number(b);
}

/* Whether the parameters that matter are the same. */
static bool comparable(const struct hn_recording_table *table,
                       const struct hn_recording_table *source)
{
    for (size_t i = 0; i < table->parameter_count; i++)
        if (table->parameters[i].count > 1 &&
            find_parameter(source, table->parameters[i].name) == NULL)
            return false;
    for (size_t i = 0; i < source->parameter_count; i++)
        if (source->parameters[i].count > 1 &&
            find_parameter(table, source->parameters[i].name) == NULL)
            return false;
    return true;
}

static uint16_t *translate_values(const struct hn_table_parameter *from,
                                  const struct hn_table_parameter *to)
{
    uint16_t *values = hn_need(from->count, sizeof *values);
    for (size_t i = 0; i < from->count; i++) {
        values[i] = NONE;
        for (size_t j = 0; j < to->count && values[i] == NONE; j++)
            if (same_value(&from->values[i], &to->values[j]))
                values[i] = (uint16_t)j;
    }
    return values;
}

static struct translation make_translation(const struct hn_recording_table *table,
                                           const struct hn_recording_table *source)
{
    size_t count = table->parameter_count;
    struct translation translation = {hn_need(count, sizeof *translation.parameters),
                                      hn_need(count, sizeof *translation.values), count};
    for (size_t i = 0; i < count; i++) {
        const struct hn_table_parameter *found = find_parameter(source, table->parameters[i].name);
        translation.parameters[i] = found != NULL ? (size_t)(found - source->parameters) : SIZE_MAX;
        if (found != NULL)
            translation.values[i] = translate_values(found, &table->parameters[i]);
    }
    return translation;
}

/* False when the row is no point of the space. */
static bool translate(const struct translation *translation, const struct hn_recorded *recorded,
                      const uint16_t *from, uint16_t *choice)
{
    for (size_t i = 0; i < translation->count; i++) {
        size_t parameter = translation->parameters[i];
        choice[i] = parameter == SIZE_MAX ? 0 : translation->values[i][from[parameter]];
        if (choice[i] == NONE)
            return false;
    }
    return number_of_point(recorded->space, choice) != UINT64_MAX;
}

static void add_source(const struct hn_recorded *recorded, const struct hn_recorded *source,
                       unsigned number, struct hn_priors *priors)
{
    const struct hn_recording_table *table = &recorded->table;
    const struct hn_recording_table *from = &source->table;
    struct translation translation = make_translation(table, from);
    for (size_t i = 0; i < from->row_count; i++) {
        uint16_t *choice = priors->choices + priors->count * table->parameter_count;
        if (!translate(&translation, recorded, from->choices + i * from->parameter_count, choice))
            continue;
        priors->items[priors->count++] = (struct hn_prior){
            .choice = choice, .observation = source->observations[i], .source = number};
    }
    HN_FREE_EACH(values, translation.values, translation.count, free(*values));
    free(translation.parameters);
}

void hn_priors_finish(struct hn_priors *priors)
{
    free(priors->items);
    free(priors->choices);
    *priors = (struct hn_priors){.count = 0};
}

void hn_priors_make(const struct hn_recorded *recorded, const struct hn_recorded *sources,
                    size_t count, struct hn_priors *priors)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        most += sources[i].table.row_count;
    *priors = (struct hn_priors){
        .items = hn_need(most, sizeof *priors->items),
        .choices = hn_need((most + 1) * recorded->table.parameter_count, sizeof *priors->choices),
    };
    for (size_t i = 0; i < count; i++)
        if (strcmp(sources[i].name, recorded->name) != 0 &&
            comparable(&recorded->table, &sources[i].table))
            add_source(recorded, &sources[i], (unsigned)i, priors);
}
