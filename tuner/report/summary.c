/* SPDX-License-Identifier: MIT */
#include "tuner/report/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cache/record/front.h"
#include "cache/record/record_json.h"
#include "runtime/bench/roofs.h"
#include "runtime/plan/launch.h"
#include "tuner/report/edges.h"
#include "tuner/report/findings.h"
#include "tuner/report/format.h"
#include "tuner/report/outcomes.h"
#include "tuner/report/roof.h"
#include "tuner/report/staging.h"
#include "tuner/report/table.h"
#include "tuner/report/terminal.h"

enum { BEST_SHOWN = 5, EDGES_SHOWN = 3 };

static void print_title(const struct hn_backend *backend, FILE *file)
{
    const struct hn_task *task = backend->task;
    char regime[HN_FORMAT_SIZE];
    struct hn_text problem;
    hn_text_init(&problem);
    hn_bindings_append(&problem, task->problem);
    hn_format_regime(task->identity.regime, regime);
    fprintf(file, "%s%s%s on %s, %s%s\n", task->identity.kernel, problem.length > 0 ? " " : "",
            problem.length > 0 ? problem.data : "", task->identity.device.name, regime,
            backend->simulated ? ", simulated from a recording" : "");
    if (backend->note[0] != '\0')
        fprintf(file, "  %s\n", backend->note);
    hn_text_finish(&problem);
}

/* What the rows of a table are set against. */
struct scale {
    const struct hn_backend *backend;
    const struct hn_plan *plan;
    const struct hn_roofs
        *roofs; /* NULL: not known, or the plan does not say what to set against them */
};

/* What a table has beside what all have. */
struct extras {
    bool warned;
    bool weighed;
};

static struct hn_table *create_table(const struct scale *scale, const char *first,
                                     const struct extras *extras)
{
    const char *merit = hn_format_merit_name(scale->plan);
    char heading[HN_FORMAT_SIZE];
    snprintf(heading, sizeof heading, ">%s", merit != NULL ? merit : "merit");
    const char *const headings[] = {first,   ">time",   ">±95%",   heading,
                                    ">regs", ">shared", ">occup.", NULL};
    const char *const with_roof[] = {first,   ">time",   ">±95%",   heading, ">of roof",
                                     ">regs", ">shared", ">occup.", NULL};
    struct hn_table *table = hn_table_create(scale->roofs != NULL ? with_roof : headings);
    if (extras->weighed)
        hn_table_column(table, ">", "energy");
    if (extras->warned)
        hn_table_column(table, "", "warnings");
    hn_table_parameters(table, scale->plan->parameters, scale->plan->parameter_count);
    return table;
}

/* "93% copy" */
static void add_roof(struct hn_table *table, const struct scale *scale,
                     const struct hn_record *record, bool timed)
{
    struct hn_roof roof;
    if (scale->roofs == NULL)
        return;
    if (timed && hn_roof_of(scale->roofs, scale->backend, record, &roof))
        hn_table_cell(table, "%.0f%% %s", roof.share * 100, roof.name);
    else
        hn_table_cell(table, "%s", "");
}

static void add_resources(struct hn_table *table, const struct hn_resources *resources)
{
    char shared[HN_FORMAT_SIZE];
    if (!resources->known) {
        for (int i = 0; i < 3; i++)
            hn_table_cell(table, "-");
        return;
    }
    hn_format_bytes((double)hn_resources_shared_bytes(resources), shared);
    hn_table_cell(table, "%d", resources->registers);
    hn_table_cell(table, "%s", shared);
    hn_table_cell(table, "%d%%", hn_format_percent(resources->occupancy));
}

static void add_row(struct hn_table *table, const struct scale *scale,
                    const struct hn_record *record, const char *mark, const struct extras *extras)
{
    char text[HN_FORMAT_SIZE];
    bool timed = record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_DUPLICATE;
    double merit = hn_format_merit_value(scale->plan, record);
    hn_table_cell(table, "%s", mark);
    hn_format_time(record->timing.median_us, text);
    hn_table_cell(table, "%s", timed ? text : hn_outcome_name(record->outcome));
    hn_format_spread(&record->timing, text);
    hn_table_cell(table, "%s", timed ? text : "");
    if (timed && isfinite(merit))
        hn_table_cell(table, "%.*f", fabs(merit) >= 100 ? 0 : 2, merit);
    else
        hn_table_cell(table, "%s", "");
    add_roof(table, scale, record, timed);
    add_resources(table, &record->resources);
    if (extras->weighed) {
        hn_format_energy(hn_observed(&record->observed, "energy.joules"), text);
        hn_table_cell(table, "%s", text);
    }
    if (extras->warned)
        hn_table_warnings(table, record->resources.warnings);
    hn_table_point(table, scale->plan->parameters, scale->plan->parameter_count, &record->point);
}

static const char *verification_note(const struct hn_plan *plan, const struct hn_record *best)
{
    switch (best->verdict.kind) {
    case HN_UNVERIFIED:
        return "UNVERIFIED: the config says `reference: none`, so nothing was compared";
    case HN_SELF_VERIFIED:
        return "self-verified: compared with the template at its defaults, not with a reference";
    case HN_NOT_RECORDED:
        return "verification not recorded: the file does not say whether results were compared";
    case HN_VERIFIED:
        break;
    }
    if (plan->reference.kind == HN_REFERENCE_FILES)
        return "verified on one seed: what is right for other inputs is in no file";
    return NULL;
}

/* Records of a session, read for as long as they are printed. */
struct shown {
    struct hn_record *records;
    size_t count;
};

static void finish_shown(struct shown *shown)
{
    for (size_t i = 0; i < shown->count; i++)
        hn_record_finish(&shown->records[i]);
    free(shown->records);
    *shown = (struct shown){0};
}

static struct extras extras_of(const struct shown *shown)
{
    struct extras extras = {.warned = false};
    for (size_t i = 0; i < shown->count; i++) {
        extras.warned = extras.warned || shown->records[i].resources.warnings != 0;
        extras.weighed =
            extras.weighed || hn_observed(&shown->records[i].observed, "energy.windows") > 0;
    }
    return extras;
}

/* What is nowhere else: of those shown, which are no worse in both than another; and how it was
 * measured. */
static void print_energy(const struct shown *best, FILE *file)
{
    double spread = 0;
    const char *separator = " ";
    const struct hn_bindings *any = NULL;
    for (size_t i = 0; i < best->count; i++) {
        const struct hn_bindings *one = &best->records[i].observed;
        any = any == NULL && hn_observed(one, "energy.windows") > 0 ? one : any;
        spread = fmax(spread, hn_observed(one, "energy.spread"));
    }
    if (any == NULL)
        return;
    double windows = hn_observed(any, "energy.windows");
    fputs("  front of time and energy:", file);
    for (size_t i = 0; i < best->count; i++) {
        if (!hn_front_has(best->records, best->count, i))
            continue;
        fprintf(file, "%s%zu", separator, i + 1);
        separator = ", ";
    }
    fprintf(
        file,
        "; each in %.0f windows of %.1f s that differ by ±%.2f%% at most, the first at %.0f W and "
        "%.0f °C; the idle GPU takes %.0f W\n",
        windows, hn_observed(any, "energy.seconds") / windows, spread * 100,
        hn_observed(any, "energy.power_w"), hn_observed(any, "energy.temperature_c"),
        hn_observed(any, "energy.idle_w"));
}

static void read_shown(const struct hn_session *session, const struct hn_task *task,
                       const uint32_t *tickets, size_t count, struct shown *shown,
                       struct hn_error *err)
{
    *shown = (struct shown){.records = hn_need(count, sizeof *shown->records)};
    while (!hn_failed(err) && shown->count < count) {
        struct hn_record *record = &shown->records[shown->count];
        if (hn_session_record(session, tickets[shown->count], record, err) != HN_OK)
            return;
        hn_launch_recall_shared(task->plan, task->problem, record);
        shown->count++;
    }
}

static void print_best(const struct scale *scale, const struct shown *best, size_t tied, FILE *file)
{
    const struct extras extras = extras_of(best);
    struct hn_table *table = create_table(scale, ">#", &extras);
    for (size_t i = 0; i < best->count; i++) {
        char mark[HN_FORMAT_SIZE];
        snprintf(mark, sizeof mark, "%zu%s", i + 1, tied > 1 && i < tied ? "=" : " ");
        add_row(table, scale, &best->records[i], mark, &extras);
    }
    hn_table_highlight(table, tied);
    hn_table_print(table, file, 2);
    hn_table_destroy(table);
    if (tied > 1)
        fprintf(file,
                "  = tied: the best %zu can not be told apart; the first in the race is taken\n",
                tied);
    print_energy(best, file);
    const char *note = verification_note(scale->plan, &best->records[0]);
    if (note != NULL)
        fprintf(file, "  %s\n", note);
    if (best->records[0].verdict.differed > 0)
        fprintf(
            file,
            "  %zu of %zu elements of the best's outputs differ by more than the tolerance, which "
            "'mismatches' allows\n",
            best->records[0].verdict.differed, best->records[0].verdict.compared);
    if (best->records[0].timing.unstable)
        fputs("  unstable: the best's times did not settle; measure again on a quiet device\n",
              file);
}

static void print_ladder(const struct scale *scale, const struct shown *ladder, FILE *file)
{
    if (ladder->count == 0)
        return;
    const struct extras extras = extras_of(ladder);
    struct hn_table *table = create_table(scale, ">ladder", &extras);
    for (size_t i = 0; i < ladder->count; i++) {
        char mark[HN_FORMAT_SIZE];
        snprintf(mark, sizeof mark, "%zu", i + 1);
        add_row(table, scale, &ladder->records[i], mark, &extras);
    }
    fputc('\n', file);
    hn_table_print(table, file, 2);
    hn_table_destroy(table);
    fputs("  ladder: the config's own points, always measured in full\n", file);
}

static void print_outcomes(const struct hn_session_state *state, FILE *file)
{
    const char *separator = "\n  ";
    for (int outcome = 0; outcome < HN_OUTCOME_COUNT; outcome++) {
        if (state->counts[outcome] == 0)
            continue;
        fprintf(file, "%s%llu %s", separator, (unsigned long long)state->counts[outcome],
                hn_outcome_name((enum hn_outcome)outcome));
        separator = ", ";
    }
    fprintf(file, "  (%llu of %s points", (unsigned long long)state->finished, state->points_text);
    if (state->reused > 0)
        fprintf(file, ", %llu of them from the cache", (unsigned long long)state->reused);
    fputs(")\n", file);
    hn_outcomes_explain(state->counts, file);
}

/* What the end of the budget has left undone. */
static void print_cut(const struct hn_session_state *state, FILE *file)
{
    if (state->cut > 0)
        fprintf(file, "  the budget ended with %llu point%s under way, of which nothing is kept\n",
                (unsigned long long)state->cut, state->cut > 1 ? "s" : "");
    if (state->unraced)
        fputs("  the budget ended before the final race: the best is the one that the search saw\n",
              file);
}

/* Whether there may be something better, where not everything was looked at. */
static void print_chance(const struct hn_session_state *state, FILE *file)
{
    if (isnan(state->chance) || state->finished == state->points)
        return;
    fprintf(file, "  the chance that a point better by 2%% exists is estimated at %.0f%%",
            state->chance * 100);
    fputs(state->stopped ? ": it stopped there; --stop-chance 0 goes on\n" : "\n", file);
}

/* The first message of a kind of failure, with its point. */
static void print_failure(const struct hn_session *session, size_t ticket, FILE *file,
                          struct hn_error *err)
{
    struct hn_record record;
    struct hn_text point = {0};
    if (hn_session_record(session, ticket, &record, err) != HN_OK)
        return;
    hn_bindings_append(&point, &record.point);
    fprintf(file, "  %s, first at %s:\n    %s\n", hn_outcome_name(record.outcome),
            point.data != NULL ? point.data : "?",
            record.message != NULL ? record.message : "no message");
    hn_text_finish(&point);
    hn_record_finish(&record);
}

/* What is skipped needs no words, unless the config refuses it. */
static void print_failures(const struct hn_session *session, const struct hn_plan *plan,
                           const struct hn_ranking *ranking, FILE *file, struct hn_error *err)
{
    int first = plan->refused != 0 ? HN_OUTCOME_SKIPPED : HN_OUTCOME_INVALID_LAUNCH;
    for (int outcome = first; outcome < HN_OUTCOME_COUNT; outcome++) {
        size_t i = 0;
        while (i < ranking->count &&
               hn_session_outcome(session, ranking->tickets[i]) != (enum hn_outcome)outcome)
            i++;
        if (!hn_failed(err) && i < ranking->count)
            print_failure(session, ranking->tickets[i], file, err);
    }
}

/* Files that were computed from other inputs fail everything. */
static void print_files_hint(const struct hn_plan *plan, const struct hn_session_state *state,
                             FILE *file)
{
    if (plan->reference.kind == HN_REFERENCE_FILES && state->best == NULL)
        fputs("  the reference's files have to be computed from the inputs of this --seed, which "
              "`hone inputs` writes\n",
              file);
}

/* Neither compiling nor on the GPU: what the tuner itself takes, its start included. */
static double overhead_s(const struct hn_session_state *state)
{
    return fmax(state->elapsed_s - state->usage.working_s, 0);
}

/* Of those that were not in the cache; 0 where there are none. */
static double overhead_ms_a_point(const struct hn_session_state *state)
{
    uint64_t fresh = state->finished - state->reused;
    return fresh > 0 ? overhead_s(state) * 1e3 / (double)fresh : 0;
}

static void print_time(const struct hn_session_state *state, FILE *file)
{
    char elapsed[HN_FORMAT_SIZE];
    const struct hn_usage *usage = &state->usage;
    hn_format_duration(state->elapsed_s, elapsed);
    fprintf(
        file,
        "  %s: compiling for %.1f s (CPU %.1f s), GPU busy %.1f s (verify %.1f, measure %.1f), ",
        elapsed, usage->compile_wall_s, usage->compile_cpu_s, state->gpu_busy_s, state->verify_s,
        state->measure_s);
    fprintf(file, "idle %.1f s; own overhead %.2f s", fmax(state->elapsed_s - state->gpu_busy_s, 0),
            overhead_s(state));
    if (state->finished > state->reused)
        fprintf(file, ", %.2f ms a point", overhead_ms_a_point(state));
    if (state->noise > 0)
        fprintf(file, "; noise floor %.2f%%", state->noise * 100);
    fputc('\n', file);
}

/* With --workers: who measured how much, and how they differ. */
static void print_cards(const struct hn_usage *usage, FILE *file)
{
    for (size_t i = 0; i < usage->card_count; i++) {
        const struct hn_card_usage *card = &usage->cards[i];
        if (card->card[0] == '\0')
            continue;
        fprintf(file, "  %s %s: %llu point%s", card->host, card->card,
                (unsigned long long)card->measured, hn_plural(card->measured));
        if (card->ratio != 1)
            fprintf(file, "; its times are %.2f of the first card's, and divided by that",
                    card->ratio);
        fputc('\n', file);
    }
}

/* What may have bent the times. */
static void print_health(const struct hn_health *health, const struct hn_record *best, FILE *file)
{
    char reasons[HN_FORMAT_SIZE * 2];
    if (health->held_down > 0) {
        hn_slowdowns_describe(health->reasons, reasons, sizeof reasons);
        fprintf(file, "  the clocks were held down by %s in %u of %u looks", reasons,
                health->held_down, health->checks);
        if (best != NULL && hn_conditions_held_down(&best->observed) != 0)
            fprintf(file, ", and while the best was measured (%.0f MHz)",
                    hn_observed(&best->observed, "conditions.sm_mhz"));
        fputc('\n', file);
    }
    if (health->other_processes > 0)
        fprintf(file, "  %u other process%s used this GPU meanwhile, one of them %s\n",
                health->other_processes, health->other_processes > 1 ? "es" : "", health->process);
}

static void print_trials(const unsigned *trials, FILE *file)
{
    if (trials != NULL && trials[HN_SUSPICION_ACQUITTED] > 0)
        fprintf(file, "  suspected of leaving work out, and acquitted: %u\n",
                trials[HN_SUSPICION_ACQUITTED]);
    if (trials != NULL && trials[HN_SUSPICION_CHECK_FAILED] > 0)
        fprintf(file,
                "  warning: the check for work that is left out failed for %u: its control looked "
                "guilty as well, or it came to no end; nobody is accused\n",
                trials[HN_SUSPICION_CHECK_FAILED]);
}

static void print_unweighed(const struct hn_session_state *state, FILE *file)
{
    if (state->unweighed)
        fputs("  energy was not measured: NVML has no energy counter of this GPU, or the launches "
              "of this plan can not "
              "follow one another\n",
              file);
}

static void print_copy(const struct hn_session_state *state, FILE *file)
{
    const struct hn_value *bytes =
        state->best != NULL ? hn_bindings_get(&state->best->metrics, "bytes") : NULL;
    if (bytes == NULL || state->copy_gb_per_s <= 0)
        return;
    double rate = hn_value_number(bytes) / state->best->timing.median_us / 1e3;
    fprintf(
        file,
        "  the best moves %.0f GB/s, %.1f%% of a device-to-device memcpy of as much (%.0f GB/s)\n",
        rate, rate / state->copy_gb_per_s * 100, state->copy_gb_per_s);
}

enum { FINDINGS_SHOWN = 3 };

/* With --counters; or why there are none. */
static void print_counted(const struct hn_session_state *state, const struct scale *scale,
                          const struct hn_record *best, FILE *file)
{
    struct hn_findings findings;
    char bound[128];
    if (state->no_counters[0] != '\0')
        fprintf(file, "  no counters: %s\n", state->no_counters);
    hn_findings_make(best, scale->roofs, 0, &findings);
    if (!findings.known)
        return;
    hn_findings_bound(&findings, bound, sizeof bound);
    fprintf(file, "  bound by %s\n", bound);
    hn_findings_print(&findings, best, "  ", FINDINGS_SHOWN, file);
}

/* How many are shown: of those that have a time, the first few. */
static size_t count_shown(const struct hn_session *session, const struct hn_ranking *ranking)
{
    size_t count = 0;
    while (count < ranking->count && count < BEST_SHOWN &&
           hn_session_outcome(session, ranking->tickets[count]) == HN_OUTCOME_OK)
        count++;
    return count;
}

static void print_roofs(const struct scale *scale, FILE *file)
{
    struct hn_text text;
    if (scale->roofs == NULL)
        return;
    hn_text_init(&text);
    hn_roofs_append(&text, scale->roofs);
    fprintf(file, "  roofs: %s\n", text.failed ? "" : text.data);
    hn_text_finish(&text);
    if (hn_roof_pipe(scale->plan) == HN_PIPE_COUNT)
        return;
    hn_text_init(&text);
    hn_tensor_roofs_append(&text, &scale->roofs->tensor);
    fprintf(file, "  of tensor cores: %s\n",
            text.failed || text.length == 0 ? "not known on this device" : text.data);
    hn_text_finish(&text);
}

/* A time that can not be is no record to be proud of. It was measured twice, in the search and in
 * the race. */
static void print_beyond(const struct scale *scale, const struct shown *best, FILE *file)
{
    const char *metric = scale->roofs == NULL
                             ? NULL
                             : hn_roof_beyond(scale->roofs, scale->backend, &best->records[0]);
    if (metric != NULL)
        fprintf(file,
                "  FASTER THAN THE ROOF: the best can not do what the metric `%s` says in %.4g us; "
                "check "
                "`%s`%s\n",
                metric, best->records[0].timing.median_us, metric,
                strcmp(metric, "flops") == 0
                    ? ", or whether it uses more than FP32 units: what tensor cores compute is "
                      "named `flops_bf16`, `flops_fp16`, `flops_tf32` or `flops_fp8`"
                    : "");
}

static void print_found(const struct hn_session *session, const struct hn_ranking *ranking,
                        const struct scale *scale, FILE *file, struct hn_error *err)
{
    const struct hn_task *task = scale->backend->task;
    struct hn_sentences sentences;
    struct shown best = {0}, ladder = {0};
    uint32_t *tickets;
    size_t count;
    if (hn_session_ladder(session, &tickets, &count, err) != HN_OK)
        return;
    read_shown(session, task, tickets, count, &ladder, err);
    read_shown(session, task, ranking->tickets, count_shown(session, ranking), &best, err);
    free(tickets);
    if (!hn_failed(err) && best.count > 0) {
        fputc('\n', file);
        print_best(scale, &best, ranking->tied, file);
        print_ladder(scale, &ladder, file);
        hn_staging_print(&best.records[0], "  pipeline  ", file);
        FILE *text = hn_sentences_open(&sentences, file);
        print_copy(hn_session_state(session), text);
        print_roofs(scale, text);
        print_beyond(scale, &best, text);
        print_counted(hn_session_state(session), scale, &best.records[0], text);
        hn_sentences_close(&sentences);
    }
    finish_shown(&best);
    finish_shown(&ladder);
}

static bool look_up(void *context, const struct hn_bindings *point, struct hn_edge_time *time)
{
    const struct hn_session *session = context;
    struct hn_record record;
    size_t ticket = hn_session_find(session, point);
    if (ticket == SIZE_MAX)
        return false;
    enum hn_outcome outcome = hn_session_outcome(session, ticket);
    if ((outcome != HN_OUTCOME_OK && outcome != HN_OUTCOME_SLOWER &&
         outcome != HN_OUTCOME_DUPLICATE) ||
        hn_session_record(session, ticket, &record, NULL) != HN_OK)
        return false;
    hn_edge_time_of(&record, time);
    hn_record_finish(&record);
    return true;
}

/* Where the best lies on the edge of a parameter's range and the trend goes on: the space should be
 * widened. Reads no more than the records beside the best. */
static void find_edges(const struct hn_session *session, const struct hn_backend *backend,
                       struct hn_edges *edges)
{
    const struct hn_record *best = hn_session_state(session)->best;
    *edges = (struct hn_edges){0};
    if (best != NULL)
        hn_edges_find(backend->task, &backend->device, best, look_up, (void *)session, NULL, edges);
}

static void print_edges(const struct hn_session *session, const struct hn_backend *backend,
                        FILE *file)
{
    struct hn_edges edges;
    find_edges(session, backend, &edges);
    for (size_t i = 0; i < edges.count && i < EDGES_SHOWN; i++) {
        struct hn_text text = {0};
        hn_edge_append(&text, &edges.items[i]);
        fprintf(file, "  the range ends early: %s\n", text.data);
        hn_text_finish(&text);
    }
    hn_edges_finish(&edges);
}

/* Less is not worth a line. */
static const double least_s = 1;
static const double least_part = 0.2;
/* Of the waiting: less is not worth a word. */
static const double least_share = 0.1;

static double on_compiler(const struct hn_waits *waits)
{
    return waits->cores_s + waits->look_ahead_s + waits->single_s;
}

static void append_slowest(const struct hn_session *session, struct hn_text *text)
{
    const struct hn_session_state *state = hn_session_state(session);
    struct hn_record record;
    if (state->slowest_s <= 0 || hn_session_record(session, state->slowest, &record, NULL) != HN_OK)
        return;
    hn_text_printf(text, ": the slowest took %.1f s, ", state->slowest_s);
    hn_bindings_append(text, &record.point);
    hn_record_finish(&record);
}

static void append_parts(const struct hn_session *session, struct hn_text *text)
{
    const struct hn_session_state *state = hn_session_state(session);
    const struct hn_waits *waits = &state->waits;
    double least = least_share * on_compiler(waits);
    const char *separator = "; ";
    if (waits->cores_s > least) {
        hn_text_printf(text,
                       "%s%.1f s with all compile workers busy (--jobs, --workers: more of them)",
                       separator, waits->cores_s);
        separator = ", ";
    }
    if (waits->look_ahead_s > least) {
        hn_text_printf(text, "%s%.1f s with some, until it may propose more", separator,
                       waits->look_ahead_s);
        hn_text_printf(text, " (--look-ahead %u)", 2 * state->look_ahead);
        separator = ", ";
    }
    if (waits->single_s > least) {
        hn_text_printf(text, "%s%.1f s for one point alone, or the last ones (--compile-timeout",
                       separator, waits->single_s);
        append_slowest(session, text);
        hn_text_append(text, ")");
    }
}

/* A line where the GPU waited for the compiler for a good part of the time: what to change. */
static void print_waits(const struct hn_session *session, FILE *file)
{
    const struct hn_session_state *state = hn_session_state(session);
    double waited_s = on_compiler(&state->waits);
    struct hn_text text;
    if (waited_s < least_s || waited_s < least_part * state->elapsed_s)
        return;
    hn_text_init(&text);
    append_parts(session, &text);
    fprintf(file, "  the GPU waited %.1f s for the compiler%s\n", waited_s, text.data);
    hn_text_finish(&text);
}

enum hn_status hn_summary_print(const struct hn_session *session, const struct hn_backend *backend,
                                const struct hn_roofs *roofs, FILE *file, struct hn_error *err)
{
    const struct scale scale = {backend, backend->task->plan, roofs};
    const struct hn_session_state *state = hn_session_state(session);
    struct hn_sentences sentences;
    struct hn_ranking ranking;
    hn_error_init(err);
    if (hn_session_ranking(session, &ranking, err) != HN_OK)
        return err->status;
    print_title(backend, file);
    print_found(session, &ranking, &scale, file, err);
    FILE *text = hn_sentences_open(&sentences, file);
    print_outcomes(state, text);
    print_cut(state, text);
    print_chance(state, text);
    print_unweighed(state, text);
    print_edges(session, backend, text);
    print_failures(session, scale.plan, &ranking, text, err);
    print_files_hint(scale.plan, state, text);
    if (!backend->simulated) {
        print_time(state, text);
        print_waits(session, text);
        print_cards(&state->usage, text);
        print_health(&state->usage.health, state->best, text);
        print_trials(state->usage.trials, text);
    }
    hn_sentences_close(&sentences);
    hn_ranking_finish(&ranking);
    return err->status;
}

json_t *hn_health_to_json(const struct hn_health *health)
{
    char reasons[HN_FORMAT_SIZE * 2];
    hn_slowdowns_describe(health->reasons, reasons, sizeof reasons);
    return json_pack("{sb si si ss si}", "watching", health->watching, "checks",
                     (int)health->checks, "held_down", (int)health->held_down, "held_down_by",
                     reasons, "other_processes", (int)health->other_processes);
}

static json_t *waits_to_json(const struct hn_waits *waits)
{
    return json_pack("{sf sf sf sf}", "gpu_s", waits->gpu_s, "cores_s", waits->cores_s,
                     "look_ahead_s", waits->look_ahead_s, "single_s", waits->single_s);
}

static void append_phases(json_t *phases, const struct hn_timeline *timeline, double started_ms)
{
    for (size_t i = 0; timeline != NULL && i < timeline->count; i++) {
        const struct hn_span *span = &timeline->spans[i];
        json_array_append_new(
            phases, json_pack("{ss si sf sf sf}", "what", span->what, "count", span->count,
                              "from_s", (span->from_ms - started_ms) / 1e3, "to_s",
                              (span->to_ms - started_ms) / 1e3, "busy_s", span->busy_ms / 1e3));
    }
}

/* What the workers did when, for whoever wants to know where the time of a tune goes:
 * docs/formats.md describes it. An empty array where that is not known. */
static json_t *phases_to_json(const struct hn_session_state *state)
{
    json_t *phases = json_array();
    append_phases(phases, state->usage.compiling, state->started_ms);
    append_phases(phases, state->usage.on_gpu, state->started_ms);
    return phases;
}

static json_t *time_to_json(const struct hn_session_state *state)
{
    const struct hn_usage *usage = &state->usage;
    return json_pack("{sf sf sf sf sf sf sf sf sf sf sf so so}", "elapsed_s", state->elapsed_s,
                     "compile_s", state->compile_s, "compile_cpu_s", usage->compile_cpu_s,
                     "compile_wall_s", usage->compile_wall_s, "verify_s", state->verify_s,
                     "measure_s", state->measure_s, "gpu_busy_s", state->gpu_busy_s, "gpu_idle_s",
                     fmax(state->elapsed_s - state->gpu_busy_s, 0), "overhead_s", overhead_s(state),
                     "overhead_ms_a_point", overhead_ms_a_point(state), "noise", state->noise,
                     "phases", phases_to_json(state), "waits", waits_to_json(&state->waits));
}

/* A record with the share of its roof that it reaches. */
static json_t *record_to_json(const struct hn_backend *backend, const struct hn_roofs *roofs,
                              const struct hn_record *record)
{
    struct hn_roof roof;
    struct hn_findings findings;
    json_t *json = hn_record_to_json(record);
    hn_staging_add_json(record, json);
    hn_findings_make(record, roofs, 0, &findings);
    if (json != NULL && findings.known)
        json_object_set_new(json, "counted", hn_findings_to_json(&findings));
    if (json != NULL && roofs != NULL && hn_roof_of(roofs, backend, record, &roof))
        json_object_set_new(json, "roof",
                            json_pack("{ss sf ss*}", "name", roof.name, "share", roof.share,
                                      "beyond", hn_roof_beyond(roofs, backend, record)));
    return json;
}

/* All of a ranking; and in `front` the places of those that are no worse in time and energy than
 * another. */
static json_t *records_to_json(const struct hn_session *session, const struct hn_backend *backend,
                               const struct hn_roofs *roofs, const struct hn_ranking *ranking,
                               json_t *front, struct hn_error *err)
{
    json_t *array = json_array();
    /* Of each what decides on its place. */
    struct hn_record *all = hn_need(ranking->count, sizeof *all);
    for (size_t i = 0; i < ranking->count; i++) {
        struct hn_record record;
        if (hn_session_record(session, ranking->tickets[i], &record, err) != HN_OK)
            break;
        json_array_append_new(array, hn_needed(record_to_json(backend, roofs, &record)));
        all[i] = (struct hn_record){.outcome = record.outcome, .observed = record.observed};
        hn_bindings_init(&record.observed);
        all[i].timing.median_us = record.timing.median_us;
        hn_record_finish(&record);
    }
    for (size_t i = 0; !hn_failed(err) && i < ranking->count; i++)
        if (hn_front_has(all, ranking->count, i))
            json_array_append_new(front, json_integer((json_int_t)i));
    for (size_t i = 0; i < ranking->count; i++)
        hn_record_finish(&all[i]);
    free(all);
    return array;
}

/* With --workers: where was measured. */
static json_t *cards_to_json(const struct hn_usage *usage)
{
    json_t *cards = json_array();
    for (size_t i = 0; i < usage->card_count; i++)
        json_array_append_new(
            cards, json_pack("{ss ss sI sf ss}", "host", usage->cards[i].host, "card",
                             usage->cards[i].card, "measured", (json_int_t)usage->cards[i].measured,
                             "ratio", usage->cards[i].ratio, "doing", usage->cards[i].doing));
    return cards;
}

static json_t *session_to_json(const struct hn_session *session, const struct hn_backend *backend,
                               const struct hn_roofs *roofs, const struct hn_edges *edges,
                               size_t tied, json_t *records, json_t *front)
{
    const struct hn_session_state *state = hn_session_state(session);
    const struct hn_identity *identity = &backend->task->identity;
    return json_pack(
        "{ss so ss ss ss si sb sb so sI sI so so sb sb si sf ss* so so sO so so so so sO}",
        "kernel", identity->kernel, "problem", hn_bindings_to_json(&identity->problem), "regime",
        identity->regime, "objective", identity->objective, "device", identity->device.name,
        "compute_capability", identity->device.capability, "simulated", backend->simulated, "stale",
        backend->task->stale, "points",
        state->points != UINT64_MAX ? json_integer((json_int_t)state->points) : json_null(),
        "reused", (json_int_t)state->reused, "cut", (json_int_t)state->cut, "outcomes",
        hn_session_counts_to_json(state), "chance",
        isnan(state->chance) ? json_null() : json_real(state->chance), "stopped", state->stopped,
        "unraced", state->unraced, "tied", (int)tied, "copy_gb_per_s", state->copy_gb_per_s,
        "no_counters", state->no_counters[0] != '\0' ? state->no_counters : NULL, "roofs",
        roofs != NULL ? hn_roofs_to_json(roofs) : json_null(), "best",
        tied > 0 ? json_incref(json_array_get(records, 0)) : json_null(), "records", records,
        "time", time_to_json(state), "health", hn_health_to_json(&state->usage.health), "edges",
        hn_edges_to_json(edges), "cards", cards_to_json(&state->usage), "front", front);
}

enum hn_status hn_summary_json(const struct hn_session *session, const struct hn_backend *backend,
                               const struct hn_roofs *roofs, json_t **json, struct hn_error *err)
{
    struct hn_ranking ranking;
    struct hn_edges edges;
    *json = NULL;
    hn_error_init(err);
    if (hn_session_ranking(session, &ranking, err) != HN_OK)
        return err->status;
    json_t *front = json_array();
    json_t *records = records_to_json(session, backend, roofs, &ranking, front, err);
    find_edges(session, backend, &edges);
    if (!hn_failed(err))
        *json = hn_needed(
            session_to_json(session, backend, roofs, &edges, ranking.tied, records, front));
    hn_edges_finish(&edges);
    hn_ranking_finish(&ranking);
    json_decref(records);
    json_decref(front);
    return err->status;
}
