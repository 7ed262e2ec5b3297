/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cache/recording/recording.h"
#include "tuner/commands/cache_command.h"
#include "tuner/commands/open_cache.h"

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

/* Of a comparison, and of a file that is merged. */
static const struct hn_column pair_columns[] = {
    {"change", "{change}"},
    {"kernel", "[{was.kernel}|{is.kernel}]"},
    {"~problem", "[{was.problem}|{is.problem}|-]"},
    {"=device", "[{was.device.name}|{is.device.name}]"},
    {"=L2", "[{was.regime}|{is.regime}]"},
    {"[here{?file}|was]", "[{was.best.timing:timing}|-]"},
    {"date", "[{was.best.time:date}{?was.best.time>0}|-]"},
    {"[file{?file}|is]", "[{is.best.timing:timing}|-]"},
    {"date", "[{is.best.time:date}{?is.best.time>0}|-]"},
    {">[file/here{?file}|is/was]", "[{is.best.timing.median_us/was.best.timing.median_us:.3f}|-]"},
    {"~what differs", "{differences}"},
    {"=~origin", "{origins}"},
    {"=~remark", "{remark}"},
    {NULL, NULL},
};
static const struct hn_view diff_views[] = {
    {.at = "tunings", .columns = pair_columns},
    {.line = HN_CACHE_REGIMES_LINE, .wraps = true},
    {.line = "{differing} of {compared} tunings differ; of the rest point and time are the same "
             "(95% intervals meet, or the medians differ by less than {threshold*100:g}%)"},
    {NULL},
};
static const struct hn_view merge_views[] = {
    {.line = "{conflicts:.0f} tuning{conflicts:s} with another result here; the newest verified "
             "session counts:{?conflicts}"},
    {.at = "conflicts", .columns = pair_columns},
    {NULL},
};

static json_t *pairs_to_json(const struct pairs *pairs, unsigned changes)
{
    json_t *array = json_array();
    for (size_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->items[i];
        struct hn_text differences = {0}, origins = {0};
        if ((changes & 1U << pair->change) == 0)
            continue;
        if (pair->ours != NULL && pair->theirs != NULL)
            append_differences(&differences, pair);
        append_origins(&origins, pair);
        (void)json_array_append_new(
            array,
            hn_needed(json_pack(
                "{ss so* so* ss* ss* ss*}", "change", change_names[pair->change], "was",
                pair->ours == NULL ? NULL : hn_cache_tuned_to_json(pair->ours), "is",
                pair->theirs == NULL ? NULL : hn_cache_tuned_to_json(pair->theirs), "differences",
                differences.data, "origins", origins.data, "remark", pair->remark)));
        hn_text_finish(&differences);
        hn_text_finish(&origins);
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
    json_int_t differing = 0;
    for (size_t i = 0; i < pairs->count; i++)
        differing += pairs->items[i].change != SAME;
    char *is = hn_needed(hn_cache_shown(options->arguments.items[0]));
    hn_cache_print(cache,
                   json_pack("{ss ss sf sI sI so}", "was", cache->path, "is", is, "threshold",
                             options->threshold, "compared", (json_int_t)pairs->count, "differing",
                             differing, "tunings",
                             pairs_to_json(pairs, options->all ? ~0U : ~(1U << SAME))),
                   diff_views, err);
    free(is);
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
    json_t *file = hn_needed(json_pack("{ss sI sI sb so}", "file", imported->shown, "records",
                                       (json_int_t)imported->records, "images",
                                       (json_int_t)imported->images, "known", imported->known,
                                       "conflicts", pairs_to_json(pairs, conflicts)));
    (void)json_array_append(files, file);
    if (!cache->options->json && !cache->options->quiet)
        hn_cache_print_imported(imported);
    if (!cache->options->json)
        hn_render(file, merge_views, stdout);
    json_decref(file);
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
        hn_cache_print(cache, json_pack("{s:s, s:O}", "cache", cache->path, "files", files), NULL,
                       err);
    json_decref(files);
}
