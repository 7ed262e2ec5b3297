/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cache/record/record_json.h"
#include "tuner/explain/explain.h"
#include "tuner/report/format.h"
#include "tuner/report/roof.h"
#include "tuner/report/staging.h"
#include "tuner/report/table.h"
#include "tuner/report/terminal.h"

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Against the best value of the parameter. */
static json_t *values_to_json(const struct hn_evidence *evidence, const struct hn_effect *effect)
{
    json_t *values = json_array();
    double least = INFINITY;
    size_t count = hn_space_value_count(evidence->space, effect->parameter);
    for (size_t v = 0; v < count; v++)
        least = effect->counts[v] > 0 ? fmin(least, effect->means[v]) : least;
    for (size_t v = 0; v < count; v++)
        json_array_append_new(
            values,
            json_pack("{so so sI}", "value",
                      hn_value_to_json(hn_space_value(evidence->space, effect->parameter, v)),
                      "ratio", number(hn_evidence_ratio(evidence, effect->means[v], least)),
                      "points", (json_int_t)effect->counts[v]));
    return values;
}

static json_t *effects_to_json(const struct hn_evidence *evidence, const struct hn_effects *effects)
{
    const struct hn_space *space = evidence->space;
    json_t *parameters = json_array();
    json_t *interactions = json_array();
    if (!effects->known) {
        json_decref(parameters);
        json_decref(interactions);
        return json_null();
    }
    for (size_t i = 0; i < effects->parameter_count; i++) {
        const struct hn_effect *effect = &effects->mains[i];
        json_array_append_new(
            parameters,
            json_pack("{ss sf s{sI so} so}", "name",
                      hn_space_parameter_name(space, effect->parameter), "share", effect->share,
                      "alone", "points", (json_int_t)effect->alone, "worst_ratio",
                      effect->alone > 0 ? number(effect->worst_alone) : json_null(), "values",
                      values_to_json(evidence, effect)));
    }
    for (size_t i = 0; i < effects->pair_count; i++)
        json_array_append_new(
            interactions, json_pack("{s[ss] sf}", "parameters",
                                    hn_space_parameter_name(space, effects->pairs[i].parameters[0]),
                                    hn_space_parameter_name(space, effects->pairs[i].parameters[1]),
                                    "share", effects->pairs[i].share));
    return json_pack("{ss sI sb sf so so sI so}", "basis", effects->exact ? "exact" : "forest",
                     "points", (json_int_t)effects->points, "sampled", effects->sampled,
                     "explained", effects->explained, "parameters", parameters, "interactions",
                     interactions, "unmeasured", (json_int_t)effects->unmeasured, "expected_ratio",
                     effects->unmeasured > 0 ? number(effects->promise) : json_null());
}

static json_t *common_to_json(const struct hn_explanation *explanation)
{
    const struct hn_common *common = &explanation->common;
    const struct hn_space *space = explanation->evidence.space;
    json_t *values = json_array();
    for (size_t i = 0; i < common->count; i++) {
        const struct hn_common_value *value = &common->values[i];
        json_array_append_new(
            values,
            json_pack("{ss so sI sI sf}", "name", hn_space_parameter_name(space, value->parameter),
                      "value",
                      hn_value_to_json(hn_space_value(space, value->parameter, value->value)),
                      "among_best", (json_int_t)value->among_best, "among_all",
                      (json_int_t)value->among_all, "chance", value->chance));
    }
    return json_pack("{sI sI so so}", "best", (json_int_t)common->best, "all",
                     (json_int_t)common->all, "ratio",
                     common->best > 0 ? number(common->ratio) : json_null(), "values", values);
}

static json_t *launch_to_json(const struct hn_bounds *bounds)
{
    if (!bounds->launch_known)
        return json_null();
    return json_pack("{sI sI sI sf ss sI}", "blocks", (json_int_t)bounds->blocks, "threads",
                     (json_int_t)bounds->threads, "shared_bytes", (json_int_t)bounds->shared_bytes,
                     "occupancy", bounds->occupancy, "limiter", hn_limiter_name(bounds->limiter),
                     "resident_blocks", (json_int_t)bounds->resident);
}

static json_t *count(const struct hn_resources *resources, int value)
{
    return resources->known ? json_integer(value) : json_null();
}

static json_t *bounds_to_json(const struct hn_explanation *explanation)
{
    const struct hn_bounds *bounds = &explanation->bounds;
    const struct hn_resources *resources = &bounds->resources;
    return json_pack("{so so* sf sf sf sf sf sf sf so so so so}", "bound",
                     bounds->bound != NULL ? json_string(bounds->bound) : json_null(), "counted",
                     hn_findings_to_json(&explanation->findings), "bytes", bounds->bytes, "flops",
                     bounds->flops, "gb_per_s", bounds->gb_per_s, "gflops", bounds->gflops,
                     "bytes_share", bounds->bytes_share, "flops_share", bounds->flops_share,
                     "launch_share", bounds->launch_share, "launch", launch_to_json(bounds),
                     "registers", count(resources, resources->registers), "spill_store_bytes",
                     count(resources, resources->spill_store_bytes), "spill_load_bytes",
                     count(resources, resources->spill_load_bytes));
}

static json_t *warned_to_json(const struct hn_warned *warned)
{
    json_t *json = json_object();
    for (int i = 0; i < HN_WARNING_COUNT; i++)
        if (warned->of[i].points > 0)
            json_object_set_new(
                json, hn_warning_names[i],
                json_pack("{sI sI so}", "points", (json_int_t)warned->of[i].points, "refused",
                          (json_int_t)warned->of[i].refused, "ratio",
                          warned->of[i].ratio > 0 ? json_real(warned->of[i].ratio) : json_null()));
    return json;
}

static json_t *best_to_json(const struct hn_evidence *evidence)
{
    if (evidence->best == SIZE_MAX)
        return json_null();
    const struct hn_record *record = hn_evidence_record(evidence, evidence->best);
    return json_pack("{so sf}", "point", hn_bindings_to_json(&record->point), "time_us",
                     record->timing.median_us);
}

static json_t *valid_to_json(const struct hn_space *space)
{
    bool exact;
    double valid = hn_space_valid(space, &exact);
    return json_pack("{sf sb}", "count", valid, "exact", exact);
}

json_t *hn_explanation_to_json(const struct hn_explanation *explanation)
{
    const struct hn_evidence *evidence = &explanation->evidence;
    const struct hn_identity *identity = &explanation->task->identity;
    json_t *next = json_array();
    for (size_t i = 0; i < explanation->advice_count; i++)
        json_array_append_new(next, json_pack("{ss ss}", "kind", explanation->advice[i].kind,
                                              "text", explanation->advice[i].text));
    return json_pack(
        "{ss so ss ss sb sb so so s{sI sI sI sI} so so so so so so so so}", "kernel",
        identity->kernel, "problem", hn_bindings_to_json(&identity->problem), "regime",
        identity->regime, "device", identity->device.name, "simulated", explanation->simulated,
        "stale", explanation->stale, "origin", hn_origin_to_json(&explanation->origin), "valid",
        valid_to_json(evidence->space), "points", "timed", (json_int_t)evidence->count,
        "lower_bounds", (json_int_t)evidence->bounded, "failed", (json_int_t)evidence->failed,
        "foreign", (json_int_t)evidence->foreign, "best", best_to_json(evidence), "effects",
        effects_to_json(evidence, &explanation->effects), "compiling",
        effects_to_json(&explanation->compiling, &explanation->compile_effects), "common",
        common_to_json(explanation), "bounds", bounds_to_json(explanation), "warnings",
        warned_to_json(&explanation->warned), "edges", hn_edges_to_json(&explanation->edges),
        "next", next);
}

enum { EFFECTS_SHOWN = 8, PAIRS_SHOWN = 4, COMPILING_SHOWN = 4, FINDINGS_SHOWN = 3 };
/* Interactions below are not worth a line. */
static const double least_share = 0.01;
/* Of compile times: where none takes longer there is nothing to say. */
static const double worth_telling_ms = 250;

static void print_title(const struct hn_explanation *explanation, FILE *file)
{
    const struct hn_evidence *evidence = &explanation->evidence;
    const struct hn_identity *identity = &explanation->task->identity;
    struct hn_text problem;
    char count[HN_SPACE_COUNT_TEXT];
    char regime[HN_FORMAT_SIZE];
    hn_text_init(&problem);
    hn_bindings_append(&problem, &identity->problem);
    hn_format_regime(identity->regime, regime);
    fprintf(file, "%s%s%s on %s, %s%s\n", identity->kernel, problem.length > 0 ? " " : "",
            problem.length > 0 ? problem.data : "", identity->device.name, regime,
            explanation->simulated ? ", simulated from a recording" : "");
    hn_text_finish(&problem);
    char *origin = hn_origin_text(&explanation->origin);
    fprintf(file, "  %s\n", origin == NULL ? "" : origin);
    free(origin);
    fprintf(file, "  %s valid points: %zu with a time", hn_space_count_text(evidence->space, count),
            evidence->count);
    if (evidence->bounded > 0)
        fprintf(file, " (%zu of them stopped early: lower bounds)", evidence->bounded);
    if (evidence->failed > 0)
        fprintf(file, ", %zu failed", evidence->failed);
    fputc('\n', file);
    if (evidence->foreign > 0)
        fprintf(file, "  %zu record%s not of the space as it is now, and left out\n",
                evidence->foreign, evidence->foreign == 1 ? " is" : "s are");
    if (explanation->stale)
        fputs("  stale: template, options or plan have changed since they were measured\n", file);
}

static void print_warned(const struct hn_explanation *explanation, FILE *file)
{
    for (int i = 0; i < HN_WARNING_COUNT; i++) {
        size_t refused = explanation->warned.of[i].refused;
        double ratio = explanation->warned.of[i].ratio;
        if (explanation->warned.of[i].points == 0)
            continue;
        fprintf(file, "  %zu with the compiler's warning %s: %s", explanation->warned.of[i].points,
                hn_warning_names[i], hn_warning_meaning((enum hn_warning)i));
        if (refused > 0)
            fprintf(file, "; %zu of them skipped, as the config refuses it", refused);
        if (ratio > 0 && explanation->evidence.logarithmic)
            fprintf(file, "; the best with it takes %.2f of the best", ratio);
        fputc('\n', file);
    }
}

static void print_best(const struct hn_explanation *explanation, FILE *file)
{
    const struct hn_evidence *evidence = &explanation->evidence;
    const struct hn_record *best = hn_evidence_record(evidence, evidence->best);
    char time[HN_FORMAT_SIZE];
    char merit[HN_FORMAT_SIZE];
    struct hn_text point;
    hn_text_init(&point);
    hn_bindings_append(&point, &best->point);
    hn_format_time(best->timing.median_us, time);
    hn_format_merit(explanation->task->plan, best, merit);
    fprintf(file, "  the best: %s%s%s at %s\n", time, merit[0] != '\0' ? ", " : "", merit,
            point.data != NULL ? point.data : "");
    hn_text_finish(&point);
}

static void append_ratio(struct hn_text *text, const struct hn_evidence *evidence, double ratio)
{
    hn_text_printf(text, evidence->logarithmic ? "%.2fx" : "+%.3g", ratio);
}

/* "ldg 1.00x, plain 1.42x": from the best value on average to the worst. */
static void append_values(struct hn_text *text, const struct hn_evidence *evidence,
                          const struct hn_effect *effect)
{
    size_t count = hn_space_value_count(evidence->space, effect->parameter);
    size_t least = SIZE_MAX;
    size_t most = SIZE_MAX;
    for (size_t v = 0; v < count; v++) {
        if (effect->counts[v] == 0)
            continue;
        if (least == SIZE_MAX || effect->means[v] < effect->means[least])
            least = v;
        if (most == SIZE_MAX || effect->means[v] > effect->means[most])
            most = v;
    }
    if (least == SIZE_MAX)
        return;
    hn_value_append(text, hn_space_value(evidence->space, effect->parameter, least));
    if (most == least)
        return;
    hn_text_append(text, " .. ");
    hn_value_append(text, hn_space_value(evidence->space, effect->parameter, most));
    hn_text_append(text, " ");
    append_ratio(text, evidence,
                 hn_evidence_ratio(evidence, effect->means[most], effect->means[least]));
}

static void add_effect(struct hn_table *table, const struct hn_evidence *evidence,
                       const struct hn_effect *effect)
{
    struct hn_text values;
    struct hn_text alone;
    hn_text_init(&values);
    hn_text_init(&alone);
    append_values(&values, evidence, effect);
    if (effect->alone > 0) {
        append_ratio(&alone, evidence, effect->worst_alone);
        hn_text_printf(&alone, " of %zu", effect->alone);
    }
    hn_table_cell(table, "%.1f%%", effect->share * 100);
    hn_table_cell(table, "%s", hn_space_parameter_name(evidence->space, effect->parameter));
    hn_table_cell(table, "%s", values.data != NULL ? values.data : "");
    hn_table_cell(table, "%s", alone.data != NULL ? alone.data : "-");
    hn_text_finish(&values);
    hn_text_finish(&alone);
}

static void print_basis(const struct hn_explanation *explanation, FILE *file)
{
    const struct hn_effects *effects = &explanation->effects;
    const char *of = explanation->evidence.logarithmic ? "the logarithm of the time" : "the value";
    if (strcmp(explanation->task->plan->objective, "time") != 0)
        of = "the objective";
    fputs("\nwhich parameters matter\n", file);
    if (effects->exact) {
        fprintf(file, "  shares of the variance of %s over all %zu points, each of them measured\n",
                of, effects->points);
        return;
    }
    fprintf(file, "  shares of the variance of %s over %s%zu valid points, by a random forest of\n",
            of, effects->sampled ? "a sample of " : "all ", effects->points);
    fprintf(file,
            "  the %zu with a time, which explains %.0f%% of the variance of points it has not "
            "seen%s\n",
            explanation->evidence.count, fmax(effects->explained, 0) * 100,
            effects->explained < 0.5 ? ": no more than hints" : "");
}

static void print_pairs(const struct hn_explanation *explanation, FILE *file)
{
    const struct hn_effects *effects = &explanation->effects;
    const struct hn_space *space = explanation->evidence.space;
    for (size_t i = 0; i < effects->pair_count && i < PAIRS_SHOWN; i++) {
        const struct hn_interaction *pair = &effects->pairs[i];
        if (pair->share < least_share)
            break;
        fprintf(file, "%s%s with %s %.1f%%", i == 0 ? "  together, beyond each alone: " : ", ",
                hn_space_parameter_name(space, pair->parameters[0]),
                hn_space_parameter_name(space, pair->parameters[1]), pair->share * 100);
    }
    if (effects->pair_count > 0 && effects->pairs[0].share >= least_share)
        fputc('\n', file);
}

static void print_effects(const struct hn_explanation *explanation, FILE *file)
{
    static const char *const headings[] = {
        ">share", "parameter", "~on average, best .. worst value", "~beside the best, worst", NULL};
    const struct hn_effects *effects = &explanation->effects;
    struct hn_sentences sentences;
    if (!effects->known) {
        fprintf(file,
                "\nwhich parameters matter\n  too little is known: %zu points were measured in "
                "full%s; %d at least are needed, and they must differ\n",
                explanation->evidence.count - explanation->evidence.bounded,
                explanation->evidence.bounded > 0 ? ", the others were stopped early" : "",
                HN_EFFECTS_LEAST);
        return;
    }
    print_basis(explanation, hn_sentences_open(&sentences, file));
    hn_sentences_close(&sentences);
    struct hn_table *table = hn_table_create(headings);
    for (size_t i = 0; i < effects->parameter_count && i < EFFECTS_SHOWN; i++)
        add_effect(table, &explanation->evidence, &effects->mains[i]);
    hn_table_print(table, file, 2);
    hn_table_destroy(table);
    if (effects->parameter_count > EFFECTS_SHOWN)
        fprintf(file, "  the shares of %zu more are smaller\n",
                effects->parameter_count - EFFECTS_SHOWN);
    print_pairs(explanation, hn_sentences_open(&sentences, file));
    hn_sentences_close(&sentences);
}

/* In milliseconds. */
static double slowest_compilation(const struct hn_evidence *compiling)
{
    double slowest = 0;
    for (size_t i = 0; i < compiling->count; i++)
        slowest = fmax(slowest, exp(compiling->values[i]));
    return slowest;
}

static void print_compiling(const struct hn_explanation *explanation, FILE *file)
{
    static const char *const headings[] = {">share", "parameter",
                                           "~on average, quickest .. slowest value", NULL};
    const struct hn_evidence *compiling = &explanation->compiling;
    const struct hn_effects *effects = &explanation->compile_effects;
    double slowest_ms = slowest_compilation(compiling);
    if (!effects->known || slowest_ms < worth_telling_ms || effects->explained < 0.5 ||
        effects->mains[0].share < least_share)
        return;
    fprintf(file, "\nwhat compile time goes with (%.3g to %.3g s a point, %zu points)\n",
            exp(compiling->values[compiling->best]) / 1e3, slowest_ms / 1e3, compiling->count);
    struct hn_table *table = hn_table_create(headings);
    for (size_t i = 0; i < effects->parameter_count && i < COMPILING_SHOWN; i++) {
        struct hn_text values;
        const struct hn_effect *effect = &effects->mains[i];
        if (effect->share < least_share)
            break;
        hn_text_init(&values);
        append_values(&values, compiling, effect);
        hn_table_cell(table, "%.1f%%", effect->share * 100);
        hn_table_cell(table, "%s", hn_space_parameter_name(compiling->space, effect->parameter));
        hn_table_cell(table, "%s", values.data != NULL ? values.data : "");
        hn_text_finish(&values);
    }
    hn_table_print(table, file, 2);
    hn_table_destroy(table);
}

static void print_common(const struct hn_explanation *explanation, FILE *file)
{
    static const char *const headings[] = {"value", ">of the best", ">of all", NULL};
    const struct hn_common *common = &explanation->common;
    const struct hn_evidence *evidence = &explanation->evidence;
    if (common->best == 0)
        return;
    fprintf(file, "\nwhat the best %zu of %zu have in common", common->best, common->all);
    if (evidence->logarithmic)
        fprintf(file, " (within %.1f%% of the best)", (common->ratio - 1) * 100);
    if (common->count == 0) {
        fputs("\n  nothing that chance would not give\n", file);
        return;
    }
    fputc('\n', file);
    struct hn_table *table = hn_table_create(headings);
    for (size_t i = 0; i < common->count && i < EFFECTS_SHOWN; i++) {
        const struct hn_common_value *value = &common->values[i];
        struct hn_text text;
        hn_text_init(&text);
        hn_text_printf(&text, "%s=", hn_space_parameter_name(evidence->space, value->parameter));
        hn_value_append(&text, hn_space_value(evidence->space, value->parameter, value->value));
        hn_table_cell(table, "%s", text.data != NULL ? text.data : "");
        hn_table_cell(table, "%zu (%.0f%%)", value->among_best,
                      (double)value->among_best / (double)common->best * 100);
        hn_table_cell(table, "%zu (%.0f%%)", value->among_all,
                      (double)value->among_all / (double)common->all * 100);
        hn_text_finish(&text);
    }
    hn_table_print(table, file, 2);
    hn_table_destroy(table);
}

/* Operations a byte: two digits, or all of a whole number. */
static void print_intensity(FILE *file, double intensity)
{
    fprintf(file, intensity < 10 ? "%.2g" : "%.0f", intensity);
}

static void print_rates(const struct hn_explanation *explanation, FILE *file)
{
    const struct hn_bounds *bounds = &explanation->bounds;
    if (bounds->bytes > 0)
        fprintf(file, "%.0f GB/s", bounds->gb_per_s);
    if (bounds->bytes > 0 && bounds->bound != NULL)
        fprintf(file, " (%.0f%% of the roof)", bounds->bytes_share * 100);
    if (bounds->flops > 0)
        fprintf(file, "%s%.0f GFLOP/s", bounds->bytes > 0 ? ", " : "", bounds->gflops);
    if (bounds->flops > 0 && bounds->flops_rate > 0 && bounds->bound != NULL)
        fprintf(file, " (%.0f%% of the roof)", bounds->flops_share * 100);
    if (bounds->bytes > 0 && bounds->flops > 0) {
        fputs(", ", file);
        print_intensity(file, bounds->flops / bounds->bytes);
        fputs(" operations a byte", file);
    }
    if (bounds->bound != NULL && bounds->bytes > 0 && bounds->flops > 0 && bounds->flops_rate > 0 &&
        explanation->roofs->copy_gb_per_s > 0) {
        fputs(" (the roofs meet at ", file);
        print_intensity(file, bounds->flops_rate / explanation->roofs->copy_gb_per_s);
        fputc(')', file);
    }
    fputc('\n', file);
}

static void print_roof(const struct hn_explanation *explanation, FILE *file)
{
    const struct hn_bounds *bounds = &explanation->bounds;
    if (bounds->bytes == 0 && bounds->flops == 0) {
        fputs(": not known\n  no metric `bytes` or `flops` says what a launch moves and computes\n",
              file);
        return;
    }
    if (bounds->bound == NULL)
        fputs("\n  ", file);
    else if (bounds->share < HN_FAR_FROM_ROOF)
        fprintf(file, ": latency, or what the metrics do not count; %s alone explains %.0f%%\n  ",
                bounds->bound, bounds->share * 100);
    else
        fprintf(file, ": %s, %.0f%% of its roof\n  ", bounds->bound, bounds->share * 100);
    print_rates(explanation, file);
    if (explanation->task->plan->pipeline != NULL) {
        fputs("  what crosses the bus has no roof; its parts tell more:\n", file);
        hn_staging_print(hn_evidence_record(&explanation->evidence, explanation->evidence.best),
                         "  ", file);
    } else if (bounds->bound != NULL) {
        struct hn_text text;
        hn_text_init(&text);
        hn_roofs_append(&text, explanation->roofs);
        fprintf(file, "  roofs: %s\n", text.data != NULL ? text.data : "");
        hn_text_finish(&text);
    } else if (explanation->roofs == NULL) {
        fprintf(file, "  the device's roofs are not in the cache: `%s` measures them\n",
                explanation->measure);
    }
}

/* What was counted counts before what metrics and roofs lead to. */
static void print_counted(const struct hn_explanation *explanation, FILE *file)
{
    const struct hn_evidence *evidence = &explanation->evidence;
    const struct hn_findings *findings = &explanation->findings;
    char bound[128];
    hn_findings_bound(findings, bound, sizeof bound);
    fprintf(file, ": %s\n", bound);
    hn_findings_print(findings, hn_evidence_record(evidence, evidence->best), "  ", FINDINGS_SHOWN,
                      file);
    fputs("  by metrics and roofs", file);
}

static void print_bounds(const struct hn_explanation *explanation, FILE *file)
{
    const struct hn_bounds *bounds = &explanation->bounds;
    fputs("\nwhat bounds the best", file);
    if (explanation->findings.known)
        print_counted(explanation, file);
    print_roof(explanation, file);
    if (!explanation->findings.known && explanation->task->plan->pipeline == NULL)
        fputs(
            "  inferred from metrics, roofs and the launch; --counters reads what the GPU counts\n",
            file);
    if (!bounds->launch_known)
        return;
    fprintf(file, "  occupancy %d%%", hn_format_percent(bounds->occupancy));
    if (bounds->limiter != HN_LIMITER_NONE)
        fprintf(file, ", held by %s", hn_limiter_name(bounds->limiter));
    fprintf(file, " (%d registers a thread, %lld bytes of shared memory and %lld threads a block)",
            bounds->resources.registers, (long long)bounds->shared_bytes,
            (long long)bounds->threads);
    if (bounds->resources.spill_store_bytes + bounds->resources.spill_load_bytes > 0)
        fprintf(file, "; spills %d bytes out, %d in", bounds->resources.spill_store_bytes,
                bounds->resources.spill_load_bytes);
    else
        fputs("; no spills", file);
    fprintf(file, "\n  %lld blocks", (long long)bounds->blocks);
    if (bounds->resident > 0)
        fprintf(file, ", of which the device holds %lld at once: %.1f waves",
                (long long)bounds->resident, (double)bounds->blocks / (double)bounds->resident);
    fputc('\n', file);
}

/* But for a command, which is copied as it is. */
static void print_advice(const struct hn_explanation *explanation, FILE *file)
{
    for (size_t i = 0; i < explanation->advice_count; i++) {
        const struct hn_advice *advice = &explanation->advice[i];
        struct hn_sentences sentences;
        bool command = strcmp(advice->kind, "profile") == 0;
        FILE *text = command ? file : hn_sentences_open(&sentences, file);
        fprintf(text, "  %zu. %s\n", i + 1, advice->text);
        if (!command)
            hn_sentences_close(&sentences);
    }
}

void hn_explanation_print(const struct hn_explanation *explanation, FILE *file)
{
    struct hn_sentences sentences;
    print_title(explanation, file);
    print_warned(explanation, hn_sentences_open(&sentences, file));
    hn_sentences_close(&sentences);
    if (explanation->evidence.best == SIZE_MAX) {
        fputs("  no point was measured in full: there is nothing to explain\n", file);
    } else {
        print_best(explanation, file);
        print_effects(explanation, file);
        print_common(explanation, file);
        print_compiling(explanation, file);
        print_bounds(explanation, hn_sentences_open(&sentences, file));
        hn_sentences_close(&sentences);
    }
    if (explanation->advice_count > 0)
        fputs("\nwhat to try next\n", file);
    print_advice(explanation, file);
}
