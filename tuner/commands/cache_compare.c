/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cache/recording/recording.h"
#include "tuner/commands/cache_command.h"
#include "tuner/commands/open_cache.h"
#include "tuner/report/format.h"
#include "tuner/report/table.h"

/* The tunings of two caches side by side, and how their best times differ beyond the noise. */

enum change {
    SAME,   /* the same point, as fast */
    POINT,  /* another point, as fast */
    FASTER, /* theirs: the 95% intervals are apart, and the medians by the threshold */
    SLOWER,
    ADDED,   /* only theirs */
    REMOVED, /* only ours */
};
static const char *const change_names[] = {"same",   "other point", "faster",
                                           "slower", "added",       "removed"};
static const unsigned conflicts = 1U << POINT | 1U << FASTER | 1U << SLOWER;

struct pair {
    const struct hn_tuned *ours;   /* NULL: ADDED */
    const struct hn_tuned *theirs; /* NULL: REMOVED */
    enum change change;
    const char *remark; /* shown in a column of its own; NULL: none */
};

/* Borrows both lists. Functions below that take `changes`, a mask of 1 << change, look at these
 * pairs alone. */
struct pairs {
    struct pair *items;
    size_t count;
};

static enum change change_of(const struct hn_tuned *ours, const struct hn_tuned *theirs,
                             double threshold)
{
    if (ours == NULL)
        return ADDED;
    if (theirs == NULL)
        return REMOVED;
    const struct hn_timing *a = &ours->best.timing;
    const struct hn_timing *b = &theirs->best.timing;
    if (b->high_us < a->low_us && b->median_us * (1 + threshold) < a->median_us)
        return FASTER;
    if (b->low_us > a->high_us && b->median_us > a->median_us * (1 + threshold))
        return SLOWER;
    return hn_bindings_equal(&ours->best.point, &theirs->best.point) ? SAME : POINT;
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

/* Pairs tunings of equal identity, measured with measured and simulated with simulated; `across`:
 * also one with the other, with a remark, where each list has it in one kind only. In the order of
 * ours, then what only theirs has. threshold: relative, 0.02 for 2%. Free the items. */
static struct pairs make_pairs(const struct hn_tuned_list *ours, const struct hn_tuned_list *theirs,
                               double threshold, bool across)
{
    struct pairs pairs = {hn_need(ours->count + theirs->count, sizeof *pairs.items), 0};
    for (size_t i = 0; i < ours->count; i++) {
        const struct hn_tuned *mine = &ours->items[i];
        const struct hn_tuned *other = partner(ours, theirs, mine, across);
        pairs.items[pairs.count++] =
            (struct pair){mine, other, change_of(mine, other, threshold), remark_of(mine, other)};
    }
    for (size_t i = 0; i < theirs->count; i++) {
        if (partner(theirs, ours, &theirs->items[i], across) == NULL)
            pairs.items[pairs.count++] = (struct pair){NULL, &theirs->items[i], ADDED, NULL};
    }
    return pairs;
}

/* "PAD 0 -> 1, TILE 16 -> 32; driver 580.1 -> 590.2": what differs beside the time. */
static void append_differences(struct hn_text *text, const struct pair *pair)
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
static void append_origins(struct hn_text *text, const struct pair *pair)
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
    char timing[HN_FORMAT_SIZE] = "-", date[32] = "-";
    if (tuned != NULL)
        hn_format_timing(&tuned->best.timing, timing);
    hn_table_cell(table, "%s", timing);
    hn_table_cell(table, "%s", tuned == NULL ? date : hn_cache_date(tuned->best.time, date));
}

static void add_row(struct hn_table *table, const struct pair *pair)
{
    const struct hn_tuned *any = pair->ours != NULL ? pair->ours : pair->theirs;
    char *problem = hn_cache_problem_text(&any->identity.problem);
    struct hn_text text;
    hn_text_init(&text);
    hn_table_cell(table, "%s", change_names[pair->change]);
    hn_table_cell(table, "%s", any->identity.kernel);
    hn_table_cell(table, "%s", problem);
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

static size_t count_pairs(const struct pairs *pairs, unsigned changes)
{
    size_t count = 0;
    for (size_t i = 0; i < pairs->count; i++)
        count += (changes & 1U << pairs->items[i].change) != 0;
    return count;
}

/* One row a pair on standard output, under headings for ours and theirs. */
static void print_pairs(const struct pairs *pairs, unsigned changes, const char *ours,
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

static json_t *pairs_to_json(const struct pairs *pairs, unsigned changes)
{
    json_t *array = json_array();
    for (size_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->items[i];
        if ((changes & 1U << pair->change) != 0)
            (void)json_array_append_new(
                array, hn_needed(json_pack(
                           "{s:s, s:o*, s:o*, s:s*}", "change", change_names[pair->change], "was",
                           pair->ours == NULL ? NULL : hn_cache_tuned_to_json(pair->ours), "is",
                           pair->theirs == NULL ? NULL : hn_cache_tuned_to_json(pair->theirs),
                           "remark", pair->remark)));
    }
    return array;
}

/* The tunings of another cache, a recording or a folder of them that fit. */
static void list_of(const struct hn_cache *cache, const char *path, struct hn_tuned_list *list,
                    struct hn_error *err)
{
    struct hn_store *store;
    const struct hn_cache_place place = {.path = path, .quiet = cache->options->quiet};
    *list = (struct hn_tuned_list){.items = NULL};
    if (hn_failed(err))
        return;
    if (!hn_cache_is_database(path)) {
        (void)hn_recording_list(path, NULL, list, err);
    } else if (hn_cache_open_place(&place, HN_STORE_READ, &store, NULL, err) == HN_OK) {
        (void)hn_store_list_problem(store, NULL, NULL, list, err);
        hn_store_close(store);
    }
    hn_cache_filter(cache, list);
}

static void report_diff(const struct hn_cache *cache, const struct pairs *pairs,
                        struct hn_error *err)
{
    const struct hn_options *options = cache->options;
    unsigned shown = options->all ? ~0U : ~(1U << SAME);
    if (options->json) {
        char *is = hn_needed(hn_cache_shown(options->arguments.items[0]));
        hn_cache_print_json(json_pack("{s:s, s:s, s:f, s:o}", "was", cache->path, "is", is,
                                      "threshold", options->threshold, "tunings",
                                      pairs_to_json(pairs, shown)),
                            err);
        free(is);
        return;
    }
    if (count_pairs(pairs, shown) > 0) {
        print_pairs(pairs, shown, "was", "is");
        hn_regimes_explain(stdout);
    }
    printf("%zu of %zu tunings differ; of the rest point and time are the same (95%% intervals "
           "meet, or "
           "the medians differ by less than %g%%)\n",
           count_pairs(pairs, ~(1U << SAME)), pairs->count, options->threshold * 100);
}

void hn_cache_diff(struct hn_cache *cache, struct hn_error *err)
{
    struct hn_tuned_list ours;
    struct hn_tuned_list theirs;
    if (hn_failed(err) || hn_store_list_problem(cache->store, NULL, NULL, &ours, err) != HN_OK)
        return;
    hn_cache_filter(cache, &ours);
    list_of(cache, cache->options->arguments.items[0], &theirs, err);
    struct pairs pairs = make_pairs(&ours, &theirs, cache->options->threshold, true);
    if (!hn_failed(err))
        report_diff(cache, &pairs, err);
    free(pairs.items);
    hn_tuned_list_free(&theirs);
    hn_tuned_list_free(&ours);
}

/* Says of each conflict whose result counts now. */
static void add_remarks(const struct hn_tuned_list *now, struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        struct pair *pair = &pairs->items[i];
        for (size_t j = 0; (conflicts & 1U << pair->change) != 0 && j < now->count; j++) {
            const struct hn_tuned *tuned = &now->items[j];
            if (tuned->simulated != pair->ours->simulated ||
                !hn_identity_equal(&tuned->identity, &pair->ours->identity))
                continue;
            bool kept = hn_version_equal(&tuned->version, &pair->ours->version) &&
                        hn_bindings_equal(&tuned->best.point, &pair->ours->best.point) &&
                        tuned->best.time == pair->ours->best.time;
            pair->remark = kept ? "here counts" : "file counts";
        }
    }
}

static void report_merge(const struct hn_cache *cache, const struct hn_cache_imported *imported,
                         const struct pairs *pairs, json_t *files)
{
    size_t count = count_pairs(pairs, conflicts);
    if (cache->options->json) {
        (void)json_array_append_new(
            files, hn_needed(json_pack("{s:s, s:I, s:I, s:b, s:o}", "file", imported->shown,
                                       "records", (json_int_t)imported->records, "images",
                                       (json_int_t)imported->images, "known", imported->known,
                                       "conflicts", pairs_to_json(pairs, conflicts))));
        return;
    }
    if (!cache->options->quiet)
        hn_cache_print_imported(imported);
    if (count == 0)
        return;
    printf("%zu tuning%s with another result here; the newest verified session counts:\n", count,
           count == 1 ? "" : "s");
    print_pairs(pairs, conflicts, "here", "file");
}

static bool comes_earlier(const struct hn_tuned_list *list, size_t i)
{
    const struct hn_identity *own = &list->items[i].identity;
    for (size_t n = 0; n < i; n++) {
        const struct hn_identity *other = &list->items[n].identity;
        if (strcmp(other->kernel, own->kernel) == 0 &&
            hn_bindings_equal(&other->problem, &own->problem))
            return true;
    }
    return false;
}

/* What the cache has of the problems of another: of all that it has, a merge asks for no more. */
static void list_same_problems(struct hn_store *store, const struct hn_tuned_list *theirs,
                               struct hn_tuned_list *list, struct hn_error *err)
{
    *list = (struct hn_tuned_list){.items = NULL};
    for (size_t i = 0; i < theirs->count && !hn_failed(err); i++) {
        struct hn_tuned_list part;
        const struct hn_identity *identity = &theirs->items[i].identity;
        if (comes_earlier(theirs, i) ||
            hn_store_list_problem(store, identity->kernel, &identity->problem, &part, err) != HN_OK)
            continue;
        list->items = hn_need_more(list->items, list->count + part.count, sizeof *list->items);
        for (size_t k = 0; k < part.count; k++)
            list->items[list->count++] = part.items[k];
        free(part.items);
    }
}

static void merge_one(const struct hn_cache *cache, const char *path, json_t *files,
                      struct hn_error *err)
{
    struct hn_tuned_list theirs;
    struct hn_tuned_list before;
    struct hn_tuned_list after = {.items = NULL};
    struct hn_cache_imported imported = {.known = false};
    list_of(cache, path, &theirs, err);
    list_same_problems(cache->store, &theirs, &before, err);
    struct pairs pairs = make_pairs(&before, &theirs, cache->options->threshold, false);
    hn_cache_import_file(cache, path, &imported, err);
    if (!imported.known)
        list_same_problems(cache->store, &theirs, &after, err);
    if (!hn_failed(err)) {
        add_remarks(imported.known ? &before : &after, &pairs);
        report_merge(cache, &imported, &pairs, files);
    }
    free(pairs.items);
    hn_tuned_list_free(&theirs);
    hn_tuned_list_free(&before);
    hn_tuned_list_free(&after);
}

void hn_cache_merge(struct hn_cache *cache, struct hn_error *err)
{
    const struct hn_texts *arguments = &cache->options->arguments;
    json_t *files = json_array();
    for (size_t i = 0; i < arguments->count; i++)
        merge_one(cache, arguments->items[i], files, err);
    if (cache->options->json)
        hn_cache_print_json(json_pack("{s:s, s:O}", "cache", cache->path, "files", files), err);
    json_decref(files);
}
