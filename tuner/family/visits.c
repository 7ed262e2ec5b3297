/* SPDX-License-Identifier: MIT */
#include "tuner/family/measuring.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "base/statistics.h"
#include "base/text.h"

void hn_measuring_start(struct hn_measuring *measuring, const struct hn_family_options *options,
                        struct hn_error *err)
{
    /* Of one range, of two and of more. */
    static const struct hn_family_worth worths[] = {
        {60, 12, 10, 48}, {120, 20, 12, 96}, {600, 36, 20, 160}};
    const struct hn_session_options *search = &options->search;
    size_t ranges = 0;
    *measuring = (struct hn_measuring){
        .options = options,
        .config = options->config,
        .whole = options->whole,
        .matrix = hn_matrix_create(),
        .started_ms = hn_now_ms(),
        .budget_s = search->budget_count > 0 ? (double)search->budget_count / HN_EVALUATIONS_PER_S
                                             : search->budget_s};
    if (hn_failed(err))
        return;
    const struct hn_plan *plan = measuring->config->plan;
    const struct hn_family *family = measuring->config->family;
    for (size_t i = 0; i < family->value_count; i++)
        ranges += family->values[i].kind == HN_FAMILY_RANGE || family->values[i].count > 2;
    measuring->worth = worths[ranges < 2 ? 0 : ranges == 2 ? 1 : 2];
    if (options->held_out > 0)
        measuring->worth.held_out = options->held_out;
    if (hn_config_thaw(measuring->config, err) == HN_OK)
        hn_template_load(plan->template_path, &measuring->template, plan, err);
    if (hn_workers_open_lead(options->workers, true, err) && !hn_failed(err))
        options->workers->pool->keeps_all = true;
}

void hn_measuring_finish(struct hn_measuring *measuring)
{
    hn_template_finish(&measuring->template);
    hn_config_destroy(measuring->config);
    hn_config_destroy(measuring->whole);
    hn_matrix_destroy(measuring->matrix);
}

double hn_measuring_spent_s(const struct hn_measuring *measuring)
{
    return measuring->options->search.budget_count > 0
               ? (double)measuring->evaluations / HN_EVALUATIONS_PER_S
               : (hn_now_ms() - measuring->started_ms) / 1e3;
}

void hn_measuring_say(const struct hn_measuring *measuring, const char *format, ...)
{
    struct hn_text line HN_ENDED_BY(hn_text_finish) = {0};
    va_list arguments;
    va_start(arguments, format);
    hn_text_printf(&line, "%4.0f s  ", (hn_now_ms() - measuring->started_ms) / 1e3);
    hn_text_vprintf(&line, format, arguments);
    va_end(arguments);
    if (!measuring->options->quiet)
        fprintf(stderr, "%s\n", line.data);
}

void hn_visit_end(struct hn_visit *visit)
{
    hn_session_destroy(visit->session);
    hn_backend_destroy(visit->backend);
    hn_task_finish(&visit->task);
}

bool hn_visit_run(struct hn_measuring *measuring, struct hn_config *config,
                  const struct hn_bindings *problem, const struct hn_session_options *asked,
                  struct hn_visit *visit, struct hn_error *err)
{
    const struct hn_family_options *options = measuring->options;
    struct hn_session_options own = *asked;
    /* Where the points are told there is nothing to choose, and no other problem to learn from. */
    own.strategy =
        asked->points != NULL ? hn_strategy_find("exhaustive") : options->search.strategy;
    if (hn_failed(err) || hn_config_take_problem(config, problem, err) != HN_OK)
        return false;
    if (hn_task_make(config, 0, options->regime,
                     own.strategy->needs_feedback ? HN_TASK_SEARCHES : HN_TASK_MEASURES,
                     &visit->task, err) != HN_OK) {
        if (err->status == HN_ENOTFOUND)
            hn_error_init(err);
        return false;
    }
    const struct hn_live_options live = {.seed = options->search.seed,
                                         .any_order = !own.strategy->needs_feedback,
                                         .stays_warm = true};
    if (strcmp(visit->task.template.hash.hex, measuring->template.hash.hex) != 0)
        hn_fail(err, HN_ERUN, "%s changed while the family was tuned; run again",
                config->plan->template_path);
    else
        visit->backend = hn_backend_live(&visit->task, options->workers, &live, err);
    if (visit->backend != NULL) {
        snprintf(measuring->nvrtc, sizeof measuring->nvrtc, "%s", visit->task.version.nvrtc);
        own.look_ahead = options->search.look_ahead;
        if (options->search.budget_count > 0) {
            own.budget_count = (uint64_t)ceil(asked->budget_s * HN_EVALUATIONS_PER_S);
            own.budget_s = 0;
        }
        own.seed = options->search.seed;
        own.events = options->search.events;
        own.command = options->search.command;
        own.started_ms = hn_now_ms(); /* driver and compiler are up */
        own.brief = true;
        hn_session_create(visit->backend, options->store, &own, &visit->session, err);
    }
    if (!hn_failed(err))
        hn_session_run(visit->session, NULL, NULL, err);
    if (visit->session != NULL)
        measuring->evaluations += hn_session_state(visit->session)->proposed;
    if (!hn_failed(err) && hn_interrupted() != 0)
        hn_fail(err, HN_EINTERRUPTED, "interrupted");
    if (hn_failed(err)) {
        char *text HN_FREED = hn_needed(hn_bindings_text(problem));
        hn_measuring_say(measuring, "ended at %s", text);
    }
    return !hn_failed(err);
}

double hn_visit_time(const struct hn_session *session, const struct hn_bindings *point,
                     struct hn_matrix_point *told, struct hn_error *err)
{
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    size_t ticket = hn_session_find(session, point);
    if (ticket == SIZE_MAX || hn_failed(err) ||
        hn_session_record(session, ticket, &record, err) != HN_OK)
        return NAN;
    double time_us = hn_measuring_time(&record);
    bool failed = isnan(time_us) && !hn_outcome_is_open(record.outcome);
    if (told != NULL)
        hn_matrix_tell(told, &record);
    return failed ? INFINITY : time_us;
}

size_t hn_measuring_promising(const struct hn_measuring *measuring,
                              const struct hn_bindings *problem, size_t most, size_t *points)
{
    const struct hn_matrix *matrix = measuring->matrix;
    size_t all = matrix->point_count, count = 0;
    struct hn_ranked beliefs[HN_MATRIX_POINTS];
    double losses[HN_MATRIX_POINTS] = {0}, deviations[HN_MATRIX_POINTS] = {0};
    if (measuring->model != NULL)
        hn_model_ask(measuring->model, matrix->points, NULL, all, problem, 1, false, losses,
                     deviations);
    /* Less a deviation: where little is known it may be better. */
    for (size_t p = 0; p < all; p++)
        beliefs[p] = (struct hn_ranked){losses[p] - (isinf(losses[p]) ? 0 : deviations[p]), p};
    qsort(beliefs, all, sizeof *beliefs, hn_ranked_compare);
    for (; count < all && count < most && !isinf(beliefs[count].key); count++)
        points[count] = beliefs[count].place;
    return count;
}

size_t hn_measuring_borrow(const struct hn_measuring *measuring, const struct hn_bindings *problem,
                           struct hn_bindings *borrowed)
{
    size_t points[HN_MATRIX_POINTS];
    size_t most = measuring->model != NULL ? HN_MEASURING_PROPOSED : HN_MATRIX_POINTS;
    size_t count = hn_measuring_promising(measuring, problem, most, points);
    for (size_t i = 0; i < count; i++)
        borrowed[i] = measuring->matrix->points[points[i]].values;
    return count;
}
