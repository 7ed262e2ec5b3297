/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "cache/recording/recording_list.h"
#include "tuner/commands/cache_compare.h"
#include "tuner/commands/open_cache.h"
#include "tuner/report/outcomes.h"

enum hn_status hn_cache_list_of(const struct hn_cache_command *command, const char *path,
                                struct hn_tuned_list *list, struct hn_error *err)
{
    struct hn_store *store;
    *list = (struct hn_tuned_list){.items = NULL};
    if (!hn_cache_is_database(path)) {
        enum hn_status status = hn_recording_list(path, NULL, list, err);
        hn_cache_filter(command, list);
        return status;
    }
    const struct hn_cache_place place = {.path = path, .quiet = command->options.quiet};
    enum hn_status status = hn_cache_open_place(&place, HN_STORE_READ, &store, NULL, err);
    if (status != HN_OK)
        return status;
    status = hn_store_list_problem(store, NULL, NULL, list, err);
    hn_cache_filter(command, list);
    hn_store_close(store);
    return status;
}

static enum hn_status report(const struct hn_cache_command *command,
                             const struct hn_tuned_pairs *pairs, struct hn_error *err)
{
    const unsigned unchanged = 1U << HN_CHANGE_NONE;
    unsigned shown = command->all ? ~0U : ~unchanged;
    if (command->options.json) {
        char *is = hn_cache_shown(command->arguments[0]);
        json_t *json = json_pack("{s:s, s:s, s:f, s:o}", "was", command->path, "is",
                                 is != NULL ? is : "", "threshold", command->threshold, "tunings",
                                 hn_tuned_pairs_to_json(pairs, shown));
        free(is);
        return hn_cache_print_json(json, err);
    }
    if (hn_tuned_pairs_count(pairs, shown) > 0) {
        hn_tuned_pairs_print(pairs, shown, "was", "is");
        hn_regimes_explain(stdout);
    }
    size_t same = hn_tuned_pairs_count(pairs, unchanged);
    printf("%zu of %zu tunings differ; of the rest point and time are the same (95%% intervals "
           "meet, or "
           "the medians differ by less than %g%%)\n",
           pairs->count - same, pairs->count, command->threshold * 100);
    return HN_OK;
}

enum hn_status hn_cache_diff(const struct hn_cache_command *command, struct hn_error *err)
{
    struct hn_tuned_list ours;
    struct hn_tuned_list theirs = {.items = NULL};
    struct hn_tuned_pairs pairs = {.items = NULL};
    enum hn_status status = hn_store_list_problem(command->store, NULL, NULL, &ours, err);
    if (status != HN_OK)
        return status;
    hn_cache_filter(command, &ours);
    status = hn_cache_list_of(command, command->arguments[0], &theirs, err);
    if (status == HN_OK)
        status = hn_tuned_pairs_make(&ours, &theirs, command->threshold, true, &pairs, err);
    if (status == HN_OK)
        status = report(command, &pairs, err);
    free(pairs.items);
    hn_tuned_list_free(&theirs);
    hn_tuned_list_free(&ours);
    return status;
}
