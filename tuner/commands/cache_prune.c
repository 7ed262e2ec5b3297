/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <time.h>

#include "cache/store/store.h"
#include "tuner/commands/cache_command.h"
#include "tuner/report/format.h"

enum hn_status hn_cache_prune(const struct hn_cache_command *command, struct hn_error *err)
{
    struct hn_prune prune = command->prune;
    struct hn_pruned pruned;
    char size[HN_FORMAT_SIZE];
    if (!prune.stale && !prune.simulated && !prune.images && command->older_than_days <= 0)
        return hn_fail(err, HN_EUSAGE,
                       "nothing is chosen: say what to remove with --stale, --simulated, "
                       "--older-than DAYS or --images");
    if (command->argument_count > 0) {
        struct hn_tuned_list list;
        enum hn_status status = hn_cache_select(command, command->arguments[0], &list, err);
        if (status != HN_OK)
            return status;
        hn_tuned_list_free(&list);
        prune.kernel = command->arguments[0];
    }
    if (command->older_than_days > 0)
        prune.before = (double)time(NULL) - command->older_than_days * 86400;
    enum hn_status status = hn_store_prune(command->store, &prune, &pruned, err);
    if (status != HN_OK)
        return status;
    if (command->options.json)
        return hn_cache_print_json(
            json_pack("{s:s, s:b, s:I, s:I, s:I, s:I}", "cache", command->path, "dry_run",
                      prune.dry_run, "sessions", (json_int_t)pruned.sessions, "records",
                      (json_int_t)pruned.records, "images", (json_int_t)pruned.images,
                      "image_bytes", (json_int_t)pruned.image_bytes),
            err);
    hn_format_bytes((double)pruned.image_bytes, size);
    if (!command->options.quiet)
        printf("%s %lld session%s with %lld records, and %lld compiled kernel%s (%s)\n",
               prune.dry_run ? "would remove" : "removed", (long long)pruned.sessions,
               pruned.sessions == 1 ? "" : "s", (long long)pruned.records, (long long)pruned.images,
               pruned.images == 1 ? "" : "s", size);
    return HN_OK;
}
