/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

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

static enum hn_status report(const struct hn_cache_command *command, const char *path,
                             const struct hn_cache_imported *imported,
                             const struct hn_tuned_pairs *pairs, json_t *files,
                             struct hn_error *err)
{
    if (command->options.json) {
        json_t *file = json_pack("{s:s, s:I, s:I, s:b, s:o}", "file", path, "records",
                                 (json_int_t)imported->records, "images",
                                 (json_int_t)imported->images, "known", imported->known,
                                 "conflicts", hn_tuned_pairs_to_json(pairs, conflicts));
        return json_array_append_new(files, file) == 0 ? HN_OK : hn_fail_memory(err);
    }
    size_t count = hn_tuned_pairs_count(pairs, conflicts);
    if (!command->options.quiet)
        hn_cache_print_imported(path, imported);
    if (count == 0)
        return HN_OK;
    printf("%zu tuning%s with another result here; the newest verified session counts:\n", count,
           count == 1 ? "" : "s");
    hn_tuned_pairs_print(pairs, conflicts, "here", "file");
    return HN_OK;
}

/* *before: what the cache has; it is what it has then. */
static enum hn_status merge_one(const struct hn_cache_command *command, const char *path,
                                struct hn_tuned_list *before, json_t *files, struct hn_error *err)
{
    struct hn_tuned_list theirs = {.items = NULL};
    struct hn_tuned_list after = {.items = NULL};
    struct hn_tuned_pairs pairs = {.items = NULL};
    struct hn_cache_imported imported = {.known = false};
    enum hn_status status = hn_cache_list_of(command, path, &theirs, err);
    if (status == HN_OK)
        status = hn_tuned_pairs_make(before, &theirs, command->threshold, false, &pairs, err);
    if (status == HN_OK)
        status = hn_cache_import_file(command, path, &imported, err);
    if (status == HN_OK && !imported.known)
        status = hn_store_list_problem(command->store, NULL, NULL, &after, err);
    if (status == HN_OK) {
        add_remarks(imported.known ? before : &after, &pairs);
        status = report(command, path, &imported, &pairs, files, err);
    }
    free(pairs.items);
    hn_tuned_list_free(&theirs);
    if (!imported.known) {
        hn_tuned_list_free(before);
        *before = after;
    }
    return status;
}

enum hn_status hn_cache_merge(const struct hn_cache_command *command, struct hn_error *err)
{
    struct hn_tuned_list list;
    json_t *files = json_array();
    enum hn_status status = hn_store_list_problem(command->store, NULL, NULL, &list, err);
    for (size_t i = 0; status == HN_OK && i < command->argument_count; i++)
        status = merge_one(command, command->arguments[i], &list, files, err);
    hn_tuned_list_free(&list);
    if (status == HN_OK && command->options.json)
        return hn_cache_print_json(json_pack("{s:s, s:o}", "cache", command->path, "files", files),
                                   err);
    json_decref(files);
    return status;
}
