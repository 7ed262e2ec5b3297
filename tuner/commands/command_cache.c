/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/text.h"
#include "tuner/commands/cache_command.h"
#include "tuner/commands/open_cache.h"
#include "tuner/report/render.h"

static void hn_cache_check(struct hn_cache *cache, struct hn_error *err)
{
    struct hn_text report;
    struct hn_tuned_list list = {.count = 0};
    hn_text_init(&report);
    if (hn_store_check(cache->store, &report, err) == HN_OK)
        (void)hn_store_list(cache->store, NULL, &list, err);
    const struct hn_error found = *err;
    bool whole = found.status == HN_OK;
    const char *findings = report.data == NULL ? "" : report.data;
    if (cache->options->json && (whole || found.status == HN_EFORMAT)) {
        hn_error_init(err);
        hn_cache_print(cache,
                       json_pack("{s:s, s:b, s:s, s:I}", "cache", cache->path, "whole", whole,
                                 "findings", findings, "tunings", (json_int_t)list.count),
                       NULL, err);
        if (!whole)
            *err = found;
    } else if (whole) {
        printf("cache '%s' is whole: %zu tuning%s\n", cache->path, list.count,
               list.count == 1 ? "" : "s");
    } else {
        fputs(findings, stdout);
    }
    hn_tuned_list_free(&list);
    hn_text_finish(&report);
}

static void hn_cache_prune(struct hn_cache *cache, struct hn_error *err)
{
    const struct hn_options *options = cache->options;
    const double before = (double)time(NULL) - options->older_than_days * 86400;
    struct hn_tuned_list list = {.items = NULL};
    struct hn_pruned pruned;
    char size[HN_FORMAT_SIZE];
    const struct hn_prune prune = {
        .kernel = options->arguments.count > 0 ? options->arguments.items[0] : NULL,
        .stale = options->stale,
        .simulated = options->simulated,
        .images = options->images,
        .before = options->older_than_days > 0 ? before : 0,
        .dry_run = options->dry_run,
    };
    if (!prune.stale && !prune.simulated && !prune.images && options->older_than_days <= 0)
        hn_fail(err, HN_EUSAGE,
                "nothing is chosen: say what to remove with --stale, --simulated, "
                "--older-than DAYS or --images");
    else if (prune.kernel != NULL)
        (void)hn_cache_select(cache, prune.kernel, &list, err);
    hn_tuned_list_free(&list);
    if (hn_failed(err) || hn_store_prune(cache->store, &prune, &pruned, err) != HN_OK)
        return;
    if (options->json) {
        hn_cache_print(cache,
                       json_pack("{s:s, s:b, s:I, s:I, s:I, s:I}", "cache", cache->path, "dry_run",
                                 prune.dry_run, "sessions", (json_int_t)pruned.sessions, "records",
                                 (json_int_t)pruned.records, "images", (json_int_t)pruned.images,
                                 "image_bytes", (json_int_t)pruned.image_bytes),
                       NULL, err);
        return;
    }
    hn_format_bytes((double)pruned.image_bytes, size);
    if (!options->quiet)
        printf("%s %lld session%s with %lld records, and %lld compiled kernel%s (%s)\n",
               prune.dry_run ? "would remove" : "removed", (long long)pruned.sessions,
               pruned.sessions == 1 ? "" : "s", (long long)pruned.records, (long long)pruned.images,
               pruned.images == 1 ? "" : "s", size);
}

static enum hn_status open_and_run(const struct hn_options *options, enum hn_store_mode mode,
                                   void (*part)(struct hn_cache *, struct hn_error *),
                                   struct hn_error *err)
{
    char *path = hn_needed(hn_store_default_path(options->cache));
    struct hn_cache cache = {.options = options, .path = hn_needed(hn_cache_shown(path))};
    hn_error_init(err);
    if (hn_store_is_server(path) && part == hn_cache_prune)
        hn_fail(err, HN_EUSAGE,
                "the cache of a server is everybody's, and not pruned from here: merge it into a "
                "file, prune that, and merge it into another database");
    else if (hn_cache_open(options, mode, &cache.store, err) == HN_OK)
        part(&cache, err);
    hn_store_close(cache.store);
    free(cache.path);
    free(path);
    return err->status;
}

/* Of each part: its function, and itself. */
#define PART(part, mode, bit, ...)                                                                 \
    static enum hn_status run_##part(struct hn_options *options, struct hn_error *err)             \
    {                                                                                              \
        return open_and_run(options, mode, hn_cache_##part, err);                                  \
    }                                                                                              \
    static const struct hn_command command_##part = {.name = "cache " #part,                       \
                                                     .of = bit,                                    \
                                                     .extra =                                      \
                                                         "found '%s', expected no more arguments", \
                                                     .run = run_##part,                            \
                                                     __VA_ARGS__};
#define FEW "too few arguments, expected "

PART(list, HN_STORE_READ, HN_CACHE_LIST, .arguments = "",
     .summary = "Lists the tuned kernels: the best of each problem and device.",
     .examples = "hone cache list")
PART(show, HN_STORE_READ, HN_CACHE_SHOW, .arguments = "NAME", .least = 1, .most = 1,
     .missing = FEW "NAME",
     .summary = "Shows the tunings of a kernel: the best points and what became of all.",
     .examples = "hone cache show scale")
PART(export, HN_STORE_READ, HN_CACHE_EXPORT, .arguments = "NAME FILE", .least = 2, .most = 2,
     .missing = FEW "NAME FILE", .summary = "Writes the tunings of a kernel as recordings.",
     .details =
         "A recording is Kernel Tuner's cache file with Hone's data added; a name that ends in "
         ".gz is compressed. Several tunings need a folder as FILE.",
     .examples = "hone cache export scale recorded/")
PART(import, HN_STORE_WRITE, HN_CACHE_IMPORT, .arguments = "FILE...", .least = 1, .most = SIZE_MAX,
     .missing = FEW "FILE...",
     .summary = "Takes over recordings of Hone, cache files of Kernel Tuner and other caches.",
     .details = "Each file is taken over as a whole or not at all, and once only.",
     .examples = "hone cache import recorded/scale.json")
PART(merge, HN_STORE_WRITE, HN_CACHE_MERGE, .arguments = "FILE...", .least = 1, .most = SIZE_MAX,
     .missing = FEW "FILE...", .summary = "Brings the caches of several machines together.",
     .details = "As import, and lists the tunings of which both had another result: the newest "
                "verified session counts.",
     .examples = "hone cache merge colleague.db")
PART(diff, HN_STORE_READ, HN_CACHE_DIFF, .arguments = "FILE", .least = 1, .most = 1,
     .missing = FEW "FILE",
     .summary = "Shows what is other in another cache, a recording or a folder of them.",
     .details =
         "A tuning is faster or slower when the 95% intervals of both medians are apart, and "
         "the medians by more than the threshold.",
     .examples = "hone cache diff before.db")
PART(prune, HN_STORE_WRITE, HN_CACHE_PRUNE, .arguments = "[NAME]", .most = 1,
     .summary = "Removes what is no longer wanted, of one kernel or of all.",
     .details = "At least one of the options says what. What is removed no longer leads later "
                "searches.",
     .examples = "hone cache prune --stale")
PART(check, HN_STORE_READ, HN_CACHE_CHECK, .arguments = "",
     .summary = "Checks that the cache is whole and every record can be read.",
     .examples = "hone cache check")

const struct hn_command *const hn_cache_parts[] = {
    &command_list,   &command_show,  &command_export,
    &command_import, &command_merge, &command_diff,
    &command_prune,  &command_check, NULL,
};
