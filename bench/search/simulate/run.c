/* SPDX-License-Identifier: MIT */
#include "bench/search/simulate/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/run.h"
#include "bench/search/simulate/machine_clock.h"
#include "tuner/strategy/schedule.h"

/* From the first to 16 * 1.2^64 evaluations. */
enum { FIRST_CHANCE = 16, CHANCES_MOST = 64 };

struct ticket {
    uint32_t row;
    bool repeated;      /* an earlier ticket has the row */
    double compiled_ms; /* on the machine; of a repeated one 0 */
    double ends_ms;
};

struct drive {
    const struct hn_run_options *options;
    struct hn_strategy *strategy;
    struct ticket *tickets;
    size_t count;
    uint64_t told_finished;
    struct hn_schedule schedule;
    struct hn_machine machine;
    bool *proposed;     /* by row */
    uint64_t *first;    /* by row: its first ticket */
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

/* What the GPU is at for. */
static double evaluate_ms(const struct drive *drive, const struct ticket *ticket)
{
    const struct hn_table_row *row = &drive->options->recorded->table.rows[ticket->row];
    bool measured = !drive->declined[ticket->row] && !is_stopped(drive, ticket->row);
    return measured && !ticket->repeated ? row->cost_ms - row->compile_ms : 0;
}

/* A session tells once it is sure that nothing would be told before: of the others that compile,
 * how long they do so far. */
static double sure_ms(const struct drive *drive, uint64_t number, double from_ms)
{
    double sure = from_ms;
    for (size_t i = 0; i < drive->schedule.count; i++) {
        const struct hn_schedule_ticket *other = &drive->schedule.tickets[i];
        if (other->number >= drive->count || other->number == number ||
            !isnan(other->compiled_ms) || drive->tickets[other->number].repeated)
            continue;
        const struct ticket *ticket = &drive->tickets[other->number];
        double start_ms = ticket->compiled_ms - drive->compile_ms[ticket->row];
        double age_ms = drive->schedule.event_ms - other->start_ms;
        if (age_ms > HN_SCHEDULE_LEAST_MS)
            sure = fmax(sure, fmin(ticket->compiled_ms, start_ms + age_ms));
    }
    return sure;
}

static void tell(struct drive *drive, enum hn_schedule_event event, uint64_t number)
{
    struct ticket *ticket = &drive->tickets[number];
    struct hn_machine *machine = &drive->machine;
    if (event == HN_SCHEDULE_FINISHED) {
        machine->now_ms = fmax(machine->now_ms, sure_ms(drive, number, ticket->ends_ms));
        tell_finished(drive, number);
        hn_schedule_tell(&drive->schedule, event, number, evaluate_ms(drive, ticket));
        drive->told_finished++;
        return;
    }
    machine->now_ms = fmax(machine->now_ms, sure_ms(drive, number, ticket->compiled_ms));
    hn_schedule_tell(&drive->schedule, event, number, 0);
    tell_compiled(drive, number);
    double takes_ms = evaluate_ms(drive, ticket);
    ticket->ends_ms = takes_ms > 0 ? hn_machine_evaluate(machine, takes_ms) : machine->now_ms;
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
    uint64_t point = number_of_point(recorded->space, choice);
    if (point == UINT64_MAX)
        return hn_fail(err, HN_ERUN, "strategy %s proposed a point that is not in %s",
                       drive->options->strategy->name, recorded->name);
    uint32_t row = recorded->row_of_point[point];
    uint64_t number = drive->count;
    struct ticket *ticket = HN_NEXT(drive->tickets, drive->count);
    *ticket = (struct ticket){.row = row, .repeated = drive->proposed[row]};
    if (!ticket->repeated)
        drive->first[row] = number;
    hn_schedule_propose(&drive->schedule, number, drive->first[row]);
    if (ticket->repeated)
        return HN_OK;
    drive->proposed[row] = true;
    drive->distinct++;
    drive->cost_ms += recorded->table.rows[row].cost_ms;
    drive->compile_ms[row] = fmin(recorded->table.rows[row].compile_ms, patience_ms(drive));
    hn_schedule_note(&drive->schedule, number, drive->compile_ms[row], true);
    if (drive->options->cores > 0)
        ticket->compiled_ms = hn_machine_compile(&drive->machine, drive->compile_ms[row]);
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

/* As many as may be made before more is told. done: that was the last one. */
static enum hn_status propose(struct drive *drive, uint16_t *choice, uint64_t *repeats, bool *done,
                              struct hn_error *err)
{
    const struct hn_strategy_kind *kind = drive->options->strategy;
    size_t size = drive->options->recorded->table.row_count;
    while (hn_may_propose(kind, drive->strategy, &drive->schedule)) {
        size_t known = drive->distinct;
        *done = known == size || *repeats == HN_REPEATS_MOST || budget_is_used(drive);
        if (hn_interrupted() != 0)
            return hn_fail(err, HN_EINTERRUPTED, "interrupted");
        if (!*done) {
            ask_chance(drive);
            *done = !kind->propose(drive->strategy, drive->count, choice);
        }
        enum hn_status status = *done ? HN_OK : admit(drive, choice, err);
        if (*done || status != HN_OK)
            return status;
        *repeats = drive->distinct > known ? 0 : *repeats + 1;
    }
    return HN_OK;
}

static enum hn_status search(struct drive *drive, uint16_t *choice, struct hn_error *err)
{
    uint64_t repeats = 0;
    uint64_t more = 0;
    bool done = false;
    do {
        uint64_t number = 0;
        enum hn_status status = done ? HN_OK : propose(drive, choice, &repeats, &done, err);
        if (status != HN_OK)
            return status;
        /* Behind the last proposal it goes on as if there were more: what is declined must not
         * depend on where the budget ends. */
        while (done && hn_schedule_has_room(&drive->schedule)) {
            number = drive->count + more++;
            hn_schedule_propose(&drive->schedule, number, number);
            hn_schedule_note(&drive->schedule, number, 0, true);
        }
        enum hn_schedule_event event = hn_schedule_next(&drive->schedule, &number);
        if (number < drive->count)
            tell(drive, event, number);
        else
            hn_schedule_tell(&drive->schedule, event, number, 0);
    } while (!done || drive->told_finished < drive->count);
    return HN_OK;
}

static void collect(const struct drive *drive, struct hn_run *run)
{
    bool clock = drive->options->cores > 0;
    run->rows = hn_need(drive->distinct, sizeof *run->rows);
    run->ends_ms = clock ? hn_need(drive->distinct, sizeof *run->ends_ms) : NULL;
    for (size_t t = 0; t < drive->count; t++) {
        const struct ticket *ticket = &drive->tickets[t];
        if (ticket->repeated || drive->declined[ticket->row] || is_stopped(drive, ticket->row))
            continue;
        if (clock)
            run->ends_ms[run->count] = ticket->ends_ms;
        run->rows[run->count++] = ticket->row;
    }
    run->declined = drive->declined_count;
    run->chances = hn_need(drive->chance_count, sizeof *run->chances);
    memcpy(run->chances, drive->chances, drive->chance_count * sizeof *run->chances);
    run->chance_count = drive->chance_count;
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
    drive->strategy = options->strategy->create(&given, err);
    if (drive->strategy == NULL)
        return err->status;
    enum hn_status status = search(drive, choice, err);
    options->strategy->destroy(drive->strategy);
    return status;
}

enum hn_status hn_run_make(const struct hn_run_options *options, struct hn_run *run,
                           struct hn_error *err)
{
    const struct hn_recording_table *table = &options->recorded->table;
    double start_ms = thread_ms();
    struct drive drive = {.options = options};
    drive.proposed = hn_need(table->row_count, sizeof *drive.proposed);
    drive.declined = hn_need(table->row_count, sizeof *drive.declined);
    drive.compile_ms = hn_need(table->row_count, sizeof *drive.compile_ms);
    drive.first = hn_need(table->row_count, sizeof *drive.first);
    uint16_t *choice HN_FREED = hn_need(table->parameter_count, sizeof *choice);
    *run = (struct hn_run){.count = 0};
    hn_schedule_init(&drive.schedule, options->look_ahead);
    hn_machine_init(&drive.machine, options->cores);
    enum hn_status status = search_with_strategy(&drive, choice, err);
    if (status == HN_OK)
        collect(&drive, run);
    if (run->count > 0)
        run->overhead_ms = (thread_ms() - start_ms) / (double)run->count;
    free(drive.tickets);
    free(drive.proposed);
    free(drive.declined);
    free(drive.compile_ms);
    free(drive.first);
    hn_schedule_finish(&drive.schedule);
    hn_machine_finish(&drive.machine);
    return status;
}

void hn_run_finish(struct hn_run *run)
{
    free(run->rows);
    free(run->chances);
    free(run->ends_ms);
    *run = (struct hn_run){.count = 0};
}
