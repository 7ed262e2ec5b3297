/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_CACHE_COMMAND_H
#define HONE_TUNER_COMMANDS_CACHE_COMMAND_H

#include <jansson.h>

#include "cache/store/store.h"
#include "tuner/commands/command.h"
#include "tuner/config/config.h"
#include "tuner/report/render.h"

/* A cache that is open for a command, and what of it the command line asks for: -p chooses tunings with these values, --device-name
 * those of a device. What takes an err and returns no status is sticky (base/error.h). */
struct hn_cache {
    const struct hn_options *options;
    char *path; /* as it is shown */
    struct hn_store *store;
    const struct hn_config *config; /* of an import: of which recordings take plan and template; NULL: none */
    bool versions;                  /* also former versions of a tuning */
};

/* The parts of `hone cache`. */
void hn_cache_list(struct hn_cache *cache, struct hn_error *err);
void hn_cache_show(struct hn_cache *cache, struct hn_error *err);
void hn_cache_export(struct hn_cache *cache, struct hn_error *err);
void hn_cache_import(struct hn_cache *cache, struct hn_error *err);
void hn_cache_merge(struct hn_cache *cache, struct hn_error *err);
void hn_cache_diff(struct hn_cache *cache, struct hn_error *err);

/* Whether it fits -p and --device-name; drops those that do not. */
bool hn_cache_fits(const struct hn_cache *cache, const struct hn_identity *identity);
void hn_cache_filter(const struct hn_cache *cache, struct hn_tuned_list *list);
/* The tunings of a kernel (NULL: of all) that fit. HN_ENOTFOUND names what there is. */
enum hn_status hn_cache_select(const struct hn_cache *cache, const char *kernel, struct hn_tuned_list *list,
                               struct hn_error *err);

bool hn_cache_is_database(const char *path);
struct hn_cache_imported {
    char shown[4096]; /* the path, without a password */
    int64_t records;
    int64_t images;
    int64_t rules; /* of families */
    bool known; /* all of it was there already */
    bool kernel_tuner;
    bool completed; /* took plan and template of the config */
};
/* A recording, a cache file of Kernel Tuner or a cache, as a whole or not at all. */
void hn_cache_import_file(const struct hn_cache *cache, const char *path, struct hn_cache_imported *imported,
                          struct hn_error *err);
void hn_cache_print_imported(const struct hn_cache_imported *imported);

/* Whether Kernel Tuner measured it. */
bool hn_cache_is_kernel_tuners(const struct hn_tuned *tuned);
/* "M=4096,N=4096", "-" when there is none; free it. */
char *hn_cache_problem_text(const struct hn_bindings *problem);
/* Below a table of tunings with a column of regimes. */
#define HN_CACHE_REGIMES_LINE "L2: what that cache holds when a launch begins; see docs/outcomes.md{?tunings}"
/* Identity, version and best of a tuning, and the remarks on it. */
json_t *hn_cache_tuned_to_json(const struct hn_tuned *tuned);
/* With --json the document, else what the views make of it; frees it. */
void hn_cache_print(const struct hn_cache *cache, json_t *document, const struct hn_view *views, struct hn_error *err);

#endif
