/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/store/lookup.h"
#include "tuner/export/export_parts.h"

/* The graded lookup of cache/store/lookup.h as C: the same grades, distances and ties, so that
 * header and library give the same answer. */

/* The results in the order of hn_lookup_order, by their numbers: the first of equally good ones is
 * taken. */
static size_t *sort_results(const struct hn_export *export)
{
    size_t *order = hn_need(export->result_count, sizeof *order);
    for (size_t i = 0; i < export->result_count; i++) {
        size_t place = i;
        for (; place > 0 &&
               hn_lookup_order(export->results[i], export->results[order[place - 1]]) < 0;
             place--)
            order[place] = order[place - 1];
        order[place] = i;
    }
    return order;
}

void hn_export_append_row(const struct hn_export *export, const struct hn_tuned *tuned,
                          size_t config, struct hn_text *text)
{
    const struct hn_device_identity *device = &tuned->identity.device;
    hn_text_append(text, "    {");
    hn_export_append_literal(text, device->name);
    hn_text_printf(text, ", %d, %d, %zu, ", device->capability, device->sm_count, config);
    hn_export_append_time(text, tuned->best.timing.median_us);
    hn_text_append(text, ", {");
    hn_export_append_problem(export, tuned, text);
    hn_text_append(text, export->plan->problem_count > 0 ? "}},\n" : "0}},\n");
}

static void write_results(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    size_t *sorted = sort_results(export);
    for (size_t i = 0; i < export->result_count; i++)
        hn_export_append_row(export, export->results[sorted[i]], export->config_of[sorted[i]],
                             writer->text);
    free(sorted);
}

HN_EXPORT_COUNT(results, export->result_count)

/* Problem values by what compiled code knows of them. */
enum held { WORDS = 1, NUMBERS = 2, OTHERS = 4, ALL = 7 };

static enum held held_of(const struct hn_export *export, const char *name)
{
    const struct hn_value *value = hn_bindings_get(&export->results[0]->identity.problem, name);
    if (value->type == HN_WORD)
        return WORDS;
    return hn_plan_is_frozen(export->plan, NULL, name, value) ? NUMBERS : OTHERS;
}

/* " && row->problem.M == problem.M" of the values of these kinds. */
static void append_agreement(const struct hn_export *export, unsigned kinds, const char *before,
                             const char *line_break, struct hn_text *text)
{
    for (size_t i = 0; i < export->plan->problem_count; i++) {
        const char *name = export->plan->problem[i];
        if ((kinds & held_of(export, name)) == 0)
            continue;
        hn_text_append(text, before);
        hn_export_append_wrapped(text, line_break, "row->problem.%s == problem.%s", name, name);
        before = " && ";
    }
}

static void write_equal(struct hn_export_writer *writer)
{
    append_agreement(writer->export, ALL, "", "\n                    ", writer->text);
    hn_text_append(writer->text, writer->export->plan->problem_count == 0 ? "1" : "");
}

static bool freezes(const struct hn_export *export, size_t config)
{
    return hn_plan_freezes(export->plan, &export->configs[config]->best.point);
}

int hn_export_find_freezing(const struct hn_export *export, bool frozen)
{
    for (size_t i = 0; i < export->body_count; i++)
        if (freezes(export, i) == frozen)
            return (int)i;
    return -1;
}

/* "(config == 1 || config == 3)": whether it is one at whose point they are not. */
static void append_thawed(const struct hn_export *export, struct hn_text *text)
{
    const char *before = "(";
    for (size_t i = 0; i < export->body_count; i++)
        if (!freezes(export, i)) {
            hn_text_append(text, before);
            hn_export_append_wrapped(text, "\n            ", "config == %zu", i);
            before = " || ";
        }
    hn_text_append(text, ")");
}

static void write_frozen(struct hn_export_writer *writer)
{
    static const char line_break[] = "\n           ";
    const struct hn_export *export = writer->export;
    struct hn_text numbers = {0};
    if (hn_export_find_freezing(export, false) < 0) {
        append_agreement(export, WORDS | NUMBERS, " && ", line_break, writer->text);
        return;
    }
    append_agreement(export, WORDS, " && ", line_break, writer->text);
    append_agreement(export, NUMBERS, "", line_break, &numbers);
    if (numbers.length > 0) {
        hn_text_append(writer->text, " &&\n           (");
        append_thawed(export, writer->text);
        hn_text_printf(writer->text, " ||\n            (%s))", numbers.data);
    }
    writer->text->failed = writer->text->failed || numbers.failed;
    hn_text_finish(&numbers);
}

/* How far the row's problem is from the one asked for; by name, as hn_lookup_rank multiplies, so
 * that both round alike. */
static void write_distances(struct hn_export_writer *writer)
{
    const struct hn_bindings *problem = &writer->export->results[0]->identity.problem;
    for (size_t i = 0; i < problem->count; i++) {
        const char *name = problem->names[i];
        hn_text_printf(writer->text,
                       hn_plan_find_words(writer->plan, name) != NULL
                           ? "        own.unlike += row->problem.%s != problem.%s;\n"
                           : "        own.distance *= hone_ratio((double)row->problem.%s, "
                             "(double)problem.%s);\n",
                       name, name);
    }
}

const struct hn_export_part hn_export_result_parts[] = {
    {"result_count", .count = count_results}, {"result_rows", .write = write_results},
    {"equal", .write = write_equal},          {"and_frozen", .write = write_frozen},
    {"distances", .write = write_distances},  {0},
};
