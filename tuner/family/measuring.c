/* SPDX-License-Identifier: MIT */
#include "tuner/family/measuring.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "cache/store/store.h"
#include "tuner/config/family.h"

/* Of a search so many of the best points join the others, as far as they are within so much of the
 * best. */
enum { JOINING_MOST = 2 };
static const double joining_loss = 0.1;
/* Of the times at a size those are taken in one race, in turn, that are so near to the best. */
static const double racing_loss = 0.1;
/* And what the rule chose, unless it is out of the question. */
static const double racing_sides_loss = 3;

/* --- configs
 * ----------------------------------------------------------------------------------------------------
 */

enum hn_status hn_measuring_init(struct hn_measuring *measuring,
                                 const struct hn_family_options *options, struct hn_error *err)
{
    *measuring = (struct hn_measuring){.options = options, .matrix = hn_matrix_create()};
    if (measuring->matrix == NULL)
        return hn_fail_memory(err);
    enum hn_status status = options->load(options->context, &measuring->config, err);
    return status == HN_OK ? hn_config_thaw(measuring->config, err) : status;
}

void hn_measuring_finish(struct hn_measuring *measuring)
{
    hn_config_destroy(measuring->config);
    hn_config_destroy(measuring->cells);
    hn_matrix_destroy(measuring->matrix);
    *measuring = (struct hn_measuring){.cell_count = 0};
}

enum hn_status hn_measuring_complete(struct hn_measuring *measuring,
                                     const struct hn_bindings *problem, struct hn_bindings *whole,
                                     struct hn_error *err)
{
    enum hn_status status = hn_bindings_copy(whole, &measuring->config->problems[0], err);
    return status == HN_OK ? hn_bindings_merge(whole, problem, err) : status;
}

/* Spaces are built for each size anew: of the points alone that takes no time. */
static enum hn_status narrow(struct hn_measuring *measuring, struct hn_error *err)
{
    const struct hn_matrix *matrix = measuring->matrix;
    if (measuring->cells != NULL && measuring->cells_points == matrix->point_count)
        return HN_OK;
    hn_config_destroy(measuring->cells);
    measuring->cells = NULL;
    measuring->cells_points = matrix->point_count;
    enum hn_status status =
        measuring->options->load(measuring->options->context, &measuring->cells, err);
    const struct hn_bindings **points = calloc(matrix->point_count + 1, sizeof *points);
    if (status == HN_OK && points == NULL)
        status = hn_fail_memory(err);
    for (size_t p = 0; status == HN_OK && p < matrix->point_count; p++)
        points[p] = &matrix->points[p].values;
    if (status == HN_OK)
        status = hn_config_keep_points(measuring->cells, points, matrix->point_count, err);
    free(points);
    return status;
}

enum hn_status hn_measuring_task(struct hn_measuring *measuring, const struct hn_bindings *problem,
                                 struct hn_task *task, struct hn_error *err)
{
    const struct hn_family_options *options = measuring->options;
    const struct hn_device *device = &options->workers->lead->device;
    enum hn_status status = hn_config_take_problem(measuring->config, problem, err);
    if (status == HN_OK)
        status = hn_task_make(measuring->config, 0, options->regime, task, err);
    if (status == HN_OK)
        hn_task_set_device(task, &device->identity, device->driver, measuring->nvrtc);
    return status;
}

/* --- sessions
 * ----------------------------------------------------------------------------------------------------
 */

/* What a session is for, and who reads what it found. */
struct errand {
    const struct hn_bindings *problem;
    const struct hn_bindings *points; /* NULL: a search */
    size_t point_count;
    const struct hn_bindings *first; /* of a search: measured before anything else */
    size_t first_count;
    double budget_s; /* 0: none */
    double races;    /* those within this share of the best too */
    bool hasty;      /* what can not be the best is stopped early */
    enum hn_status (*read)(void *reader, const struct hn_session *session, struct hn_error *err);
    void *reader;
};

static void watch_nothing(void *watcher, const struct hn_session_state *state)
{
    (void)watcher;
    (void)state;
}

/* Where the points are told there is nothing to choose, and no other problem to learn from. */
static const struct hn_strategy_kind *strategy_for(const struct hn_measuring *measuring,
                                                   const struct errand *errand)
{
    return errand->points != NULL ? hn_strategy_find("exhaustive") : measuring->options->strategy;
}

static enum hn_status run_session(struct hn_measuring *measuring, struct hn_task *task,
                                  const struct errand *errand, struct hn_error *err)
{
    const struct hn_family_options *options = measuring->options;
    const struct hn_strategy_kind *strategy = strategy_for(measuring, errand);
    struct hn_backend *backend = NULL;
    struct hn_session *session = NULL;
    const struct hn_live_options live = {
        .seed = options->seed,
        .any_order = !strategy->needs_feedback,
        .stays_warm = true,
    };
    enum hn_status status = hn_backend_live(task, options->workers, &live, &backend, err);
    /* Driver and compiler are up. */
    const struct hn_session_options session_options = {
        .strategy = strategy,
        .look_ahead = options->look_ahead,
        .seed = options->seed,
        .budget_s = errand->budget_s,
        .events = options->events,
        .command = options->command,
        .started_ms = hn_now_ms(),
        .points = errand->points,
        .point_count = errand->point_count,
        .first = errand->first,
        .first_count = errand->first_count,
        .race_within = errand->races,
        .hasty = errand->hasty,
        .brief = true,
    };
    if (status == HN_OK) {
        snprintf(measuring->nvrtc, sizeof measuring->nvrtc, "%s", task->version.nvrtc);
        status = hn_session_create(backend, options->store, &session_options, &session, err);
    }
    if (status == HN_OK)
        status = hn_session_run(session, watch_nothing, NULL, err);
    if (status == HN_OK && hn_interrupted() != 0)
        status = HN_EINTERRUPTED;
    if (status == HN_OK)
        status = errand->read(errand->reader, session, err);
    hn_session_destroy(session);
    hn_backend_destroy(backend);
    return status;
}

/* A problem for which nothing is valid has nothing to be read. */
static enum hn_status run(struct hn_measuring *measuring, struct hn_config *config,
                          const struct errand *errand, struct hn_error *err)
{
    struct hn_task task;
    enum hn_status status = hn_config_take_problem(config, errand->problem, err);
    if (status == HN_OK)
        status = strategy_for(measuring, errand)->needs_feedback
                     ? hn_task_make_search(config, 0, measuring->options->regime, &task, err)
                     : hn_task_make(config, 0, measuring->options->regime, &task, err);
    if (status == HN_ENOTFOUND)
        return HN_OK;
    if (status != HN_OK)
        return status;
    status = run_session(measuring, &task, errand, err);
    hn_task_finish(&task);
    return status;
}

/* --- what they found
 * ----------------------------------------------------------------------------------------------------
 */

struct at_size {
    struct hn_measuring *measuring;
    size_t size;
};

double hn_measuring_time(enum hn_outcome outcome, const struct hn_record *record)
{
    bool timed =
        outcome == HN_OUTCOME_OK || outcome == HN_OUTCOME_DUPLICATE || outcome == HN_OUTCOME_SLOWER;
    return timed && record->timing.median_us > 0 ? record->timing.median_us : NAN;
}

/* The time of a point that ran, INFINITY of one that failed, NAN of one that was not evaluated. */
static enum hn_status read_time(const struct hn_session *session, const struct hn_bindings *point,
                                double *time_us, double *occupancy, struct hn_error *err)
{
    struct hn_record record;
    size_t ticket = hn_session_find(session, point);
    *time_us = NAN;
    if (ticket == SIZE_MAX)
        return HN_OK;
    enum hn_outcome outcome = hn_session_outcome(session, ticket);
    enum hn_status status = hn_session_record(session, ticket, &record, err);
    if (status != HN_OK)
        return status;
    *time_us = hn_measuring_time(outcome, &record);
    if (isnan(*time_us) && !hn_outcome_is_open(outcome))
        *time_us = INFINITY;
    if (record.resources.occupancy > 0)
        *occupancy = record.resources.occupancy;
    hn_record_finish(&record);
    return HN_OK;
}

static enum hn_status read_cells(void *reader, const struct hn_session *session,
                                 struct hn_error *err)
{
    const struct at_size *at = reader;
    struct hn_matrix *matrix = at->measuring->matrix;
    enum hn_status status = HN_OK;
    for (size_t p = 0; p < matrix->point_count && status == HN_OK; p++) {
        double time_us;
        status = read_time(session, &matrix->points[p].values, &time_us,
                           &matrix->points[p].occupancy, err);
        if (status != HN_OK || isnan(time_us))
            continue;
        at->measuring->cell_count += isnan(matrix->times[p][at->size]) ? 1 : 0;
        matrix->times[p][at->size] = time_us;
    }
    return status;
}

/* The best join the points. */
static enum hn_status read_search(void *reader, const struct hn_session *session,
                                  struct hn_error *err)
{
    const struct at_size *at = reader;
    struct hn_matrix *matrix = at->measuring->matrix;
    struct hn_ranking ranking;
    enum hn_status status = hn_session_ranking(session, &ranking, err);
    if (status != HN_OK)
        return status;
    double best_us = NAN;
    for (size_t i = 0, joined = 0; i < ranking.count && joined < JOINING_MOST && status == HN_OK;
         i++) {
        struct hn_record record;
        size_t place;
        if (hn_session_outcome(session, ranking.tickets[i]) != HN_OUTCOME_OK)
            break;
        status = hn_session_record(session, ranking.tickets[i], &record, err);
        if (status != HN_OK)
            break;
        double time_us = record.timing.median_us;
        best_us = isnan(best_us) ? time_us : best_us;
        bool good = time_us <= best_us * (1 + joining_loss);
        size_t known = matrix->point_count;
        if (good)
            status = hn_matrix_add_point(matrix, &record.point, &place, err);
        if (good && status == HN_OK && place != SIZE_MAX) {
            if (place == known)
                matrix->points[place].only_size = (int64_t)at->size;
            else if (matrix->points[place].only_size != (int64_t)at->size)
                matrix->points[place].only_size = -1;
            joined++;
        }
        hn_record_finish(&record);
        if (!good)
            break;
    }
    hn_ranking_finish(&ranking);
    matrix->sizes[at->size].tuned_us = best_us;
    return status == HN_OK ? read_cells(reader, session, err) : status;
}

enum hn_status hn_measuring_tune(struct hn_measuring *measuring, size_t size, double budget_s,
                                 struct hn_error *err)
{
    const struct hn_matrix *matrix = measuring->matrix;
    struct at_size at = {measuring, size};
    struct hn_bindings known[HN_MATRIX_POINTS]; /* borrow theirs; cells that are filled anyway */
    for (size_t p = 0; p < matrix->point_count; p++)
        known[p] = matrix->points[p].values;
    const struct errand errand = {.problem = &matrix->sizes[size].problem,
                                  .first = known,
                                  .first_count = matrix->point_count,
                                  .budget_s = budget_s,
                                  .hasty = true,
                                  .read = read_search,
                                  .reader = &at};
    measuring->matrix->sizes[size].searched = true;
    return run(measuring, measuring->config, &errand, err);
}

enum hn_status hn_measuring_fill(struct hn_measuring *measuring, size_t size, double budget_s,
                                 struct hn_error *err)
{
    struct hn_matrix *matrix = measuring->matrix;
    struct at_size at = {measuring, size};
    struct hn_bindings wanted[HN_MATRIX_POINTS]; /* borrow theirs */
    size_t wanted_count = 0;
    for (size_t p = 0; p < matrix->point_count; p++)
        if (isnan(matrix->times[p][size]))
            wanted[wanted_count++] = matrix->points[p].values;
    if (wanted_count == 0)
        return HN_OK;
    enum hn_status status = narrow(measuring, err);
    const struct errand errand = {.problem = &matrix->sizes[size].problem,
                                  .points = wanted,
                                  .point_count = wanted_count,
                                  .budget_s = budget_s,
                                  .races = racing_loss,
                                  .hasty = true,
                                  .read = read_cells,
                                  .reader = &at};
    return status == HN_OK ? run(measuring, measuring->cells, &errand, err) : status;
}

/* --- held against a search
 * ----------------------------------------------------------------------------------------------------
 */

/* What the rule says; the default point and the best of the search, as far as they are others. */
struct comparison {
    struct hn_bindings points[3]; /* borrowed, but for `best` */
    size_t count;
    struct hn_bindings best; /* with words of its own */
    double times_us[3];
};

static size_t find_point(const struct comparison *comparison, const struct hn_bindings *point)
{
    size_t i = 0;
    while (i < comparison->count && !hn_bindings_equal(&comparison->points[i], point))
        i++;
    return i;
}

/* Its place. */
static size_t add_side(struct comparison *comparison, const struct hn_bindings *point)
{
    size_t place = find_point(comparison, point);
    if (place == comparison->count)
        comparison->points[comparison->count++] = *point;
    return place;
}

static enum hn_status read_best(void *reader, const struct hn_session *session,
                                struct hn_error *err)
{
    struct comparison *comparison = reader;
    const struct hn_record *best = hn_session_state(session)->best;
    if (best == NULL)
        return HN_OK;
    enum hn_status status = hn_bindings_copy(&comparison->best, &best->point, err);
    if (status == HN_OK)
        (void)add_side(comparison, &comparison->best);
    return status;
}

static enum hn_status read_all(void *reader, const struct hn_session *session, struct hn_error *err)
{
    struct comparison *comparison = reader;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < comparison->count && status == HN_OK; i++) {
        double occupancy;
        status =
            read_time(session, &comparison->points[i], &comparison->times_us[i], &occupancy, err);
    }
    return status;
}

static enum hn_status search(struct hn_measuring *measuring, struct hn_config *whole,
                             const struct hn_bindings *problem, const struct hn_rule *rule,
                             double budget_s, struct comparison *comparison, struct hn_error *err)
{
    const struct hn_matrix *matrix = measuring->matrix;
    struct hn_bindings known[HN_MATRIX_POINTS]; /* borrow theirs */
    for (size_t p = 0; p < matrix->point_count; p++)
        known[p] = matrix->points[p].values;
    bool has_matrix = matrix->point_count > 0;
    const struct errand errand = {.problem = problem,
                                  .first = has_matrix ? known : rule->configurations,
                                  .first_count =
                                      has_matrix ? matrix->point_count : rule->configuration_count,
                                  .budget_s = budget_s,
                                  .hasty = true,
                                  .read = read_best,
                                  .reader = comparison};
    return run(measuring, whole, &errand, err);
}

/* What can not be told from the best meets it in a race, and so does the rule's choice. The default
 * point need not: it may take a hundred times as long. */
static enum hn_status race(struct hn_measuring *measuring, struct hn_config *whole,
                           const struct hn_bindings *problem, struct comparison *comparison,
                           struct hn_error *err)
{
    const struct hn_bindings *points[3];
    const struct errand errand = {.problem = problem,
                                  .points = comparison->points,
                                  .point_count = comparison->count,
                                  .races = racing_sides_loss,
                                  .read = read_all,
                                  .reader = comparison};
    for (size_t i = 0; i < comparison->count; i++)
        points[i] = &comparison->points[i];
    enum hn_status status = hn_config_keep_points(whole, points, comparison->count, err);
    return status == HN_OK ? run(measuring, whole, &errand, err) : status;
}

static double least(const struct comparison *comparison)
{
    double least_us = NAN;
    for (size_t i = 0; i < comparison->count; i++)
        least_us = fmin(least_us, comparison->times_us[i]);
    return least_us;
}

enum hn_status hn_measuring_compare(struct hn_measuring *measuring,
                                    const struct hn_bindings *problem, const struct hn_rule *rule,
                                    size_t chosen, double budget_s, struct hn_compared *compared,
                                    struct hn_error *err)
{
    struct hn_config *whole = NULL;
    const struct hn_family_options *options = measuring->options;
    struct comparison comparison = {.times_us = {NAN, NAN, NAN}};
    hn_bindings_init(&comparison.best);
    enum hn_status status = options->load(options->context, &whole, err);
    if (status != HN_OK)
        return status;
    size_t own = add_side(&comparison, &rule->configurations[chosen]);
    size_t untuned = add_side(&comparison, hn_plan_default(whole->plan, problem));
    status = search(measuring, whole, problem, rule, budget_s, &comparison, err);
    if (status == HN_OK)
        status = race(measuring, whole, problem, &comparison, err);
    hn_bindings_finish(&comparison.best);
    hn_config_destroy(whole);
    *compared = (struct hn_compared){.chosen_us = comparison.times_us[own],
                                     .default_us = comparison.times_us[untuned],
                                     .best_us = least(&comparison)};
    return status;
}

/* --- what is kept
 * ----------------------------------------------------------------------------------------------------
 */

enum { IMAGES_TICKET = 1000000 };

static enum hn_status keep_image(const struct hn_measuring *measuring, const struct hn_task *task,
                                 int64_t session, size_t number, const struct hn_bindings *point,
                                 struct hn_error *err)
{
    const struct hn_family_options *options = measuring->options;
    struct hn_compile_pool *pool = options->workers->pool;
    struct hn_source source;
    struct hn_image image;
    char architecture[16];
    snprintf(architecture, sizeof architecture, "sm_%d", task->identity.device.capability);
    hn_image_init(&image);
    enum hn_status status = hn_task_source(task, point, &source, err);
    if (status != HN_OK)
        return status;
    status = hn_compile_pool_submit(pool, IMAGES_TICKET + number, &source, architecture, err);
    hn_source_finish(&source);
    while (status == HN_OK && !hn_compile_pool_take_one(pool, IMAGES_TICKET + number, &image)) {
        status = hn_compile_pool_process(pool, err);
        if (status == HN_OK)
            status = hn_compile_pool_sleep(pool, err);
    }
    char *entries = status == HN_OK ? hn_image_entry_lines(&image) : NULL;
    if (entries != NULL && image.outcome == HN_OUTCOME_OK)
        status = hn_store_put_image(options->store, session, point, image.cubin, image.size,
                                    entries, err);
    free(entries);
    hn_image_finish(&image);
    return status;
}

/* A task of the family itself, or of its part with these values, whose identity has no other
 * problem; its session. */
static enum hn_status begin(struct hn_measuring *measuring, const struct hn_bindings *problem,
                            const struct hn_bindings *values, struct hn_task *task,
                            int64_t *session, struct hn_error *err)
{
    const struct hn_family_options *options = measuring->options;
    enum hn_status status = hn_measuring_task(measuring, problem, task, err);
    if (status != HN_OK)
        return status;
    hn_bindings_finish(&task->identity.problem);
    status = hn_bindings_merge(&task->identity.problem, values, err);
    if (status == HN_OK)
        status = hn_task_begin(task, options->store, options->command, false, session, err);
    if (status != HN_OK)
        hn_task_finish(task);
    return status;
}

static bool is_first_with(const struct hn_matrix *matrix, size_t size,
                          const struct hn_bindings *values)
{
    for (size_t s = 0; s < size; s++) {
        bool same = true;
        for (size_t i = 0; i < values->count; i++)
            same = same &&
                   hn_value_equal(&values->values[i],
                                  hn_bindings_get(&matrix->sizes[s].problem, values->names[i]));
        if (same)
            return false;
    }
    return true;
}

/* What images are being kept for: a part of the family that shares programs. */
struct keeping {
    struct hn_measuring *measuring;
    struct hn_task task;
    int64_t session;
    bool is_begun;
};

static void end_keeping(struct keeping *keeping)
{
    if (keeping->is_begun)
        hn_task_finish(&keeping->task);
    keeping->is_begun = false;
}

/* The image of a configuration for all sizes whose program has these values, which this size is the
 * first with. */
static enum hn_status keep_for(struct keeping *keeping, const struct hn_bindings *problem,
                               const struct hn_bindings *values, size_t number,
                               const struct hn_bindings *point, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (keeping->is_begun && !hn_bindings_equal(&keeping->task.identity.problem, values))
        end_keeping(keeping);
    if (!keeping->is_begun) {
        status = begin(keeping->measuring, problem, values, &keeping->task, &keeping->session, err);
        keeping->is_begun = status == HN_OK;
    }
    return status == HN_OK ? keep_image(keeping->measuring, &keeping->task, keeping->session,
                                        number, point, err)
                           : status;
}

static enum hn_status keep_images(struct keeping *keeping, const struct hn_rule *rule, size_t size,
                                  struct hn_error *err)
{
    const struct hn_measuring *measuring = keeping->measuring;
    const struct hn_bindings *problem = &measuring->matrix->sizes[size].problem;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < rule->configuration_count && status == HN_OK; i++) {
        const struct hn_bindings *point = &rule->configurations[i];
        struct hn_bindings values;
        status = hn_plan_program_values(measuring->config->plan, point, problem, &values, err);
        if (status == HN_OK && is_first_with(measuring->matrix, size, &values))
            status = keep_for(keeping, problem, &values, i, point, err);
        hn_bindings_finish(&values);
    }
    end_keeping(keeping);
    return status;
}

enum hn_status hn_measuring_keep(struct hn_measuring *measuring, const struct hn_rule *rule,
                                 int64_t *session, struct hn_error *err)
{
    const struct hn_matrix *matrix = measuring->matrix;
    const struct hn_bindings none = {NULL, NULL, 0};
    struct hn_task task;
    enum hn_status status = begin(measuring, &matrix->sizes[0].problem, &none, &task, session, err);
    if (status != HN_OK)
        return status;
    hn_task_finish(&task);
    struct keeping keeping = {.measuring = measuring};
    for (size_t s = 0; s < matrix->size_count && status == HN_OK; s++)
        status = keep_images(&keeping, rule, s, err);
    return status == HN_OK ? hn_store_put_rule(measuring->options->store, *session, rule, err)
                           : status;
}
