/* SPDX-License-Identifier: MIT */
#include "bench/search/simulate/priors.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT16_MAX };

/* For each parameter of a space the parameter of the source, and for each value of that the index
 * of the same value in the space. */
struct translation {
    size_t *parameters; /* SIZE_MAX: the source lacks it, and it has one value */
    uint16_t **values;
    size_t count;
};

static void free_translation(struct translation *translation)
{
    for (size_t i = 0; translation->values != NULL && i < translation->count; i++)
        free(translation->values[i]);
    free(translation->values);
    free(translation->parameters);
}

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

static enum hn_status translate_values(const struct hn_table_parameter *from,
                                       const struct hn_table_parameter *to, uint16_t **values,
                                       struct hn_error *err)
{
    *values = malloc((from->count + 1) * sizeof **values);
    if (*values == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < from->count; i++) {
        (*values)[i] = NONE;
        for (size_t j = 0; j < to->count && (*values)[i] == NONE; j++)
            if (same_value(&from->values[i], &to->values[j]))
                (*values)[i] = (uint16_t)j;
    }
    return HN_OK;
}

static enum hn_status make_translation(const struct hn_recording_table *table,
                                       const struct hn_recording_table *source,
                                       struct translation *translation, struct hn_error *err)
{
    translation->count = table->parameter_count;
    translation->parameters = calloc(table->parameter_count, sizeof *translation->parameters);
    translation->values = calloc(table->parameter_count, sizeof *translation->values);
    if (translation->parameters == NULL || translation->values == NULL)
        return hn_fail_memory(err);
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < table->parameter_count; i++) {
        const struct hn_table_parameter *found = find_parameter(source, table->parameters[i].name);
        translation->parameters[i] =
            found != NULL ? (size_t)(found - source->parameters) : SIZE_MAX;
        if (found != NULL)
            status = translate_values(found, &table->parameters[i], &translation->values[i], err);
    }
    return status;
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

static enum hn_status add_source(const struct hn_recorded *recorded,
                                 const struct hn_recorded *source, unsigned number,
                                 struct hn_priors *priors, struct hn_error *err)
{
    const struct hn_recording_table *table = &recorded->table;
    const struct hn_recording_table *from = &source->table;
    struct translation translation = {.count = 0};
    enum hn_status status = make_translation(table, from, &translation, err);
    for (size_t i = 0; status == HN_OK && i < from->row_count; i++) {
        uint16_t *choice = priors->choices + priors->count * table->parameter_count;
        if (!translate(&translation, recorded, from->choices + i * from->parameter_count, choice))
            continue;
        priors->items[priors->count++] = (struct hn_prior){
            .choice = choice, .observation = source->observations[i], .source = number};
    }
    free_translation(&translation);
    return status;
}

void hn_priors_finish(struct hn_priors *priors)
{
    free(priors->items);
    free(priors->choices);
    *priors = (struct hn_priors){.count = 0};
}

enum hn_status hn_priors_make(const struct hn_recorded *recorded, const struct hn_recorded *sources,
                              size_t count, struct hn_priors *priors, struct hn_error *err)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        most += sources[i].table.row_count;
    *priors = (struct hn_priors){
        .items = calloc(most + 1, sizeof *priors->items),
        .choices = calloc((most + 1) * recorded->table.parameter_count, sizeof *priors->choices),
    };
    enum hn_status status = HN_OK;
    if (priors->items == NULL || priors->choices == NULL)
        status = hn_fail_memory(err);
    for (size_t i = 0; status == HN_OK && i < count; i++)
        if (strcmp(sources[i].name, recorded->name) != 0 &&
            comparable(&recorded->table, &sources[i].table))
            status = add_source(recorded, &sources[i], (unsigned)i, priors, err);
    if (status != HN_OK)
        hn_priors_finish(priors);
    return status;
}
