/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_CACHE_COMMAND_H
#define HONE_TUNER_COMMANDS_CACHE_COMMAND_H

#include <jansson.h>

#include "cache/store/store.h"
#include "tuner/config/config.h"
#include "tuner/commands/command.h"

/* What the parts of `hone cache` share. */
struct hn_cache_command {
    struct hn_options options;
    const char **arguments; /* those that are no options */
    size_t argument_count;
    struct hn_bindings problem; /* -p: only tunings with these values */
    const char *device_name;    /* --device-name: only tunings of this device; the device of what is imported */
    const char *config;         /* --config: of which recordings that are imported take plan and template */
    const struct hn_config *read; /* the same, read; NULL: none */
    bool images;                /* also take over compiled kernels */
    bool own;                   /* of an import: it was measured here, so that it is reused */
    bool t4;                    /* export as T4, not as recordings */
    bool all;                   /* of a comparison: also what is equal */
    double threshold;           /* of a comparison, relative: medians that differ by less are as fast */
    struct hn_prune prune;
    double older_than_days; /* 0: whatever its age */
    bool versions; /* also former versions of a tuning */
    char *path; /* of the cache */
    struct hn_store *store;
};

/* As the options have it; it borrows from them. Without path and store. */
struct hn_cache_command hn_cache_command_of(const struct hn_options *options);

enum hn_status hn_cache_list(const struct hn_cache_command *command, struct hn_error *err);
enum hn_status hn_cache_show(const struct hn_cache_command *command, struct hn_error *err);
enum hn_status hn_cache_export(const struct hn_cache_command *command, struct hn_error *err);
enum hn_status hn_cache_import(const struct hn_cache_command *command, struct hn_error *err);
enum hn_status hn_cache_merge(const struct hn_cache_command *command, struct hn_error *err);
enum hn_status hn_cache_diff(const struct hn_cache_command *command, struct hn_error *err);
enum hn_status hn_cache_prune(const struct hn_cache_command *command, struct hn_error *err);
enum hn_status hn_cache_check(const struct hn_cache_command *command, struct hn_error *err);

/* Whether it fits -p and --device-name. */
bool hn_cache_fits(const struct hn_cache_command *command, const struct hn_identity *identity);
/* The tunings of a kernel (NULL: of all) that fit. HN_ENOTFOUND names what there is. */
enum hn_status hn_cache_select(const struct hn_cache_command *command, const char *kernel,
                               struct hn_tuned_list *list, struct hn_error *err);

/* Drops what does not fit. */
void hn_cache_filter(const struct hn_cache_command *command, struct hn_tuned_list *list);
bool hn_cache_is_database(const char *path);
/* The tunings of another cache, a recording or a folder of them that fit. */
enum hn_status hn_cache_list_of(const struct hn_cache_command *command, const char *path, struct hn_tuned_list *list,
                                struct hn_error *err);

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
enum hn_status hn_cache_import_file(const struct hn_cache_command *command, const char *path,
                                    struct hn_cache_imported *imported, struct hn_error *err);
void hn_cache_print_imported(const struct hn_cache_imported *imported);

/* A line or two for each rule of a family (kernel NULL: of all) that fits; and a list of them. */
enum hn_status hn_cache_print_families(const struct hn_cache_command *command, const char *kernel, struct hn_error *err);
enum hn_status hn_cache_families_to_json(const struct hn_cache_command *command, const char *kernel, json_t **json,
                                         struct hn_error *err);

/* "simulated, stale": what a reader has to know of a record before trusting its time; "" when it is
 * measured and verified. The text is the caller's to finish. */
void hn_cache_remarks(struct hn_text *text, const struct hn_tuned *tuned,
                      const struct hn_record *record);
/* Whether Kernel Tuner measured it. */
bool hn_cache_is_kernel_tuners(const struct hn_tuned *tuned);
/* "M=4096,N=4096", "-" when there is none; free it. */
char *hn_cache_problem_text(const struct hn_bindings *problem);
json_t *hn_cache_device_to_json(const struct hn_device_identity *device);
json_t *hn_cache_version_to_json(const struct hn_version *version);
/* Identity, version and best of a tuning; NULL when out of memory. */
json_t *hn_cache_tuned_to_json(const struct hn_tuned *tuned);
/* Prints the document with a newline and frees it; HN_ENOMEM when it is NULL. */
enum hn_status hn_cache_print_json(json_t *document, struct hn_error *err);

#endif
