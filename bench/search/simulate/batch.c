/* SPDX-License-Identifier: MIT */
#include "bench/search/simulate/batch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/run.h"

/* Runs go on a little beyond their budgets, so that both axes are covered whatever is added to the
 * costs. */
static const double margin = 1.05;

struct progress {
    struct hn_batch *batch;
    const char *const *paths;
    double started_ms;
    double shown_ms;
    size_t total;
    bool terminal;
};

/* Tasks that may fail: then no further one is begun, and the failure of the lowest is told. */
struct tasks {
    enum hn_status (*run)(void *context, size_t task, struct hn_error *err);
    void *context;
    void (*tick)(void *context, size_t finished); /* NULL: nobody asks how many are finished */
    pthread_mutex_t lock;                         /* of what follows */
    size_t finished;
    size_t failed_task;
    struct hn_error err;
};

static void run_task(void *context, size_t task)
{
    struct tasks *tasks = context;
    struct hn_error err = {0};
    pthread_mutex_lock(&tasks->lock);
    bool failed = hn_failed(&tasks->err);
    pthread_mutex_unlock(&tasks->lock);
    if (failed)
        return;
    tasks->run(tasks->context, task, &err);
    pthread_mutex_lock(&tasks->lock);
    if (hn_failed(&err) && (!hn_failed(&tasks->err) || task < tasks->failed_task)) {
        tasks->err = err;
        tasks->failed_task = task;
    }
    tasks->finished++;
    if (tasks->tick != NULL)
        tasks->tick(tasks->context, tasks->finished);
    pthread_mutex_unlock(&tasks->lock);
}

static enum hn_status run_tasks(struct tasks tasks, size_t count, size_t jobs, struct hn_error *err)
{
    tasks.err = (struct hn_error){.status = HN_OK};
    pthread_mutex_init(&tasks.lock, NULL);
    hn_parallel_do(count, jobs, run_task, &tasks);
    pthread_mutex_destroy(&tasks.lock);
    return hn_failed(&tasks.err) ? hn_fail(err, tasks.err.status, "%s", tasks.err.message) : HN_OK;
}

void hn_batch_finish(struct hn_batch *batch)
{
    size_t count = batch->strategy_count * batch->space_count * batch->run_count;
    HN_FREE_EACH(run, batch->runs, count, hn_run_finish(run));
    HN_FREE_EACH(priors, batch->priors, batch->space_count, hn_priors_finish(priors));
    HN_FREE_EACH(source, batch->sources, batch->source_count, hn_recorded_finish(source));
    HN_FREE_EACH(space, batch->spaces, batch->space_count, hn_recorded_finish(space));
    HN_FREE_EACH(scale, batch->scales, batch->space_count, hn_scale_finish(scale));
    free(batch->strategies);
    *batch = (struct hn_batch){.space_count = 0};
}

static enum hn_status load_one(void *context, size_t task, struct hn_error *err)
{
    const struct progress *progress = context;
    struct hn_batch *batch = progress->batch;
    struct hn_error reason = {0};
    enum hn_status status = hn_recorded_load(progress->paths[task], &batch->spaces[task], err);
    if (status != HN_OK)
        return status;
    status = hn_scale_make(&batch->spaces[task].table, &batch->scales[task], &reason);
    return status == HN_OK
               ? HN_OK
               : hn_fail(err, status, "'%s': %.3000s", progress->paths[task], reason.message);
}

enum hn_status hn_batch_load(struct hn_batch *batch, const char *const *paths, size_t count,
                             struct hn_error *err)
{
    struct progress progress = {.batch = batch, .paths = paths};
    batch->spaces = hn_need(count, sizeof *batch->spaces);
    batch->scales = hn_need(count, sizeof *batch->scales);
    batch->space_count = count;
    const struct tasks tasks = {.run = load_one, .context = &progress};
    enum hn_status status = run_tasks(tasks, count, batch->jobs, err);
    for (size_t i = 0; status == HN_OK && i < count; i++)
        for (size_t j = 0; status == HN_OK && j < i; j++)
            if (strcmp(batch->spaces[i].name, batch->spaces[j].name) == 0)
                status = hn_fail(err, HN_EUSAGE,
                                 "'%s' and '%s' are both named '%s', by which traces tell spaces "
                                 "apart: rename one",
                                 paths[j], paths[i], batch->spaces[i].name);
    return status;
}

static enum hn_status load_source(void *context, size_t task, struct hn_error *err)
{
    const struct progress *progress = context;
    return hn_recorded_load(progress->paths[task], &progress->batch->sources[task], err);
}

static void make_priors(void *context, size_t task)
{
    struct hn_batch *batch = context;
    hn_priors_make(&batch->spaces[task], batch->sources, batch->source_count, &batch->priors[task]);
}

enum hn_status hn_batch_set_estimate(struct hn_batch *batch, const char *text, struct hn_error *err)
{
    struct hn_expression *expression = NULL;
    struct hn_error reason = {0};
    enum hn_status status = hn_expression_parse(text, &expression, &reason);
    if (status != HN_OK)
        return hn_fail(err, HN_EUSAGE, "--estimate '%s': %.3000s", text, reason.message);
    for (size_t i = 0; i < batch->space_count && status == HN_OK; i++) {
        status = hn_space_set_estimate(batch->spaces[i].space, expression, &reason);
        if (status != HN_OK)
            hn_fail(err, HN_EUSAGE, "--estimate '%s', of %s: %.3000s", text, batch->spaces[i].name,
                    reason.message);
    }
    hn_expression_destroy(expression);
    return status == HN_OK ? HN_OK : HN_EUSAGE;
}

enum hn_status hn_batch_load_priors(struct hn_batch *batch, const char *const *paths, size_t count,
                                    struct hn_error *err)
{
    struct progress progress = {.batch = batch, .paths = paths};
    batch->sources = hn_need(count, sizeof *batch->sources);
    batch->priors = hn_need(batch->space_count, sizeof *batch->priors);
    batch->source_count = count;
    const struct tasks loads = {.run = load_source, .context = &progress};
    enum hn_status status = run_tasks(loads, count, batch->jobs, err);
    if (status == HN_OK)
        hn_parallel_do(batch->space_count, batch->jobs, make_priors, batch);
    return status;
}

static void mix(struct hn_random *random, const char *string)
{
    for (const char *c = string; *c != '\0'; c++) {
        random->state ^= (unsigned char)*c;
        random->state = hn_random_next(random);
    }
}

static uint64_t run_seed(const struct hn_batch *batch, size_t strategy, size_t space, size_t run)
{
    struct hn_random random = hn_random_seeded(batch->seed);
    random.state = hn_random_next(&random);
    mix(&random, batch->spaces[space].name);
    mix(&random, "/");
    mix(&random, batch->strategies[strategy]->name);
    random.state ^= run;
    return hn_random_next(&random);
}

/* Tasks go through the runs before the strategies, so that long and short ones mix. */
static enum hn_status run_one(void *context, size_t task, struct hn_error *err)
{
    const struct progress *progress = context;
    struct hn_batch *batch = progress->batch;
    size_t strategy = task / (batch->space_count * batch->run_count);
    size_t space = task / batch->run_count % batch->space_count;
    const struct hn_scale *scale = &batch->scales[space];
    uint64_t count = (uint64_t)((double)scale->budget * margin) + 1;
    const struct hn_run_options options = {
        .recorded = &batch->spaces[space],
        .strategy = batch->strategies[strategy],
        .priors = batch->priors != NULL ? &batch->priors[space] : NULL,
        .seed = run_seed(batch, strategy, space, task % batch->run_count),
        .look_ahead = (unsigned)batch->look_ahead,
        .cores = batch->cores,
        .ask_chance = batch->ask_chance,
        .budget_count = count > batch->evaluations ? count : batch->evaluations,
        .budget_ms = scale->time_end_ms * margin,
    };
    return hn_run_make(&options, &batch->runs[task], err);
}

static void show_progress(void *context, size_t finished)
{
    enum { LOG_INTERVAL_MS = 5000, SHOW_INTERVAL_MS = 100 };
    struct progress *progress = context;
    double now = hn_now_ms();
    if (now - progress->shown_ms < (progress->terminal ? SHOW_INTERVAL_MS : LOG_INTERVAL_MS))
        return;
    double rate = (double)finished / (now - progress->started_ms) * 1000;
    dprintf(STDERR_FILENO, "%s%zu/%zu runs | %.0f a minute%s", progress->terminal ? "\r\033[K" : "",
            finished, progress->total, rate * 60, progress->terminal ? "" : "\n");
    progress->shown_ms = now;
}

enum hn_status hn_batch_run(struct hn_batch *batch, struct hn_error *err)
{
    double now = hn_now_ms();
    struct progress progress = {
        .batch = batch,
        .started_ms = now,
        .shown_ms = now,
        .total = batch->strategy_count * batch->space_count * batch->run_count,
        .terminal = isatty(STDERR_FILENO) != 0,
    };
    batch->runs = hn_need(progress.total, sizeof *batch->runs);
    const struct tasks tasks = {
        .run = run_one, .context = &progress, .tick = batch->quiet ? NULL : show_progress};
    enum hn_status status = run_tasks(tasks, progress.total, batch->jobs, err);
    if (progress.terminal && !batch->quiet)
        dprintf(STDERR_FILENO, "\r\033[K");
    return status;
}

const struct hn_run *hn_batch_runs(const struct hn_batch *batch, size_t strategy, size_t space)
{
    return &batch->runs[(strategy * batch->space_count + space) * batch->run_count];
}

struct scoring {
    const struct hn_batch *batch;
    struct hn_score *scores;
};

static void score_one(void *context, size_t task)
{
    const struct scoring *scoring = context;
    const struct hn_batch *batch = scoring->batch;
    size_t space = task % batch->space_count;
    hn_score_runs(&batch->spaces[space].table, &batch->scales[space],
                  hn_batch_runs(batch, task / batch->space_count, space), batch->run_count,
                  batch->seed, &scoring->scores[task]);
}

void hn_batch_score(const struct hn_batch *batch, struct hn_score *scores)
{
    struct scoring scoring = {batch, scores};
    hn_parallel_do(batch->strategy_count * batch->space_count, batch->jobs, score_one, &scoring);
}
