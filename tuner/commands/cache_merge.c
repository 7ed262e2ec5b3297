/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/commands/cache_compare.h"

static const unsigned conflicts =
    1U << HN_CHANGE_POINT | 1U << HN_CHANGE_FASTER | 1U << HN_CHANGE_SLOWER;

/* Says of each conflict whose result counts now. */
static void add_remarks(const struct hn_tuned_list *now, struct hn_tuned_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        struct hn_tuned_pair *pair = &pairs->items[i];
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

static enum hn_status report(const struct hn_cache_command *command,
                             const struct hn_cache_imported *imported,
                             const struct hn_tuned_pairs *pairs, json_t *files,
                             struct hn_error *err)
{
    if (command->options.json) {
        json_t *file = json_pack("{s:s, s:I, s:I, s:b, s:o}", "file", imported->shown, "records",
                                 (json_int_t)imported->records, "images",
                                 (json_int_t)imported->images, "known", imported->known,
                                 "conflicts", hn_tuned_pairs_to_json(pairs, conflicts));
        return json_array_append_new(files, file) == 0 ? HN_OK : hn_fail_memory(err);
    }
    size_t count = hn_tuned_pairs_count(pairs, conflicts);
    if (!command->options.quiet)
        hn_cache_print_imported(imported);
    if (count == 0)
        return HN_OK;
    printf("%zu tuning%s with another result here; the newest verified session counts:\n", count,
           count == 1 ? "" : "s");
    hn_tuned_pairs_print(pairs, conflicts, "here", "file");
    return HN_OK;
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

/* Takes the items of `more`. */
static enum hn_status append(struct hn_tuned_list *list, struct hn_tuned_list *more,
                             struct hn_error *err)
{
    struct hn_tuned *items =
        realloc(list->items, (list->count + more->count + 1) * sizeof *list->items);
    if (items == NULL) {
        hn_tuned_list_free(more);
        return hn_fail_memory(err);
    }
    for (size_t i = 0; i < more->count; i++)
        items[list->count++] = more->items[i];
    list->items = items;
    free(more->items);
    return HN_OK;
}

/* What the cache has of the problems of another: of all that it has, a merge asks for no more. */
static enum hn_status list_same_problems(struct hn_store *store, const struct hn_tuned_list *theirs,
                                         struct hn_tuned_list *list, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    *list = (struct hn_tuned_list){.items = NULL};
    for (size_t i = 0; status == HN_OK && i < theirs->count; i++) {
        struct hn_tuned_list part;
        const struct hn_identity *identity = &theirs->items[i].identity;
        if (comes_earlier(theirs, i))
            continue;
        status = hn_store_list_problem(store, identity->kernel, &identity->problem, &part, err);
        if (status == HN_OK)
            status = append(list, &part, err);
    }
    return status;
}

static enum hn_status merge_one(const struct hn_cache_command *command, const char *path,
                                json_t *files, struct hn_error *err)
{
    struct hn_tuned_list theirs = {.items = NULL};
    struct hn_tuned_list before = {.items = NULL};
    struct hn_tuned_list after = {.items = NULL};
    struct hn_tuned_pairs pairs = {.items = NULL};
    struct hn_cache_imported imported = {.known = false};
    enum hn_status status = hn_cache_list_of(command, path, &theirs, err);
    if (status == HN_OK)
        status = list_same_problems(command->store, &theirs, &before, err);
    if (status == HN_OK)
        status = hn_tuned_pairs_make(&before, &theirs, command->threshold, false, &pairs, err);
    if (status == HN_OK)
        status = hn_cache_import_file(command, path, &imported, err);
    if (status == HN_OK && !imported.known)
        status = list_same_problems(command->store, &theirs, &after, err);
    if (status == HN_OK) {
        add_remarks(imported.known ? &before : &after, &pairs);
        status = report(command, &imported, &pairs, files, err);
    }
    free(pairs.items);
    hn_tuned_list_free(&theirs);
    hn_tuned_list_free(&before);
    hn_tuned_list_free(&after);
    return status;
}

enum hn_status hn_cache_merge(const struct hn_cache_command *command, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    json_t *files = json_array();
    for (size_t i = 0; status == HN_OK && i < command->argument_count; i++)
        status = merge_one(command, command->arguments[i], files, err);
    if (status == HN_OK && command->options.json)
        return hn_cache_print_json(json_pack("{s:s, s:o}", "cache", command->path, "files", files),
                                   err);
    json_decref(files);
    return status;
}
