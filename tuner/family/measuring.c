/* SPDX-License-Identifier: MIT */
#include "tuner/family/measuring.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "cache/store/store.h"
#include "tuner/config/config.h"
#include "tuner/session/rule_code.h"

enum hn_status hn_measuring_task(struct hn_measuring *measuring, const struct hn_bindings *problem,
                                 struct hn_task *task, struct hn_error *err)
{
    const struct hn_family_options *options = measuring->options;
    const struct hn_device *device = &options->workers->lead->device;
    enum hn_status status = hn_config_take_problem(measuring->config, problem, err);
    if (status == HN_OK)
        status = hn_task_make(measuring->config, 0, options->regime, HN_TASK_MEASURES, task, err);
    if (status == HN_OK)
        hn_task_set_device(task, &device->identity, device->driver, measuring->nvrtc);
    return status;
}

double hn_measuring_time(const struct hn_record *record)
{
    bool timed = record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_DUPLICATE ||
                 record->outcome == HN_OUTCOME_SLOWER;
    return timed && record->timing.median_us > 0 ? record->timing.median_us : NAN;
}

enum {
    POINT_SIZES = 8, /* a point that was measured at fewer was a step of one search */
    SIZE_POINTS = 4, /* fewer of the matrix' points at a size say little of it */
    MOST_SIZES = HN_MATRIX_SIZES * 3 / 4,
    MOST_POINTS = HN_MATRIX_POINTS * 3 / 4 /* searches are to add some */
};

struct known {
    struct hn_tuned_list list;
    struct hn_records *records; /* of each; none where it is not of the family */
};

static bool is_of_family(const struct hn_measuring *measuring, const struct hn_task *task,
                         const struct hn_tuned *tuned)
{
    const struct hn_identity *own = &task->identity, *other = &tuned->identity;
    return !tuned->simulated && !hn_origin_is_foreign(&tuned->origin) &&
           hn_version_equal(&task->version, &tuned->version) &&
           hn_device_identity_equal(&own->device, &other->device) &&
           strcmp(own->regime, other->regime) == 0 &&
           strcmp(own->objective, other->objective) == 0 &&
           hn_family_has(measuring->config->family, &other->problem);
}

static void read_known(const struct hn_measuring *measuring, const struct hn_task *task,
                       struct known *known, struct hn_error *err)
{
    struct hn_store *store = measuring->options->store;
    hn_store_list(store, HN_STORE_RESULTS, task->identity.kernel, NULL, &known->list, err);
    known->records = hn_need(known->list.count, sizeof *known->records);
    for (size_t i = 0; i < known->list.count && !hn_failed(err); i++) {
        const struct hn_tuned *tuned = &known->list.items[i];
        if (is_of_family(measuring, task, tuned))
            hn_store_load(store, &tuned->identity, &tuned->version, false, &known->records[i], err);
    }
}

/* Those that were measured at several sizes. */
static void recall_points(struct hn_measuring *measuring, const struct hn_space *space,
                          const struct known *known)
{
    struct hn_matrix *matrix = measuring->matrix;
    uint16_t choice[hn_space_parameter_count(space) + 1];
    struct hn_keys seen;
    unsigned *sizes = NULL; /* at which each was measured */
    memset(choice, 0, sizeof choice);
    hn_keys_init(&seen, sizeof choice);
    for (size_t i = 0; i < known->list.count; i++)
        for (size_t r = 0; r < known->records[i].count; r++) {
            const struct hn_record *record = &known->records[i].items[r];
            /* The config may no longer have all values of the point. */
            if (isnan(hn_measuring_time(record)) ||
                hn_space_choice(space, &record->point, choice, NULL) != HN_OK ||
                !hn_measuring_serves_all(measuring->config->plan, &record->point))
                continue;
            uint32_t before = seen.count, number = hn_keys_add(&seen, choice);
            sizes = hn_need_more(sizes, seen.count, sizeof *sizes);
            sizes[number] = seen.count > before ? 1 : sizes[number] + 1;
            if (sizes[number] == POINT_SIZES && matrix->point_count < MOST_POINTS)
                hn_matrix_add_point(matrix, &record->point);
        }
    hn_keys_finish(&seen);
    free(sizes);
}

static void recall_size(struct hn_measuring *measuring, const struct hn_bindings *problem,
                        const struct hn_records *known)
{
    struct hn_matrix *matrix = measuring->matrix;
    const struct hn_record *records[HN_MATRIX_POINTS];
    size_t count = 0;
    for (size_t p = 0; p < matrix->point_count; p++) {
        records[p] = NULL;
        for (size_t i = 0; i < known->count && records[p] == NULL; i++)
            if (!isnan(hn_measuring_time(&known->items[i])) &&
                hn_bindings_equal(&known->items[i].point, &matrix->points[p].values))
                records[p] = &known->items[i];
        count += records[p] != NULL;
    }
    if (count < SIZE_POINTS || matrix->size_count >= MOST_SIZES)
        return;
    size_t place = hn_matrix_add_size(matrix, problem, false);
    for (size_t p = 0; p < matrix->point_count && place != SIZE_MAX; p++) {
        if (records[p] == NULL || !isnan(matrix->times[p][place]))
            continue;
        matrix->times[p][place] = hn_measuring_time(records[p]);
        hn_matrix_see_occupancy(&matrix->points[p], records[p]->resources.occupancy);
        measuring->cell_count++;
    }
}

/* Those that would have been drawn stand for any size that may come. */
static void mark_drawn(struct hn_measuring *measuring, struct hn_error *err)
{
    uint64_t at = 0;
    struct hn_matrix *matrix = measuring->matrix;
    const struct hn_config *config = measuring->config;
    for (size_t i = 0; i < MOST_SIZES && !hn_failed(err); i++) {
        struct hn_bindings whole = hn_family_next(config->family, config->problems,
                                                  measuring->options->search.seed, &at, err);
        size_t size = hn_failed(err) ? SIZE_MAX : hn_matrix_find_size(matrix, &whole);
        if (size != SIZE_MAX)
            matrix->sizes[size].drawn = true;
        hn_bindings_finish(&whole);
    }
}

void hn_recall(struct hn_measuring *measuring, struct hn_error *err)
{
    struct known known = {.records = NULL};
    struct hn_task task;
    if (hn_failed(err) ||
        hn_measuring_task(measuring, &measuring->matrix->sizes[0].problem, &task, err) != HN_OK)
        return;
    read_known(measuring, &task, &known, err);
    if (!hn_failed(err)) {
        recall_points(measuring, task.space, &known);
        for (size_t i = 0; i < known.list.count; i++)
            recall_size(measuring, &known.list.items[i].identity.problem, &known.records[i]);
        mark_drawn(measuring, err);
    }
    for (size_t i = 0; i < known.list.count; i++)
        hn_records_free(&known.records[i]);
    free(known.records);
    hn_tuned_list_free(&known.list);
    hn_task_finish(&task);
}
