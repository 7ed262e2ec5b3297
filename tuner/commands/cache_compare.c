/* SPDX-License-Identifier: MIT */
#include "tuner/commands/cache_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "tuner/report/format.h"
#include "tuner/report/table.h"

static enum hn_change change_of(const struct hn_tuned *ours, const struct hn_tuned *theirs,
                                double threshold)
{
    if (ours == NULL)
        return HN_CHANGE_ADDED;
    if (theirs == NULL)
        return HN_CHANGE_REMOVED;
    const struct hn_timing *a = &ours->best.timing;
    const struct hn_timing *b = &theirs->best.timing;
    if (b->high_us < a->low_us && b->median_us * (1 + threshold) < a->median_us)
        return HN_CHANGE_FASTER;
    if (b->low_us > a->high_us && b->median_us > a->median_us * (1 + threshold))
        return HN_CHANGE_SLOWER;
    return hn_bindings_equal(&ours->best.point, &theirs->best.point) ? HN_CHANGE_NONE
                                                                     : HN_CHANGE_POINT;
}

static const struct hn_tuned *find(const struct hn_tuned_list *list, const struct hn_tuned *tuned,
                                   bool simulated)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].simulated == simulated &&
            hn_identity_equal(&list->items[i].identity, &tuned->identity))
            return &list->items[i];
    }
    return NULL;
}

/* What a tuning of `list` is set against in the other list: one of the same kind, or, across kinds,
 * where each list has it in one kind only. */
static const struct hn_tuned *partner(const struct hn_tuned_list *list,
                                      const struct hn_tuned_list *other,
                                      const struct hn_tuned *tuned, bool across)
{
    const struct hn_tuned *same = find(other, tuned, tuned->simulated);
    if (same != NULL || !across || find(list, tuned, !tuned->simulated) != NULL)
        return same;
    return find(other, tuned, !tuned->simulated);
}

static const char *remark_of(const struct hn_tuned *ours, const struct hn_tuned *theirs)
{
    if (theirs == NULL || ours->simulated == theirs->simulated)
        return NULL;
    return ours->simulated ? "simulated -> measured" : "measured -> simulated";
}

enum hn_status hn_tuned_pairs_make(const struct hn_tuned_list *ours,
                                   const struct hn_tuned_list *theirs, double threshold,
                                   bool across, struct hn_tuned_pairs *pairs, struct hn_error *err)
{
    *pairs =
        (struct hn_tuned_pairs){calloc(ours->count + theirs->count + 1, sizeof *pairs->items), 0};
    if (pairs->items == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < ours->count; i++) {
        const struct hn_tuned *mine = &ours->items[i];
        const struct hn_tuned *other = partner(ours, theirs, mine, across);
        pairs->items[pairs->count++] = (struct hn_tuned_pair){
            mine, other, change_of(mine, other, threshold), remark_of(mine, other)};
    }
    for (size_t i = 0; i < theirs->count; i++) {
        if (partner(theirs, ours, &theirs->items[i], across) == NULL)
            pairs->items[pairs->count++] =
                (struct hn_tuned_pair){NULL, &theirs->items[i], HN_CHANGE_ADDED, NULL};
    }
    return HN_OK;
}

const char *hn_change_name(enum hn_change change)
{
    static const char *const names[] = {
        [HN_CHANGE_NONE] = "same",     [HN_CHANGE_POINT] = "other point",
        [HN_CHANGE_FASTER] = "faster", [HN_CHANGE_SLOWER] = "slower",
        [HN_CHANGE_ADDED] = "added",   [HN_CHANGE_REMOVED] = "removed",
    };
    return names[change];
}

/* "PAD 0 -> 1, TILE 16 -> 32; driver 580.1 -> 590.2": what differs beside the time. */
static void append_differences(struct hn_text *text, const struct hn_tuned_pair *pair)
{
    const struct hn_bindings *was = &pair->ours->best.point;
    const struct hn_bindings *is = &pair->theirs->best.point;
    for (size_t i = 0; i < was->count; i++) {
        const struct hn_value *value = hn_bindings_get(is, was->names[i]);
        if (value == NULL || hn_value_equal(value, &was->values[i]))
            continue;
        hn_text_printf(text, "%s%s ", text->length > 0 ? ", " : "", was->names[i]);
        hn_value_append(text, &was->values[i]);
        hn_text_append(text, " -> ");
        hn_value_append(text, value);
    }
    if (hn_version_equal(&pair->ours->version, &pair->theirs->version))
        return;
    hn_text_append(text, text->length > 0 ? "; " : "");
    hn_version_append_difference(text, &pair->ours->version, &pair->theirs->version);
}

/* "imported from a.json.gz on 2026-11-22 -> measured on node7"; once where it is the same, or there
 * is one only. */
static void append_origins(struct hn_text *text, const struct hn_tuned_pair *pair)
{
    char *was = pair->ours == NULL ? NULL : hn_origin_text(&pair->ours->origin);
    char *is = pair->theirs == NULL ? NULL : hn_origin_text(&pair->theirs->origin);
    bool both = was != NULL && is != NULL && strcmp(was, is) != 0;
    hn_text_printf(text, "%s%s%s", was != NULL ? was : "", both ? " -> " : "",
                   both || (was == NULL && is != NULL) ? is : "");
    free(was);
    free(is);
}

static void add_best(struct hn_table *table, const struct hn_tuned *tuned)
{
    char timing[HN_FORMAT_SIZE];
    char date[32] = "-";
    struct tm parts;
    if (tuned == NULL) {
        hn_table_cell(table, "-");
        hn_table_cell(table, "-");
        return;
    }
    time_t seconds = (time_t)tuned->best.time;
    if (tuned->best.time > 0 && gmtime_r(&seconds, &parts) != NULL)
        (void)strftime(date, sizeof date, "%Y-%m-%d", &parts);
    hn_format_timing(&tuned->best.timing, timing);
    hn_table_cell(table, "%s", timing);
    hn_table_cell(table, "%s", date);
}

static void add_row(struct hn_table *table, const struct hn_tuned_pair *pair)
{
    const struct hn_tuned *any = pair->ours != NULL ? pair->ours : pair->theirs;
    char *problem = hn_cache_problem_text(&any->identity.problem);
    struct hn_text text;
    hn_text_init(&text);
    hn_table_cell(table, "%s", hn_change_name(pair->change));
    hn_table_cell(table, "%s", any->identity.kernel);
    hn_table_cell(table, "%s", problem == NULL ? "" : problem);
    hn_table_cell(table, "%s", any->identity.device.name);
    hn_table_cell(table, "%s", any->identity.regime);
    add_best(table, pair->ours);
    add_best(table, pair->theirs);
    if (pair->ours != NULL && pair->theirs != NULL) {
        append_differences(&text, pair);
        hn_table_cell(table, "%.3f",
                      pair->theirs->best.timing.median_us / pair->ours->best.timing.median_us);
    } else {
        hn_table_cell(table, "-");
    }
    hn_table_cell(table, "%s", text.data == NULL ? "" : text.data);
    text.length = 0;
    append_origins(&text, pair);
    hn_table_cell(table, "%s", text.data == NULL ? "" : text.data);
    hn_table_cell(table, "%s", pair->remark == NULL ? "" : pair->remark);
    hn_text_finish(&text);
    free(problem);
}

size_t hn_tuned_pairs_count(const struct hn_tuned_pairs *pairs, unsigned changes)
{
    size_t count = 0;
    for (size_t i = 0; i < pairs->count; i++)
        count += (changes & 1U << pairs->items[i].change) != 0;
    return count;
}

void hn_tuned_pairs_print(const struct hn_tuned_pairs *pairs, unsigned changes, const char *ours,
                          const char *theirs)
{
    char ratio[64];
    snprintf(ratio, sizeof ratio, ">%s/%s", theirs, ours);
    const char *headings[] = {
        "change", "kernel", "~problem", "=device",       "=L2",      ours,       "date",
        theirs,   "date",   ratio,      "~what differs", "=~origin", "=~remark", NULL};
    struct hn_table *table = hn_table_create(headings);
    for (size_t i = 0; i < pairs->count; i++) {
        if ((changes & 1U << pairs->items[i].change) != 0)
            add_row(table, &pairs->items[i]);
    }
    hn_table_print(table, stdout, 0);
    hn_table_destroy(table);
}

json_t *hn_tuned_pairs_to_json(const struct hn_tuned_pairs *pairs, unsigned changes)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < pairs->count; i++) {
        const struct hn_tuned_pair *pair = &pairs->items[i];
        if ((changes & 1U << pair->change) == 0)
            continue;
        json_t *item =
            json_pack("{s:s, s:o*, s:o*, s:s*}", "change", hn_change_name(pair->change), "was",
                      pair->ours == NULL ? NULL : hn_cache_tuned_to_json(pair->ours), "is",
                      pair->theirs == NULL ? NULL : hn_cache_tuned_to_json(pair->theirs), "remark",
                      pair->remark);
        if (json_array_append_new(array, item) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}
