/* SPDX-License-Identifier: MIT */
#include "bench/search/simulate/recorded.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void hn_recorded_finish(struct hn_recorded *recorded)
{
    free(recorded->name);
    free(recorded->row_of_point);
    free(recorded->observations);
    hn_space_destroy(recorded->space);
    hn_recording_table_finish(&recorded->table);
    *recorded = (struct hn_recorded){.name = NULL};
}

static void cut_ending(char *name, const char *ending)
{
    size_t length = strlen(name);
    size_t cut = strlen(ending);
    if (length > cut && strcmp(name + length - cut, ending) == 0)
        name[length - cut] = '\0';
}

static char *space_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = hn_need_copy(slash != NULL ? slash + 1 : path);
    cut_ending(name, ".gz");
    cut_ending(name, ".json");
    return name;
}

static enum hn_status build_space(struct hn_recorded *recorded, struct hn_error *err)
{
    const struct hn_recording_table *table = &recorded->table;
    recorded->space = hn_space_create();
    for (size_t i = 0; i < table->parameter_count; i++)
        hn_space_add_parameter(recorded->space, table->parameters[i].name,
                               table->parameters[i].values, table->parameters[i].count);
    return hn_space_build_from(recorded->space, table->choices, table->row_count, err);
}

static void index_rows(struct hn_recorded *recorded)
{
    const struct hn_recording_table *table = &recorded->table;
    recorded->row_of_point = hn_need(table->row_count, sizeof *recorded->row_of_point);
    recorded->observations = hn_need(table->row_count, sizeof *recorded->observations);
    for (size_t i = 0; i < table->row_count; i++) {
        const struct hn_table_row *row = &table->rows[i];
        uint64_t point =
            number_of_point(recorded->space, table->choices + i * table->parameter_count);
        recorded->row_of_point[point] = (uint32_t)i;
        recorded->observations[i] = (struct hn_observation){
            .outcome = row->outcome,
            .cost = row->time_ms * 1000,
            .resources = row->resources.known ? &row->resources : NULL,
        };
    }
}

enum hn_status hn_recorded_load(const char *path, struct hn_recorded *recorded,
                                struct hn_error *err)
{
    struct hn_error reason = {0};
    *recorded = (struct hn_recorded){.name = space_name(path)};
    enum hn_status status = hn_recording_table_load(path, &recorded->table, err);
    if (status == HN_OK) {
        status = build_space(recorded, &reason);
        if (status == HN_OK)
            index_rows(recorded);
        else
            hn_fail(err, status, "'%s': %.3000s", path, reason.message);
    }
    if (status != HN_OK)
        hn_recorded_finish(recorded);
    return status;
}
