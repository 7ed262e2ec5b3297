/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/store/lookup.h"
#include "tuner/export/export_parts.h"

/* The graded lookup of cache/store/lookup.h as C: the same grades, distances and ties, so that
 * header and library give the same answer. */

/* A word or frozen value is part of the compiled code: it agrees or it does not. */
static bool must_agree(const struct hn_export *export, const char *name)
{
    return hn_plan_is_frozen(export->plan, name,
                             hn_bindings_get(&export->results[0]->identity.problem, name));
}

/* The results in the order of hn_lookup_order, by their numbers: the first of equally good ones is
 * taken. */
static enum hn_status sort_results(const struct hn_export *export, size_t **sorted,
                                   struct hn_error *err)
{
    size_t *order = calloc(export->result_count, sizeof *order);
    if (order == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < export->result_count; i++) {
        size_t place = i;
        for (; place > 0 &&
               hn_lookup_order(export->results[i], export->results[order[place - 1]]) < 0;
             place--)
            order[place] = order[place - 1];
        order[place] = i;
    }
    *sorted = order;
    return HN_OK;
}

static void append_result(const struct hn_export *export, size_t result, struct hn_text *text)
{
    const struct hn_tuned *tuned = export->results[result];
    const struct hn_device_identity *device = &tuned->identity.device;
    hn_text_printf(text, " \\\n    X(%zu", export->config_of[result]);
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const char *name = export->plan->problem[i];
        hn_text_append(text, ", ");
        hn_export_append_value(export, name, hn_bindings_get(&tuned->identity.problem, name), text);
    }
    hn_text_append(text, ", ");
    hn_export_append_literal(text, device->name);
    hn_text_printf(text, ", %d, %d, ", device->capability, device->sm_count);
    hn_export_append_time(text, tuned->best.timing.median_us);
    hn_text_append(text, ")");
}

static enum hn_status append_results(const struct hn_export *export, struct hn_text *text,
                                     struct hn_error *err)
{
    size_t *sorted = NULL;
    enum hn_status status = sort_results(export, &sorted, err);
    if (status != HN_OK)
        return status;
    hn_text_append(text, "/* What was tuned, and the configuration that was best: X(config");
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(text, ", %s", export->plan->problem[i]);
    hn_text_printf(text,
                   ",\n * device, compute capability, SMs, time in us). */\n"
                   "#define %s_RESULT_COUNT %zu\n#define %s_RESULTS(X)",
                   export->upper, export->result_count, export->upper);
    for (size_t i = 0; i < export->result_count; i++)
        append_result(export, sorted[i], text);
    hn_text_append(text, "\n\n");
    free(sorted);
    return HN_OK;
}

static void append_values(const struct hn_export *export, const char *prefix, struct hn_text *text)
{
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(text, ", %s%zu", prefix, i);
}

/* The rows of HONE_…_RESULTS as a table. */
static void append_table(const struct hn_export *export, struct hn_text *text)
{
    hn_text_printf(text,
                   "static const struct %s_result {\n    int config;\n    const char *device;\n"
                   "    int capability, sm_count;\n    double time_us;\n",
                   export->lower);
    for (size_t i = 0; i < export->plan->problem_count; i++)
        hn_text_printf(text, "    %s problem_%s;\n",
                       hn_export_problem_is_real(export, export->plan->problem[i]) ? "double"
                                                                                   : "int64_t",
                       export->plan->problem[i]);
    hn_text_printf(text, "} %s_results[] = {\n#define %s_ROW(config", export->lower, export->upper);
    append_values(export, "v", text);
    hn_text_append(text, ", device, capability, sms, time) {config, device, capability, sms, time");
    append_values(export, "v", text);
    hn_text_printf(text, "},\n    %s_RESULTS(%s_ROW)\n#undef %s_ROW\n};\n\n", export->upper,
                   export->upper, export->upper);
}

/* How far two problem values are apart, as hn_lookup_ratio has it. */
static const char ratio_body[] = "(double a, double b)\n"
                                 "{\n"
                                 "    double x = 1 + (a < 0 ? -a : a), y = 1 + (b < 0 ? -b : b);\n"
                                 "    if ((a < 0) != (b < 0))\n"
                                 "        return x * y;\n"
                                 "    return x > y ? x / y : y / x;\n"
                                 "}\n\n";

static void append_fits(const struct hn_export *export, struct hn_text *text)
{
    hn_text_printf(
        text,
        "/* Whether a configuration as it was compiled computes this problem: it was compiled for "
        "fixed\n"
        " * values of some of it (those of its row in %s_CONFIGS). */\n"
        "static inline int %s_fits(int config",
        export->upper, export->lower);
    hn_export_append_problem_parameters(export, ", ", text);
    hn_text_append(text, ")\n{\n    int i = 0;\n");
    hn_text_printf(text,
                   "    while (i < %s_RESULT_COUNT && %s_results[i].config != config)\n        "
                   "i++;\n    int fits = i < %s_RESULT_COUNT;\n",
                   export->upper, export->lower, export->upper);
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const char *name = export->plan->problem[i];
        if (must_agree(export, name))
            hn_text_printf(text, "    fits = fits && %s_results[i].problem_%s == problem_%s;\n",
                           export->lower, name, name);
        else
            hn_text_printf(text, "    (void)problem_%s;\n", name);
    }
    hn_text_append(text, "    return fits;\n}\n\n");
}

/* How far the row's problem is from the one asked for; by name, as hn_lookup_rank multiplies, so
 * that both round alike. */
static void append_distance(const struct hn_export *export, struct hn_text *text)
{
    const struct hn_bindings *problem = &export->results[0]->identity.problem;
    for (size_t i = 0; i < problem->count; i++) {
        const char *name = problem->names[i];
        if (hn_export_words(export, name) != NULL)
            hn_text_printf(text, "        own.unlike += row->problem_%s != problem_%s;\n", name,
                           name);
        else
            hn_text_printf(text,
                           "        equal = equal && row->problem_%s == problem_%s;\n"
                           "        own.distance *= %s_ratio((double)row->problem_%s, "
                           "(double)problem_%s);\n",
                           name, name, export->lower, name, name);
    }
}

static void append_frozen(const struct hn_export *export, struct hn_text *text)
{
    bool first = true;
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const char *name = export->plan->problem[i];
        if (!must_agree(export, name))
            continue;
        hn_text_printf(text, "%srow->problem_%s != problem_%s",
                       first ? "        if (as_compiled && (" : " || ", name, name);
        first = false;
    }
    hn_text_append(text, first ? "        (void)as_compiled;\n" : "))\n            continue;\n");
}

static const char match_members[] =
    " {\n"
    "    int config; /* 0 to %s_CONFIG_COUNT - 1; -1: none can be used */\n"
    "    int result; /* the row of %s_RESULTS that it is from */\n"
    "    int grade;  /* 4 exact: this device, this problem; 3 this device, another problem;\n"
    "                 * 2 another device of the architecture; 1 any; 0 none */\n"
    "    int unlike; /* words of the problem that differ */\n"
    "    double distance, sm_ratio; /* how far the problem and the multiprocessors are, from 1 */\n"
    "};\n\n";

static void append_match(const struct hn_export *export, struct hn_text *text)
{
    hn_text_printf(text, "struct %s_match", export->lower);
    hn_text_printf(text, match_members, export->upper, export->upper);
    hn_text_printf(text,
                   "static inline int %s_better(struct %s_match a, struct %s_match b)\n{\n"
                   "    if (a.grade != b.grade)\n        return a.grade > b.grade;\n"
                   "    if (a.unlike != b.unlike)\n        return a.unlike < b.unlike;\n"
                   "    if (a.distance < b.distance || a.distance > b.distance)\n"
                   "        return a.distance < b.distance;\n"
                   "    return a.sm_ratio < b.sm_ratio;\n}\n\n",
                   export->lower, export->lower, export->lower);
}

static void append_loop(const struct hn_export *export, struct hn_text *text)
{
    const char *lower = export->lower;
    hn_text_printf(
        text,
        "    struct %s_match best = {-1, -1, 0, 0, 1, 1};\n"
        "    for (int i = 0; i < %s_RESULT_COUNT; i++) {\n"
        "        const struct %s_result *row = &%s_results[i];\n"
        "        struct %s_match own = {row->config, i, 0, 0, 1, 1};\n"
        "        int known = row->capability == compute_capability;\n"
        "        int same = known && (sm_count == 0 || row->sm_count == sm_count) &&\n"
        "                   (device_name == 0 || strcmp(row->device, device_name) == 0);\n"
        "        int equal = 1;\n",
        lower, export->upper, lower, lower, lower);
    append_frozen(export, text);
    append_distance(export, text);
    hn_text_printf(text,
                   "        own.grade = same ? 3 + (equal && own.unlike == 0) : 1 + known;\n"
                   "        if (sm_count > 0)\n"
                   "            own.sm_ratio = %s_ratio(row->sm_count, sm_count);\n"
                   "        if (%s_better(own, best) &&\n"
                   "            %s_usable(row->config, compute_capability",
                   lower, lower, lower);
    hn_export_append_problem_arguments(export, ", ", text);
    hn_text_append(text, "))\n            best = own;\n    }\n    return best;\n}\n\n");
}

static void append_lookup(const struct hn_export *export, struct hn_text *text)
{
    hn_text_printf(
        text,
        "/* The result that serves a device and a problem best: of this device for this problem, "
        "of this device\n"
        " * for the nearest problem, of the same compute capability (90 for 9.0), of any; nearest "
        "in log space,\n"
        " * words before numbers. What can not be used for the problem does not count, nor, where "
        "as_compiled is\n"
        " * not 0, what was compiled for other values of it. device_name may be NULL and sm_count "
        "0 where they\n"
        " * are not known. */\n"
        "static inline struct %s_match %s_lookup(const char *device_name, int "
        "compute_capability,\n    int sm_count, int as_compiled",
        export->lower, export->lower);
    hn_export_append_problem_parameters(export, ", ", text);
    hn_text_append(text, ")\n{\n");
    append_loop(export, text);
}

static void append_short(const struct hn_export *export, const char *name, int as_compiled,
                         const char *comment, struct hn_text *text)
{
    hn_text_printf(text,
                   "%sstatic inline int %s_%s(const char *device_name, int compute_capability, int "
                   "sm_count",
                   comment, export->lower, name);
    hn_export_append_problem_parameters(export, ", ", text);
    hn_text_printf(text, ")\n{\n    return %s_lookup(device_name, compute_capability, sm_count, %d",
                   export->lower, as_compiled);
    hn_export_append_problem_arguments(export, ", ", text);
    hn_text_append(text, ").config;\n}\n\n");
}

enum hn_status hn_export_append_select(const struct hn_export *export, struct hn_text *text,
                                       struct hn_error *err)
{
    enum hn_status status = append_results(export, text, err);
    if (status != HN_OK)
        return status;
    append_table(export, text);
    hn_text_printf(text, "static inline double %s_ratio%s", export->lower, ratio_body);
    append_fits(export, text);
    append_match(export, text);
    append_lookup(export, text);
    append_short(export, "select", 1,
                 "/* The configuration to launch, of those compiled as in this header; -1: none "
                 "computes the problem. */\n",
                 text);
    append_short(export, "nearest", 0,
                 "/* The configuration to compile for the values of this problem; -1: none can be "
                 "used. */\n",
                 text);
    return HN_OK;
}
