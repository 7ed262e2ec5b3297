/* SPDX-License-Identifier: MIT */
#include "tuner/simulate/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/interrupt.h"
#include "tuner/simulate/machine_clock.h"
#include "tuner/strategy/telling.h"

/* From the first to 16 * 1.2^64 evaluations. */
enum { FIRST_CHANCE = 16, CHANCES_MOST = 64 };

struct ticket {
    uint32_t row;
    bool repeated; /* an earlier ticket has the row */
};

struct drive {
    const struct hn_run_options *options;
    struct hn_strategy *strategy;
    struct ticket *tickets;
    size_t count;
    size_t capacity;
    uint64_t told_compiled;
    uint64_t told_finished;
    bool *proposed;     /* by row */
    bool *declined;     /* by row */
    double *compile_ms; /* by row: what it took, or after how long it was stopped */
    size_t distinct;
    size_t declined_count;
    double cost_ms;
    struct hn_run_chance chances[CHANCES_MOST];
    size_t chance_count;
};

static bool is_stopped(const struct drive *drive, uint32_t row)
{
    return drive->compile_ms[row] < drive->options->recorded->table.rows[row].compile_ms;
}

static void tell_compiled(struct drive *drive, uint64_t t)
{
    const struct ticket *ticket = &drive->tickets[t];
    const struct hn_recorded *recorded = drive->options->recorded;
    if (is_stopped(drive, ticket->row) ||
        hn_tell_compiled(drive->options->strategy, drive->strategy, t,
                         &recorded->observations[ticket->row]) ||
        ticket->repeated)
        return;
    drive->declined[ticket->row] = true;
    drive->declined_count++;
    drive->cost_ms -= recorded->table.rows[ticket->row].cost_ms;
}

static void tell_finished(struct drive *drive, uint64_t t)
{
    const struct hn_strategy_kind *kind = drive->options->strategy;
    uint32_t row = drive->tickets[t].row;
    struct hn_observation finished = drive->options->recorded->observations[row];
    const struct hn_table_row *measured = &drive->options->recorded->table.rows[row];
    finished.compile_ms = drive->compile_ms[row];
    finished.evaluate_ms = measured->cost_ms - measured->compile_ms;
    if (is_stopped(drive, row)) {
        finished.outcome = HN_OUTCOME_COMPILE_STOPPED;
        finished.cost = NAN;
        finished.evaluate_ms = 0;
    }
    if (drive->declined[row]) {
        finished.outcome = HN_OUTCOME_SKIPPED;
        finished.cost = NAN;
        finished.evaluate_ms = 0;
    }
    if (kind->finished != NULL)
        kind->finished(drive->strategy, t, &finished);
}

/* All that proposal t may know. */
static void tell_for(struct drive *drive, uint64_t t)
{
    struct hn_telling due = hn_telling_before(t, drive->options->look_ahead, drive->count);
    while (drive->told_compiled < due.compiled)
        tell_compiled(drive, drive->told_compiled++);
    while (drive->told_finished < due.finished)
        tell_finished(drive, drive->told_finished++);
}

/* For the last proposal. Without a clock there is nothing to gain by stopping. */
static double patience_ms(const struct drive *drive)
{
    const struct hn_strategy_kind *kind = drive->options->strategy;
    bool asks = drive->options->cores > 0 && kind->patience != NULL;
    return asks ? kind->patience(drive->strategy) : INFINITY;
}

static enum hn_status admit(struct drive *drive, const uint16_t *choice, struct hn_error *err)
{
    const struct hn_recorded *recorded = drive->options->recorded;
    uint64_t point = hn_space_find(recorded->space, choice);
    if (point == UINT64_MAX)
        return hn_fail(err, HN_ERUN, "strategy %s proposed a point that is not in %s",
                       drive->options->strategy->name, recorded->name);
    if (drive->count == drive->capacity) {
        size_t capacity = drive->capacity * 2 + 256;
        struct ticket *tickets = realloc(drive->tickets, capacity * sizeof *tickets);
        if (tickets == NULL)
            return hn_fail_memory(err);
        drive->tickets = tickets;
        drive->capacity = capacity;
    }
    uint32_t row = recorded->row_of_point[point];
    drive->tickets[drive->count++] = (struct ticket){.row = row, .repeated = drive->proposed[row]};
    if (drive->proposed[row])
        return HN_OK;
    drive->proposed[row] = true;
    drive->distinct++;
    drive->cost_ms += recorded->table.rows[row].cost_ms;
    drive->compile_ms[row] = fmin(recorded->table.rows[row].compile_ms, patience_ms(drive));
    return HN_OK;
}

/* Notes the chance when it is time to. */
static void ask_chance(struct drive *drive)
{
    const struct hn_strategy_kind *kind = drive->options->strategy;
    size_t count = drive->chance_count;
    size_t evaluated = drive->distinct - drive->declined_count;
    size_t due = count > 0 ? drive->chances[count - 1].count * 6 / 5 + 1 : FIRST_CHANCE;
    if (!drive->options->ask_chance || kind->chance == NULL || count == CHANCES_MOST ||
        evaluated < due)
        return;
    double chance = kind->chance(drive->strategy);
    if (!isnan(chance))
        drive->chances[drive->chance_count++] = (struct hn_run_chance){evaluated, chance};
}

static bool budget_is_used(const struct drive *drive)
{
    return drive->distinct - drive->declined_count >= drive->options->budget_count &&
           drive->cost_ms >= drive->options->budget_ms;
}

static enum hn_status search(struct drive *drive, uint16_t *choice, struct hn_error *err)
{
    uint64_t repeats = 0;
    size_t size = drive->options->recorded->table.row_count;
    while (drive->distinct < size && repeats < HN_REPEATS_MOST && !budget_is_used(drive)) {
        uint64_t t = drive->count;
        size_t known = drive->distinct;
        if (hn_interrupted() != 0)
            return HN_EINTERRUPTED;
        tell_for(drive, t);
        ask_chance(drive);
        if (!drive->options->strategy->propose(drive->strategy, t, choice))
            break;
        enum hn_status status = admit(drive, choice, err);
        if (status != HN_OK)
            return status;
        repeats = drive->distinct > known ? 0 : repeats + 1;
    }
    /* What is declined must not depend on where the budget ends. */
    uint64_t end = drive->count + drive->options->look_ahead;
    for (uint64_t t = drive->count; t < end; t++)
        tell_for(drive, t);
    return HN_OK;
}

/* Tickets as work for a machine. */
static void list_jobs(const struct drive *drive, struct hn_machine_job *jobs, size_t *first)
{
    const struct hn_recording_table *table = &drive->options->recorded->table;
    for (size_t t = 0; t < drive->count; t++) {
        const struct ticket *ticket = &drive->tickets[t];
        const struct hn_table_row *row = &table->rows[ticket->row];
        if (!ticket->repeated)
            first[ticket->row] = t;
        jobs[t] = (struct hn_machine_job){.original = first[ticket->row],
                                          .compile_ms = drive->compile_ms[ticket->row],
                                          .evaluate_ms = drive->declined[ticket->row] ||
                                                                 is_stopped(drive, ticket->row)
                                                             ? 0
                                                             : row->cost_ms - row->compile_ms};
    }
}

static enum hn_status keep_clock(const struct drive *drive, struct hn_run *run,
                                 struct hn_error *err)
{
    struct hn_machine_job *jobs = malloc((drive->count + 1) * sizeof *jobs);
    size_t *first = calloc(drive->options->recorded->table.row_count, sizeof *first);
    double *ends_ms = malloc((drive->count + 1) * sizeof *ends_ms);
    run->ends_ms = malloc((drive->distinct + 1) * sizeof *run->ends_ms);
    enum hn_status status = HN_OK;
    if (jobs == NULL || first == NULL || ends_ms == NULL || run->ends_ms == NULL)
        status = hn_fail_memory(err);
    if (status == HN_OK) {
        list_jobs(drive, jobs, first);
        status = hn_machine_clock(jobs, drive->count, drive->options->look_ahead,
                                  drive->options->cores, ends_ms, err);
    }
    for (size_t i = 0; status == HN_OK && i < run->count; i++)
        run->ends_ms[i] = ends_ms[first[run->rows[i]]];
    free(jobs);
    free(first);
    free(ends_ms);
    return status;
}

static enum hn_status collect(const struct drive *drive, struct hn_run *run, struct hn_error *err)
{
    run->rows = malloc((drive->distinct + 1) * sizeof *run->rows);
    if (run->rows == NULL)
        return hn_fail_memory(err);
    for (size_t t = 0; t < drive->count; t++) {
        const struct ticket *ticket = &drive->tickets[t];
        if (!ticket->repeated && !drive->declined[ticket->row] && !is_stopped(drive, ticket->row))
            run->rows[run->count++] = ticket->row;
    }
    run->declined = drive->declined_count;
    run->chances = malloc((drive->chance_count + 1) * sizeof *run->chances);
    if (run->chances == NULL)
        return hn_fail_memory(err);
    memcpy(run->chances, drive->chances, drive->chance_count * sizeof *run->chances);
    run->chance_count = drive->chance_count;
    return drive->options->cores > 0 ? keep_clock(drive, run, err) : HN_OK;
}

static double thread_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static enum hn_status search_with_strategy(struct drive *drive, uint16_t *choice,
                                           struct hn_error *err)
{
    const struct hn_run_options *options = drive->options;
    const struct hn_priors *priors = options->priors;
    const struct hn_search given = {.space = options->recorded->space,
                                    .seed = options->seed,
                                    .look_ahead = options->look_ahead,
                                    .priors = priors != NULL ? priors->items : NULL,
                                    .prior_count = priors != NULL ? priors->count : 0};
    enum hn_status status = options->strategy->create(&given, &drive->strategy, err);
    if (status != HN_OK)
        return status;
    status = search(drive, choice, err);
    options->strategy->destroy(drive->strategy);
    return status;
}

enum hn_status hn_run_make(const struct hn_run_options *options, struct hn_run *run,
                           struct hn_error *err)
{
    const struct hn_recording_table *table = &options->recorded->table;
    double start_ms = thread_ms();
    struct drive drive = {.options = options};
    drive.proposed = calloc(table->row_count, sizeof *drive.proposed);
    drive.declined = calloc(table->row_count, sizeof *drive.declined);
    drive.compile_ms = calloc(table->row_count, sizeof *drive.compile_ms);
    uint16_t *choice = calloc(table->parameter_count, sizeof *choice);
    *run = (struct hn_run){.count = 0};
    enum hn_status status = HN_OK;
    if (drive.proposed == NULL || drive.declined == NULL || drive.compile_ms == NULL ||
        choice == NULL)
        status = hn_fail_memory(err);
    if (status == HN_OK)
        status = search_with_strategy(&drive, choice, err);
    if (status == HN_OK)
        status = collect(&drive, run, err);
    if (status == HN_OK && run->count > 0)
        run->overhead_ms = (thread_ms() - start_ms) / (double)run->count;
    free(drive.tickets);
    free(drive.proposed);
    free(drive.declined);
    free(drive.compile_ms);
    free(choice);
    return status;
}

void hn_run_finish(struct hn_run *run)
{
    free(run->rows);
    free(run->chances);
    free(run->ends_ms);
    *run = (struct hn_run){.count = 0};
}
