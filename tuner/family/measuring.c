/* SPDX-License-Identifier: MIT */
#include "tuner/family/measuring.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum hn_status hn_measuring_task(struct hn_measuring *measuring, const struct hn_bindings *problem,
                                 struct hn_task *task, struct hn_error *err)
{
    const struct hn_family_options *options = measuring->options;
    const struct hn_device *device = &options->workers->lead->device;
    if (hn_config_take_problem(measuring->config, problem, err) == HN_OK &&
        hn_task_make(measuring->config, 0, options->regime, HN_TASK_MEASURES, task, err) == HN_OK)
        hn_task_set_device(task, &device->identity, device->driver, measuring->nvrtc);
    return err->status;
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

static bool is_of_family(const struct hn_measuring *measuring, const struct hn_task *task,
                         const struct hn_tuned *tuned)
{
    const struct hn_identity *own = &task->identity, *other = &tuned->identity;
    return !tuned->simulated && !hn_origin_is_foreign(&tuned->origin) &&
           hn_version_equal(&task->version, &tuned->version) &&
           hn_device_identity_equal(&own->device, &other->device) &&
           strcmp(own->regime, other->regime) == 0 &&
           strcmp(own->objective, other->objective) == 0 &&
           hn_family_has(measuring->config->family, &other->problem, NULL);
}

/* Those that were measured at several sizes. */
static void recall_points(struct hn_measuring *measuring, const struct hn_space *space,
                          const struct hn_records *known, size_t count)
{
    struct hn_matrix *matrix = measuring->matrix;
    uint16_t choice[hn_space_parameter_count(space) + 1];
    struct hn_keys seen = {.stride = sizeof choice};
    unsigned *sizes HN_FREED = NULL; /* at which each was measured */
    memset(choice, 0, sizeof choice);
    for (size_t i = 0; i < count; i++)
        for (size_t r = 0; r < known[i].count; r++) {
            const struct hn_record *record = &known[i].items[r];
            /* The config may no longer have all values of the point. */
            if (isnan(hn_measuring_time(record)) ||
                hn_space_choice(space, &record->point, choice, NULL) != HN_OK ||
                !hn_plan_serves_all(measuring->config->plan, &record->point))
                continue;
            uint32_t before = seen.count, number = hn_keys_add(&seen, choice);
            sizes = hn_need_more(sizes, seen.count, sizeof *sizes);
            sizes[number] = seen.count > before ? 1 : sizes[number] + 1;
            if (sizes[number] == POINT_SIZES && matrix->point_count < MOST_POINTS)
                hn_matrix_add_point(matrix, &record->point);
        }
    hn_keys_finish(&seen);
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
            if (hn_bindings_equal(&known->items[i].point, &matrix->points[p].values)) {
                hn_matrix_tell(&matrix->points[p], &known->items[i]);
                records[p] = isnan(hn_measuring_time(&known->items[i])) ? NULL : &known->items[i];
            }
        count += records[p] != NULL;
    }
    if (count < SIZE_POINTS || matrix->size_count >= MOST_SIZES)
        return;
    size_t place = hn_matrix_add_size(matrix, problem, false);
    for (size_t p = 0; p < matrix->point_count && place != SIZE_MAX; p++) {
        if (records[p] == NULL || !isnan(matrix->times[p][place]))
            continue;
        matrix->times[p][place] = hn_measuring_time(records[p]);
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
        struct hn_bindings whole HN_ENDED_BY(hn_bindings_finish) = hn_family_draw(
            config->family, config->problems, measuring->options->search.seed, &at, err);
        size_t size = hn_failed(err) ? SIZE_MAX : hn_matrix_find_size(matrix, &whole);
        if (size != SIZE_MAX)
            matrix->sizes[size].drawn = true;
    }
}

void hn_recall(struct hn_measuring *measuring, struct hn_error *err)
{
    const struct hn_matrix *matrix = measuring->matrix;
    struct hn_store *store = measuring->options->store;
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {0};
    struct hn_task task HN_ENDED_BY(hn_task_finish) = {0};
    size_t sizes = matrix->size_count, points = matrix->point_count, times = measuring->cell_count;
    if (hn_failed(err) ||
        hn_measuring_task(measuring, &matrix->sizes[0].problem, &task, err) != HN_OK)
        return;
    hn_store_list(store, HN_STORE_RESULTS, task.identity.kernel, NULL, &list, err);
    /* None of a tuning that is not of the family. */
    struct hn_records *known = hn_need(list.count, sizeof *known);
    for (size_t i = 0; i < list.count && !hn_failed(err); i++) {
        const struct hn_tuned *tuned = &list.items[i];
        if (is_of_family(measuring, &task, tuned))
            hn_store_load(store, &tuned->identity, &tuned->version, false, &known[i], err);
    }
    if (!hn_failed(err)) {
        recall_points(measuring, task.space, known, list.count);
        for (size_t i = 0; i < list.count; i++)
            recall_size(measuring, &list.items[i].identity.problem, &known[i]);
        mark_drawn(measuring, err);
    }
    sizes = matrix->size_count - sizes;
    points = matrix->point_count - points;
    times = measuring->cell_count - times;
    if (!hn_failed(err) && times > 0)
        hn_measuring_say(measuring, "from the cache: %zu size%s, %zu configuration%s, %zu time%s",
                         sizes, hn_plural(sizes), points, hn_plural(points), times,
                         hn_plural(times));
    HN_FREE_EACH(records, known, list.count, hn_records_free(records));
}
