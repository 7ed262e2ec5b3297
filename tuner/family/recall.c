/* SPDX-License-Identifier: MIT */
#include "tuner/family/recall.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/config/family.h"
#include "tuner/family/sizes.h"

enum {
    POINT_SIZES = 8, /* a point that was measured at fewer was a step of one search */
    SIZE_POINTS = 4, /* fewer of the matrix' points at a size say little of it */
    MOST_SIZES = HN_MATRIX_SIZES * 3 / 4,
    MOST_POINTS = HN_MATRIX_POINTS * 3 / 4 /* searches are to add some */
};

/* What was measured at one problem. */
struct known_size {
    const struct hn_bindings *problem;
    struct hn_records records;
};

struct known {
    struct hn_tuned_list list;
    struct known_size *sizes;
    size_t count;
};

static void finish_known(struct known *known)
{
    for (size_t i = 0; i < known->count; i++)
        hn_records_free(&known->sizes[i].records);
    free(known->sizes);
    hn_tuned_list_free(&known->list);
}

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

static enum hn_status read_known(struct hn_measuring *measuring, struct known *known,
                                 struct hn_error *err)
{
    struct hn_task task;
    struct hn_store *store = measuring->options->store;
    enum hn_status status =
        hn_measuring_task(measuring, &measuring->matrix->sizes[0].problem, &task, err);
    if (status != HN_OK)
        return status;
    status = hn_store_list(store, task.identity.kernel, &known->list, err);
    if (status == HN_OK)
        known->sizes = calloc(known->list.count + 1, sizeof *known->sizes);
    if (status == HN_OK && known->sizes == NULL)
        status = hn_fail_memory(err);
    for (size_t i = 0; i < known->list.count && status == HN_OK; i++) {
        const struct hn_tuned *tuned = &known->list.items[i];
        struct known_size *size = &known->sizes[known->count];
        if (!is_of_family(measuring, &task, tuned))
            continue;
        size->problem = &tuned->identity.problem;
        status =
            hn_store_load(store, &tuned->identity, &tuned->version, false, &size->records, err);
        known->count += status == HN_OK;
    }
    hn_task_finish(&task);
    return status;
}

static double time_of(const struct hn_record *record)
{
    return hn_measuring_time(record->outcome, record);
}

/* --- points
 * ----------------------------------------------------------------------------------------------------
 */

struct known_point {
    const struct hn_bindings *values;
    char *text;
    size_t sizes; /* at which it was measured; 0: another entry counts them */
};

static int by_text(const void *a, const void *b)
{
    const struct known_point *x = a, *y = b;
    return strcmp(x->text, y->text);
}

static int by_sizes(const void *a, const void *b)
{
    const struct known_point *x = a, *y = b;
    return x->sizes != y->sizes ? (x->sizes < y->sizes ? 1 : -1) : strcmp(x->text, y->text);
}

/* One of each point that may serve the family, for each time that it was measured. */
static size_t list_points(const struct hn_measuring *measuring, const struct known *known,
                          struct known_point *points)
{
    size_t count = 0;
    const struct hn_plan *plan = measuring->config->plan;
    for (size_t i = 0; i < known->count; i++)
        for (size_t r = 0; r < known->sizes[i].records.count; r++) {
            const struct hn_record *record = &known->sizes[i].records.items[r];
            if (!isnan(time_of(record)) &&
                !(plan->freeze_if != NULL && hn_plan_freezes(plan, &record->point)))
                points[count++] = (struct known_point){.values = &record->point};
        }
    return count;
}

static enum hn_status name_points(struct known_point *points, size_t count, struct hn_error *err)
{
    for (size_t i = 0; i < count; i++) {
        points[i].text = hn_bindings_text(points[i].values);
        if (points[i].text == NULL)
            return hn_fail_memory(err);
    }
    return HN_OK;
}

static void count_sizes(struct known_point *points, size_t count)
{
    size_t first = 0;
    qsort(points, count, sizeof *points, by_text);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(points[i].text, points[first].text) != 0)
            first = i;
        points[first].sizes++;
    }
    qsort(points, count, sizeof *points, by_sizes);
}

/* Those that were measured at several sizes. */
static enum hn_status recall_points(struct hn_measuring *measuring, const struct known *known,
                                    struct hn_error *err)
{
    size_t most = 0, place;
    struct hn_matrix *matrix = measuring->matrix;
    for (size_t i = 0; i < known->count; i++)
        most += known->sizes[i].records.count;
    struct known_point *points = calloc(most + 1, sizeof *points);
    if (points == NULL)
        return hn_fail_memory(err);
    size_t count = list_points(measuring, known, points);
    enum hn_status status = name_points(points, count, err);
    if (status == HN_OK)
        count_sizes(points, count);
    for (size_t i = 0; i < count && status == HN_OK; i++)
        if (points[i].sizes >= POINT_SIZES && matrix->point_count < MOST_POINTS)
            status = hn_matrix_add_point(matrix, points[i].values, &place, err);
    for (size_t i = 0; i < count; i++)
        free(points[i].text);
    free(points);
    return status;
}

/* --- sizes
 * ----------------------------------------------------------------------------------------------------
 */

static const struct hn_record *find_record(const struct known_size *size,
                                           const struct hn_bindings *point)
{
    for (size_t i = 0; i < size->records.count; i++)
        if (!isnan(time_of(&size->records.items[i])) &&
            hn_bindings_equal(&size->records.items[i].point, point))
            return &size->records.items[i];
    return NULL;
}

static enum hn_status recall_size(struct hn_measuring *measuring, const struct known_size *size,
                                  struct hn_error *err)
{
    struct hn_matrix *matrix = measuring->matrix;
    const struct hn_record *records[HN_MATRIX_POINTS];
    size_t place, count = 0;
    for (size_t p = 0; p < matrix->point_count; p++) {
        records[p] = find_record(size, &matrix->points[p].values);
        count += records[p] != NULL;
    }
    if (count < SIZE_POINTS || matrix->size_count >= MOST_SIZES)
        return HN_OK;
    enum hn_status status = hn_matrix_add_size(matrix, size->problem, 0, &place, err);
    for (size_t p = 0; p < matrix->point_count && status == HN_OK && place != SIZE_MAX; p++) {
        if (records[p] == NULL || !isnan(matrix->times[p][place]))
            continue;
        matrix->times[p][place] = time_of(records[p]);
        if (records[p]->resources.occupancy > 0)
            matrix->points[p].occupancy = records[p]->resources.occupancy;
        measuring->cell_count++;
    }
    return status;
}

/* Those that would have been drawn stand for any size that may come. */
static enum hn_status mark_drawn(struct hn_measuring *measuring, struct hn_error *err)
{
    uint64_t at = 0;
    struct hn_matrix *matrix = measuring->matrix;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < MOST_SIZES && status == HN_OK; i++) {
        struct hn_bindings problem, whole;
        status =
            hn_family_next(measuring->config->family, measuring->options->seed, &at, &problem, err);
        if (status != HN_OK)
            break;
        status = hn_measuring_complete(measuring, &problem, &whole, err);
        for (size_t s = 0; s < matrix->size_count && status == HN_OK; s++)
            if (hn_bindings_equal(&matrix->sizes[s].problem, &whole))
                matrix->sizes[s].drawn = true;
        hn_bindings_finish(&problem);
        hn_bindings_finish(&whole);
    }
    return status;
}

enum hn_status hn_recall(struct hn_measuring *measuring, struct hn_error *err)
{
    struct known known = {.count = 0};
    enum hn_status status = read_known(measuring, &known, err);
    if (status == HN_OK)
        status = recall_points(measuring, &known, err);
    for (size_t i = 0; i < known.count && status == HN_OK; i++)
        status = recall_size(measuring, &known.sizes[i], err);
    if (status == HN_OK)
        status = mark_drawn(measuring, err);
    finish_known(&known);
    return status;
}
