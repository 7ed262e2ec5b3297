/* SPDX-License-Identifier: MIT */
#include "tuner/report/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/statistics.h"
#include "cache/record/record.h"
#include "runtime/plan/launch.h"

enum { BEST_SHOWN = 5, EDGES_SHOWN = 3, FINDINGS_SHOWN = 3 };

/* Of a point that was stopped early or failed there is no time. */
#define IF_TIMED "{?outcome=ok,duplicate}"
#define ROWS(first, mark)                                                                          \
    {first, mark}, {">time", "[" IF_TIMED "{timing.median_us:time}|{outcome}]"},                   \
        {">±95%", IF_TIMED "{timing:spread}"}, {"?>[{merit}|merit]", IF_TIMED "{merit:merit}"},    \
        {"?>of roof", IF_TIMED "{roof.share:.0%} {roof.name}"},                                    \
        {">regs", "[{resources.registers}|-]"},                                                    \
        {">shared", "[{resources.shared_bytes+resources.dynamic_shared_bytes:bytes}|-]"},          \
        {">occup.", "[{resources.occupancy:percent}|-]"}, {"?>energy", "{energy.joules:energy}"},  \
        {"?warnings", "{resources.warnings}"}, {"=*", "[{point.*}|-]"},                            \
    {                                                                                              \
        NULL, NULL                                                                                 \
    }
static const struct hn_column best_columns[] = {ROWS(">#", "{#}[{?tied}=| ]")};
static const struct hn_column ladder_columns[] = {ROWS(">ladder", "{#}")};
static const struct hn_column workload_columns[] = {
    {"workload", "{name}"},
    {">default", "[{default_us:time}|-]"},
    {">best", "{best_us:time}"},
    {">ratio", "[{best_us/default_us:.3f}|-]"},
    {NULL, NULL},
};

const struct hn_view hn_summary_views[] = {
    {.line = "{kernel}[ {problem}] on {device}, {regime:regime}[{?simulated}, simulated from a "
             "recording]"},
    {.line = "  {origin:origin}"},
    {.line = "  {note}"},
    {.line = "{?best}"},
    {.at = "records", .columns = best_columns, .most = BEST_SHOWN, .indent = 2, .tied = "tied"},
    {.line = "  = tied: the best {tied} cannot be told apart; the first [of them"
             "{?simulated}|in the race] is taken{?best}{?tied>1}"},
    {.line =
         "  front of time and energy: {front:places}; each in {weighed.windows:.0f} windows of "
         "{weighed.seconds/weighed.windows:.1f} s that differ by ±{weighed.spread:.2%} at most, "
         "the first at {weighed.power_w:.0f} W and {weighed.temperature_c:.0f} °C; the idle GPU "
         "takes {weighed.idle_w:.0f} W"},
    {.line = "  {reservation}{?best}"},
    {.line = "  the cache's best stays {elsewhere.point} with {elsewhere.timing.median_us:time}: "
             "this tuning did not look at it{?elsewhere.objective<best.objective}"},
    {.line = "  {best.verdict.differed} of {best.verdict.compared} elements of the best's outputs "
             "differ by more than the tolerance, which 'mismatches' allows"},
    {.line = "  unstable: the best's times did not settle; measure again on a quiet "
             "device{?best.timing.unstable}"},
    {.line = "{?ladder}"},
    {.at = "ladder", .columns = ladder_columns, .indent = 2},
    {.line = "  ladder: the config's own points, always measured in full{?ladder}"},
    HN_STAGING_VIEWS("best", "  pipeline  "),
    {.line = "{?workloads}"},
    {.at = "workloads", .columns = workload_columns, .indent = 2},
    {.line = "  score {score:.3f} of the default point[{?workloads}: the workloads' ratios, as a "
             "geometric mean by weights]"},
    {.line =
         "  the best moves {best.metrics.bytes/best.timing.median_us/1e3:intensity} GB/s, "
         "{best.metrics.bytes/best.timing.median_us/1e3/copy_gb_per_s:.1%} of a device-to-device "
         "memcpy of as much ({copy_gb_per_s:intensity} GB/s){?copy_gb_per_s}"},
    {.line = "  roofs: " HN_ROOFS_LINE("roofs.") "{?best}"},
    {.line = "  of tensor cores: {tensor_cores}{?best}"},
    {.line = "  FASTER THAN THE ROOF: the best cannot do what the metric `{best.roof.beyond}` says "
             "in {best.timing.median_us:.4g} us; check `{best.roof.beyond}`"
             "[{?best.roof.beyond=flops}, or whether it uses more than FP32 units: what tensor "
             "cores compute is named `flops_bf16`, `flops_fp16`, `flops_tf32` or `flops_fp8`]"},
    {.line = "  no counters: {no_counters}{?best}"},
    {.line = "  bound by {best.counted.bound}"},
    HN_FINDINGS_VIEWS("best", "  ", FINDINGS_SHOWN),
    {.line = "[\n  {outcomes:counts}]  ({finished} of {points_text} points[{?reused}, {reused} of "
             "them from the cache[{?!best}: --retry-failed tries those again]])"},
    {.line = "  {outcomes:meanings}; see docs/outcomes.md", .wraps = true},
    {.line = "  the budget ended with {cut} point{cut:s} under way, of which nothing is "
             "kept{?cut}"},
    {.line = "  the budget ended before the final race: the best is the one that the search "
             "saw{?unraced}"},
    {.line = "  the chance that a point better by 2% exists is estimated at {chance:.0%}"
             "[{?stopped}: it stopped there; --stop-chance 0 goes on]{?!finished=points}"},
    {.line =
         "  energy was not measured: NVML has no energy counter of this GPU, or the launches of "
         "this plan cannot follow one another{?unweighed}"},
    {.at = "edges", .line = "  the range ends early: {text}", .most = EDGES_SHOWN},
    {.at = "failures", .line = "  {outcome}, first at [{point}|?]:\n    {message}"},
    {.line = "  {hint}"},
    {.line =
         "  {time.elapsed_s:duration}: compiling for {time.compile_wall_s:.1f} s (CPU "
         "{time.compile_cpu_s:.1f} s), GPU busy {time.gpu_busy_s:.1f} s (verify "
         "{time.verify_s:.1f}, measure {time.measure_s:.1f}), idle {time.gpu_idle_s:.1f} s; own "
         "overhead {time.overhead_s:.2f} s[{?finished>reused}, {time.overhead_ms_a_point:.2f} ms a "
         "point][{?time.noise}; noise floor {time.noise:.2%}]{?!simulated}"},
    {.line = "  the GPU waited {time.waits.text}{?!simulated}"},
    {.at = "cards",
     .line = "  {host} {card}: {measured} point{measured:s}[{?!ratio=1}; its times are {ratio:.2f} "
             "of the first card's, and divided by that]"},
    {.line = "  the clocks were held down by {health.held_down_by} in {health.held_down} of "
             "{health.checks} looks[, and while the best was measured "
             "({best.conditions.sm_mhz:.0f} MHz){?held_down}]{?health.held_down}{?!simulated}"},
    {.line = "  {health.other_processes} other process[{?health.other_processes=1}|es] used this "
             "GPU meanwhile, one of them {health.process}{?health.other_processes}{?!simulated}"},
    {.line = "  suspected of leaving work out, and acquitted: {trials.acquitted}"
             "{?trials.acquitted}{?!simulated}"},
    {.line = "  warning: the check for work that is left out failed for {trials.check_failed}: its "
             "control looked guilty as well, or it came to no end; nobody is "
             "accused{?trials.check_failed}{?!simulated}"},
    {NULL},
};

/* Where a space ends too early. */

static const double least_difference = 1.02;

struct outlook {
    const struct hn_task *task;
    const struct hn_device *device;
    const struct hn_record *best;
    hn_edge_lookup *lookup;
    void *context;
    const struct hn_edge_compiler *compiler;
};

/* The value that continues a row of numbers beyond its first (or last) one, as a product where the
 * last three are a geometric row, else as a sum. False where that changes sign, is no integer, or
 * the row begins at 0 or 1. */
static bool edge_continue(const struct hn_value *edge, const struct hn_value *behind,
                          const struct hn_value *third, struct hn_value *next)
{
    double a = hn_value_number(edge), b = hn_value_number(behind), c = hn_value_number(third);
    bool whole = edge->type == HN_INTEGER;
    bool geometric = c != 0 && b != 0 && fabs(a / b - b / c) < 1e-9 && a / b > 0;
    double value = geometric ? a * a / b : a + (a - b);
    if (a < b && a >= 0 && (a <= 1 || value <= 0))
        return false;
    if (whole && (value != floor(value) || fabs(value) > 9e15))
        return false;
    *next = whole ? hn_integer((int64_t)value) : hn_real(value);
    return true;
}

void hn_edge_time_of(const struct hn_record *record, struct hn_interval *time_us)
{
    const struct hn_timing *timing = &record->timing;
    bool bounded = record->outcome == HN_OUTCOME_SLOWER;
    *time_us = (struct hn_interval){
        .median = timing->median_us,
        .low = bounded ? timing->median_us : timing->low_us,
        .high = bounded ? (double)INFINITY : timing->high_us,
    };
}

static json_t *edge_to_json(const char *name, bool highest, const struct hn_value *const values[2],
                            double ratio, const struct hn_value *next, bool compiles)
{
    struct hn_text text = {0};
    hn_text_printf(&text, "%s=", name);
    hn_value_append(&text, values[0]);
    hn_text_printf(&text, " is the %s of its values, and ", highest ? "greatest" : "least");
    hn_value_append(&text, values[1]);
    hn_text_printf(&text, " takes %.*f%% longer: try ", ratio < 1.1 ? 1 : 0, (ratio - 1) * 100);
    if (compiles)
        hn_value_append(&text, next);
    else
        hn_text_append(&text, "what lies beyond, if the kernel takes more");
    return json_pack("{ss so so sf so sb so*}", "name", name, "value", hn_value_to_json(values[0]),
                     "behind", hn_value_to_json(values[1]), "ratio", ratio, "next",
                     hn_value_to_json(next), "compiles", compiles, "text", hn_render_text(&text));
}

/* NULL: the best is not at that end, or nothing speaks for going on. From the edge inwards the next
 * is worse beyond doubt, and the one behind it no better than that; and constraints and the
 * device's limits, as far as they are known before compiling, allow what follows. */
static json_t *judge(const struct outlook *outlook, size_t parameter, const struct hn_ranked *order,
                     bool highest)
{
    const struct hn_task *task = outlook->task;
    const struct hn_edge_compiler *compiler = outlook->compiler;
    const struct hn_space_parameter *own = hn_space_parameter(task->space, parameter);
    const struct hn_value *now = hn_bindings_get(&outlook->best->point, own->name), *values[3];
    struct hn_interval best, times[3];
    struct hn_value next;
    bool known[3] = {false};
    for (size_t i = 0; i < 3; i++)
        values[i] = &own->values[order[highest ? own->count - 1 - i : i].place];
    if (now == NULL || !hn_value_equal(now, values[0]) ||
        !edge_continue(values[0], values[1], values[2], &next))
        return NULL;
    struct hn_bindings beside HN_ENDED_BY(hn_bindings_finish) =
        hn_need_bindings(&outlook->best->point, NULL);
    hn_edge_time_of(outlook->best, &best);
    for (size_t i = 1; i < 3; i++) {
        (void)hn_bindings_set(&beside, own->name, values[i], NULL);
        known[i] = outlook->lookup(outlook->context, &beside, &times[i]);
    }
    double ratio = known[1] ? times[1].median / best.median : 0;
    bool worse = known[1] && times[1].low > best.high && ratio > least_difference &&
                 (!known[2] || times[2].high >= times[1].low);
    enum hn_compiles compiles = HN_COMPILES_NOT;
    (void)hn_bindings_set(&beside, own->name, &next, NULL);
    if (worse && hn_launch_try(task->plan, outlook->device, task->problem, &beside, NULL, NULL))
        compiles = compiler == NULL ? HN_COMPILES_UNKNOWN
                                    : compiler->compile(compiler->context, task, &beside);
    return compiles == HN_COMPILES_NOT
               ? NULL
               : edge_to_json(own->name, highest, values, ratio, &next, compiles == HN_COMPILES);
}

/* At one of its ends. */
static json_t *find_edge(const struct outlook *outlook, size_t parameter)
{
    const struct hn_space *space = outlook->task->space;
    const struct hn_space_parameter *own = hn_space_parameter(space, parameter);
    if (own->count < 3 || !hn_space_is_numeric(space, parameter))
        return NULL;
    struct hn_ranked *order HN_FREED = hn_need(own->count, sizeof *order);
    for (size_t i = 0; i < own->count; i++)
        order[i] = (struct hn_ranked){hn_value_number(&own->values[i]), i};
    qsort(order, own->count, sizeof *order, hn_ranked_compare);
    json_t *edge = judge(outlook, parameter, order, true);
    return edge != NULL ? edge : judge(outlook, parameter, order, false);
}

json_t *hn_edges_find(const struct hn_task *task, const struct hn_device *device,
                      const struct hn_record *best, hn_edge_lookup *lookup, void *context,
                      const struct hn_edge_compiler *compiler)
{
    const struct outlook outlook = {task, device, best, lookup, context, compiler};
    json_t *edges = json_array();
    for (size_t p = 0;
         p < hn_space_parameter_count(task->space) && strcmp(task->plan->objective, "time") == 0;
         p++) {
        json_t *edge = find_edge(&outlook, p);
        if (edge != NULL)
            hn_render_insert(edges, "ratio", false, edge);
    }
    return edges;
}

/* A session, and what its times are set against. */
struct summary {
    const struct hn_session *session;
    const struct hn_session_state *state;
    const struct hn_backend *backend;
    const struct hn_plan *plan;
    const struct hn_roofs *roofs; /* NULL: not known, or the plan has nothing to set against them */
};

const char *hn_summary_reservation(const struct hn_plan *plan, const struct hn_record *best)
{
    static const char *const reservations[] = {
        [HN_UNVERIFIED] = "UNVERIFIED: the config says `reference: none`, so nothing was compared",
        [HN_SELF_VERIFIED] =
            "self-verified: compared with the template at its defaults, not with a reference",
        [HN_NOT_RECORDED] =
            "verification not recorded: the file does not say whether results were compared",
    };
    if (plan->program != NULL && best != NULL && best->verdict.kind == HN_UNVERIFIED)
        return "UNVERIFIED: `run` has no `check`, so nobody looked at what was computed";
    if (best != NULL && best->verdict.empty > 0)
        return "partly verified: of an output zeros, NaN or what it held would pass, by the "
               "reference, "
               "`length` or tolerance; choose fills, values and a tolerance by which they do not";
    if (best != NULL && best->verdict.kind == HN_VERIFIED &&
        plan->reference.kind == HN_REFERENCE_FILES)
        return "verified on one seed: what is right for other inputs is in no file";
    return best == NULL ? NULL : reservations[best->verdict.kind];
}

/* A record with its figure of merit and the share of its roof that it reaches. */
static json_t *record_to_json(const struct summary *summary, const struct hn_record *record)
{
    struct hn_roof roof;
    json_t *json = hn_bounds_to_json(record, summary->roofs, 0);
    double merit = hn_format_merit_value(summary->plan, record);
    if (isfinite(merit))
        json_object_set_new(json, "merit", json_real(merit));
    if (hn_roof_find(summary->roofs, summary->backend->task->regime, record, &roof))
        json_object_set_new(json, "roof",
                            json_pack("{ss sf ss*}", "name", roof.name, "share", roof.share,
                                      "beyond", roof.beyond));
    return json;
}

/* The records of tickets, as far as they can be read; each may be kept as well. */
static json_t *records_to_json(const struct summary *summary, const uint32_t *tickets, size_t count,
                               struct hn_record *kept, struct hn_error *err)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count && !hn_failed(err); i++) {
        struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
        if (hn_session_record(summary->session, tickets[i], &record, err) != HN_OK)
            break;
        hn_launch_recall_shared(summary->plan, summary->backend->task->problem, &record);
        json_array_append_new(array, record_to_json(summary, &record));
        if (kept != NULL) {
            /* What decides on its place. */
            kept[i].outcome = record.outcome;
            kept[i].timing.median_us = record.timing.median_us;
            kept[i].observed = record.observed;
            record.observed = (struct hn_bindings){0};
        }
    }
    return array;
}

/* Who of them is no worse in time and energy than another; and how energy was measured. */
static void add_energy(json_t *json, struct hn_record *records, size_t count)
{
    json_t *front = json_array(), *weighed = NULL;
    double spread = 0;
    for (size_t i = 0; i < count; i++) {
        const struct hn_bindings *observed = &records[i].observed;
        if (hn_front_has(records, count, i))
            json_array_append_new(front, json_integer((json_int_t)i));
        if (weighed == NULL && hn_observed(observed, "energy.windows") > 0)
            weighed = hn_observed_to_json(observed, "energy");
        if (i < BEST_SHOWN)
            spread = fmax(spread, hn_observed(observed, "energy.spread"));
    }
    if (weighed != NULL)
        json_object_set_new(weighed, "spread", json_real(spread));
    json_object_set_new(json, "front", front);
    json_object_set_new(json, "weighed", weighed != NULL ? weighed : json_null());
}

/* The first of each kind of failure. What is skipped is one only where the config refuses it, or
 * where the objective is a metric, which may have no value. */
static json_t *failures_to_json(const struct summary *summary, const struct hn_ranking *ranking,
                                struct hn_error *err)
{
    json_t *failures = json_array();
    const struct hn_plan *plan = summary->plan;
    bool skips = plan->refused != 0 || strcmp(plan->objective, "time") != 0;
    int first = skips ? HN_OUTCOME_SKIPPED : HN_OUTCOME_INVALID_LAUNCH;
    for (int outcome = first; outcome < HN_OUTCOME_COUNT; outcome++) {
        struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
        size_t i = 0;
        while (i < ranking->count && hn_session_outcome(summary->session, ranking->tickets[i]) !=
                                         (enum hn_outcome)outcome)
            i++;
        if (hn_failed(err) || i == ranking->count ||
            hn_session_record(summary->session, ranking->tickets[i], &record, err) != HN_OK)
            continue;
        json_array_append_new(
            failures,
            json_pack("{ss so so}", "outcome", hn_outcome_names[record.outcome], "point",
                      hn_bindings_to_json(&record.point), "message",
                      hn_string_to_json(record.message != NULL ? record.message : "no message")));
    }
    return failures;
}

static bool look_up(void *context, const struct hn_bindings *point, struct hn_interval *time_us)
{
    const struct hn_session *session = context;
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    size_t ticket = hn_session_find(session, point);
    if (ticket == SIZE_MAX)
        return false;
    enum hn_outcome outcome = hn_session_outcome(session, ticket);
    if ((outcome != HN_OUTCOME_OK && outcome != HN_OUTCOME_SLOWER &&
         outcome != HN_OUTCOME_DUPLICATE) ||
        hn_session_record(session, ticket, &record, NULL) != HN_OK)
        return false;
    hn_edge_time_of(&record, time_us);
    return true;
}

/* How long the GPU waited for the compiler and what to change. A wait that is shorter than a
 * second, or a smaller part of the time, is not worth a line; of a smaller share of it nothing is
 * said. */
static const char waits_line[] =
    "{all_s:.1f} s for the compiler[; {cores_s:.1f} s with all compile workers busy (--jobs, "
    "--workers: more of them){?cores_s>all_s*0.1}]"
    "[[{?cores_s>all_s*0.1}, |; ]{look_ahead_s:.1f} s with some, until it may propose more "
    "(--look-ahead {more}){?look_ahead_s>all_s*0.1}]"
    "[[{?cores_s>all_s*0.1}, |{?look_ahead_s>all_s*0.1}, |; ]{single_s:.1f} s for one point alone, "
    "or the last ones (--compile-timeout[: the slowest took {slowest_s:.1f} s, {slowest}])"
    "{?single_s>all_s*0.1}]{?!all_s<1}{?!all_s<elapsed_s*0.2}";

static json_t *waits_to_json(const struct summary *summary)
{
    const struct hn_session_state *state = summary->state;
    const struct hn_waits *waits = &state->waits;
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    json_t *json = json_pack("{sf sf sf sf}", "gpu_s", waits->gpu_s, "cores_s", waits->cores_s,
                             "look_ahead_s", waits->look_ahead_s, "single_s", waits->single_s);
    json_auto_t *facts = json_copy(json);
    if (state->slowest_s > 0 &&
        hn_session_record(summary->session, state->slowest, &record, NULL) == HN_OK)
        json_object_update_new(facts, json_pack("{sf so}", "slowest_s", state->slowest_s, "slowest",
                                                hn_bindings_to_json(&record.point)));
    json_object_update_new(facts, json_pack("{sf sI sf}", "all_s",
                                            waits->cores_s + waits->look_ahead_s + waits->single_s,
                                            "more", (json_int_t)2 * state->look_ahead, "elapsed_s",
                                            state->elapsed_s));
    if (hn_render_line(&text, facts, waits_line))
        json_object_set_new(json, "text", hn_render_text(&text));
    return json;
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

/* `phases` is what the workers did when, for whoever wants to know where the time of a tune goes:
 * an empty array where that is not known. The overhead is what the tuner itself takes, neither
 * compiling nor on the GPU, its start included; a point's is of those that were not in the cache.
 */
static json_t *time_to_json(const struct summary *summary)
{
    const struct hn_session_state *state = summary->state;
    const struct hn_usage *usage = &state->usage;
    double overhead_s = fmax(state->elapsed_s - usage->working_s, 0);
    uint64_t fresh = state->finished - state->reused;
    json_t *phases = json_array();
    append_phases(phases, usage->compiling, state->started_ms);
    append_phases(phases, usage->on_gpu, state->started_ms);
    return json_pack("{sf sf sf sf sf sf sf sf sf sf sf so so}", "elapsed_s", state->elapsed_s,
                     "compile_s", state->compile_s, "compile_cpu_s", usage->compile_cpu_s,
                     "compile_wall_s", usage->compile_wall_s, "verify_s", state->verify_s,
                     "measure_s", state->measure_s, "gpu_busy_s", usage->gpu_busy_s, "gpu_idle_s",
                     fmax(state->elapsed_s - usage->gpu_busy_s, 0), "overhead_s", overhead_s,
                     "overhead_ms_a_point", fresh > 0 ? overhead_s * 1e3 / (double)fresh : 0.0,
                     "noise", state->noise, "phases", phases, "waits", waits_to_json(summary));
}

json_t *hn_health_to_json(const struct hn_health *health)
{
    char reasons[HN_FORMAT_SIZE * 2];
    hn_slowdowns_describe(health->reasons, reasons, sizeof reasons);
    return json_pack("{sb si si ss si so}", "watching", health->watching, "checks",
                     (int)health->checks, "held_down", (int)health->held_down, "held_down_by",
                     reasons, "other_processes", (int)health->other_processes, "process",
                     hn_string_to_json(health->process));
}

/* With --workers: where was measured. */
static json_t *cards_to_json(const struct hn_usage *usage)
{
    json_t *cards = json_array();
    for (size_t i = 0; i < usage->card_count; i++)
        json_array_append_new(
            cards, json_pack("{so so sI sf so}", "host", hn_string_to_json(usage->cards[i].host),
                             "card", hn_string_to_json(usage->cards[i].card), "measured",
                             (json_int_t)usage->cards[i].measured, "ratio", usage->cards[i].ratio,
                             "doing", hn_string_to_json(usage->cards[i].doing)));
    return cards;
}

/* Of a program: the best's time beside that of the default point, and of each workload, as far as
 * the default point was run. */
static void add_score(const struct summary *summary, json_t *json)
{
    const struct hn_record *best = summary->state->best;
    struct hn_record usual HN_ENDED_BY(hn_record_finish) = {0};
    const char *name;
    json_t *time, *workloads = json_array();
    size_t ticket = hn_session_find(summary->session, &summary->plan->defaults);
    bool scored = summary->plan->program != NULL && best != NULL;
    json_auto_t *own = scored ? hn_observed_to_json(&best->observed, "workloads") : NULL;
    if (scored && ticket != SIZE_MAX)
        hn_session_record(summary->session, ticket, &usual, NULL);
    json_auto_t *others = hn_observed_to_json(&usual.observed, "workloads");
    json_object_foreach(own, name, time)
        json_array_append_new(workloads, json_pack("{ss sO sO*}", "name", name, "best_us", time,
                                                   "default_us", json_object_get(others, name)));
    if (usual.outcome == HN_OUTCOME_OK && usual.timing.median_us > 0)
        json_object_set_new(json, "score",
                            json_real(best->timing.median_us / usual.timing.median_us));
    json_object_set_new(json, "workloads", workloads);
}

static json_t *state_to_json(const struct summary *summary, size_t tied)
{
    const struct hn_session_state *state = summary->state;
    const struct hn_backend *backend = summary->backend;
    const struct hn_identity *identity = &backend->task->identity;
    const unsigned *trials = state->usage.trials;
    return json_pack(
        "{ss so ss ss so si sb sb so sI ss sI sI so so sb sb sb si sf so so so so so so*}",
        "kernel", identity->kernel, "problem", hn_bindings_to_json(&identity->problem), "regime",
        identity->regime, "objective", identity->objective, "device",
        hn_string_to_json(identity->device.name), "compute_capability", identity->device.capability,
        "simulated", backend->simulated, "stale", backend->task->stale, "points",
        state->points != UINT64_MAX ? json_integer((json_int_t)state->points) : json_null(),
        "finished", (json_int_t)state->finished, "points_text", state->points_text, "reused",
        (json_int_t)state->reused, "cut", (json_int_t)state->cut, "outcomes",
        hn_counts_to_json(state->counts), "chance", hn_render_number(state->chance), "stopped",
        state->stopped, "unraced", state->unraced, "unweighed", state->unweighed, "tied", (int)tied,
        "copy_gb_per_s", state->copy_gb_per_s, "roofs",
        summary->roofs != NULL ? hn_fields_to_json(&hn_roofs_structure, summary->roofs)
                               : json_null(),
        "time", time_to_json(summary), "health", hn_health_to_json(&state->usage.health), "cards",
        cards_to_json(&state->usage), "trials",
        trials == NULL ? json_null()
                       : json_pack("{si si}", "acquitted", (int)trials[HN_SUSPICION_ACQUITTED],
                                   "check_failed", (int)trials[HN_SUSPICION_CHECK_FAILED]),
        "origin", backend->simulated ? hn_origin_to_json(&backend->origin) : NULL);
}

static void set_text(json_t *json, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0')
        json_object_set_new(json, name, hn_string_to_json(text));
}

/* What only people read. */
static void add_words(const struct summary *summary, json_t *json)
{
    const struct hn_plan *plan = summary->plan;
    const struct hn_record *best = summary->state->best;
    struct hn_text tensor = {0};
    json_object_set_new(json, "parameters",
                        hn_render_names(plan->parameters, plan->parameter_count));
    set_text(json, "merit", hn_format_merit_name(plan));
    set_text(json, "note", summary->backend->note);
    set_text(json, "no_counters", summary->state->no_counters);
    set_text(json, "reservation", hn_summary_reservation(plan, best));
    if (summary->state->elsewhere != NULL)
        json_object_set_new(json, "elsewhere", hn_record_to_json(summary->state->elsewhere));
    json_object_set_new(
        json, "held_down",
        json_boolean(best != NULL && hn_conditions_held_down(&best->observed) != 0));
    if (summary->roofs != NULL && hn_roof_pipe(plan) < HN_PIPE_COUNT) {
        hn_tensor_roofs_append(&tensor, &summary->roofs->tensor);
        hn_text_append(&tensor, tensor.length > 0 ? "" : "not known on this device");
        json_object_set_new(json, "tensor_cores", hn_render_text(&tensor));
    }
    const uint64_t wrong = summary->state->counts[HN_OUTCOME_WRONG_RESULT];
    /* Nobody but the default point says what is right. */
    if (plan->reference.kind == HN_REFERENCE_SELF && 2 * wrong > summary->state->finished)
        set_text(json, "hint",
                 "most points computed something else than the default point: is that the wrong "
                 "one? Let a `reference` of the config say what is right");
    /* Files that were computed from other inputs fail everything. */
    if (plan->reference.kind == HN_REFERENCE_FILES && best == NULL)
        set_text(json, "hint",
                 "the reference's files have to be computed from the same inputs, which `hone "
                 "inputs` writes, by a launch that does what the config's does");
}

json_t *hn_summary(const struct hn_session *session, const struct hn_backend *backend,
                   const struct hn_roofs *roofs, bool all, struct hn_error *err)
{
    const struct summary summary = {session, hn_session_state(session), backend,
                                    backend->task->plan, roofs};
    struct hn_ranking ranking HN_ENDED_BY(hn_ranking_finish) = {0};
    size_t ladder_count, count = 0;
    hn_error_init(err);
    if (hn_session_ranking(session, &ranking, err) != HN_OK)
        return NULL;
    /* Of those that have a time, the first few are shown. */
    while (count < ranking.count &&
           (all || (count < BEST_SHOWN &&
                    hn_session_outcome(session, ranking.tickets[count]) == HN_OUTCOME_OK)))
        count++;
    struct hn_record *kept = hn_need(count, sizeof *kept);
    json_t *json = hn_needed(state_to_json(&summary, ranking.tied));
    json_t *records = records_to_json(&summary, ranking.tickets, count, kept, err);
    uint32_t *ladder HN_FREED = hn_session_ladder(session, &ladder_count);
    json_object_set_new(
        json, "ladder",
        records_to_json(&summary, ladder, ranking.tied > 0 ? ladder_count : 0, NULL, err));
    for (size_t i = 0; ranking.tied > 1 && i < ranking.tied && i < json_array_size(records); i++)
        json_object_set_new(json_array_get(records, i), "tied", json_true());
    json_object_set_new(json, "best",
                        ranking.tied > 0 && !hn_failed(err)
                            ? json_incref(json_array_get(records, 0))
                            : json_null());
    json_object_set_new(json, "records", records);
    if (!hn_failed(err))
        add_energy(json, kept, count);
    json_object_set_new(json, "failures", failures_to_json(&summary, &ranking, err));
    json_object_set_new(json, "edges",
                        summary.state->best == NULL
                            ? json_array()
                            : hn_edges_find(backend->task, &backend->device, summary.state->best,
                                            look_up, (void *)(uintptr_t)session, NULL));
    add_score(&summary, json);
    add_words(&summary, json);
    HN_FREE_EACH(record, kept, count, hn_record_finish(record));
    if (!hn_failed(err))
        return json;
    json_decref(json);
    return NULL;
}
