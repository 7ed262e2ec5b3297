/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORDING_RECORDING_H
#define HONE_CACHE_RECORDING_RECORDING_H

#include "cache/family/rule.h"
#include "cache/record/record.h"
#include "cache/store/store.h"

/* A recorded tuning: every point of one space on one device and problem, in Kernel Tuner's cache format (JSON, one row
 * a line, times in milliseconds) with a versioned "hone" object at the top and in each row. docs/formats.md describes
 * it. Plain or gzip (.gz). Files of Kernel Tuner itself are read too, also those that it left without closing braces.
 * Owns everything. */
struct hn_recording {
    struct hn_identity identity; /* a Kernel Tuner file has no signature (""), an unknown regime and objective "time" */
    struct hn_version version;   /* of a Kernel Tuner file: HN_KERNEL_TUNER_PROTOCOL, all else "" */
    bool from_hone;
    char **parameters;           /* in the file's order */
    size_t parameter_count;
    struct hn_records records;
    struct hn_rule *rule;        /* of a family, whose recording has no problem and no records; NULL: none */
    double learnt;               /* seconds since the epoch: that rule */
    struct hn_recording_image {
        struct hn_bindings problem; /* those values of problems that are part of the program */
        struct hn_bindings point;
        char *entry; /* as of hn_store_put_image */
        struct hn_recording_code {
            void *bytes;
            size_t size;
        } cubin;
    } *images; /* machine code of the rule's configurations, for the device */
    size_t image_count;
    struct hn_stored_plan plan;  /* json NULL: not kept */
    char *command;               /* how it was made; may be NULL */
    char *date;                  /* ISO 8601; may be NULL */
};

/* How their files' names end, for hn_files_visit. */
extern const char *const hn_recording_ends[];
/* HN_EFORMAT: what was found where; HN_ERUN: cannot be read. */
enum hn_status hn_recording_load(const char *path, struct hn_recording *recording, struct hn_error *err);
enum hn_status hn_recording_save(const char *path, const struct hn_recording *recording, struct hn_error *err);
/* As T4, the autotuning community's results format: all but what was skipped; of what was stopped early, a lower bound.
 * Nothing reads it back. */
enum hn_status hn_recording_save_t4(const char *path, const struct hn_recording *recording, struct hn_error *err);
void hn_recording_finish(struct hn_recording *recording);
/* Whether the beginning of a file names another kernel (NULL: any is right), so that the rest need not be read: to parse
 * a folder of a hundred recordings takes a second. */
bool hn_recording_is_of_another(const char *path, const char *kernel);

/* What the plan, the template and its quoted includes were that a recording of that kernel and version was made with, of a folder the
 * first one that says anything, without parsing its rows; stored->json stays NULL where none does. HN_EFORMAT, HN_ERUN. */
enum hn_status hn_recording_plan_find(const char *path, const char *kernel, const struct hn_version *version,
                                      struct hn_stored_plan *stored, struct hn_error *err);

/* Appends the tuned results of a kernel (NULL: of all) that a recording holds, or a folder of them, as hn_store_list has
 * those of a cache: of each recording the best record, of the final race where there was one. What Kernel Tuner measured
 * is left out. HN_EFORMAT, HN_ERUN. */
enum hn_status hn_recording_list(const char *path, const char *kernel, struct hn_tuned_list *list,
                                 struct hn_error *err);

/* Rules of families in files of their own beside the recordings: NAME.family or NAME.family.gz, a recording with a rule in
 * place of a problem and rows. Who reads a folder of recordings does not see them. */

/* Appends the rules of a kernel in the files of a folder; of a file, those beside it. HN_EFORMAT. Sticky. */
void hn_recording_add_rules(const char *path, const char *kernel, struct hn_tuned_list *rules, struct hn_error *err);

/* The text as a gzip stream; free *packed. */
enum hn_status hn_gzip_pack(const char *text, size_t size, unsigned char **packed, size_t *count,
                            struct hn_error *err);

/* The parts, for those that read many rows. What takes an err and returns no status is sticky. */

/* Packs when the path ends in ".gz"; the same text gives the same bytes. */
enum hn_status hn_gzip_write(const char *path, const char *text, size_t size, struct hn_error *err);

/* The file as JSON, unpacked when it is gzip: also one that Kernel Tuner left unfinished, and with NaN and Infinity, which
 * Python writes, as null. HN_EFORMAT: what was found where; HN_ERUN: cannot be read. NULL after a failure. */
json_t *hn_recording_read(const char *path, struct hn_error *err);

/* A row of Kernel Tuner's own, or of ours with what our "hone" object adds, into an initialised
 * record. */
void hn_row_read(const struct hn_recording *recording, const json_t *row, struct hn_record *record,
                 struct hn_error *err);
/* What came of a point by Kernel Tuner's members, and the milliseconds, NAN for a failure. A failure is named by `time`
 * or, in newer files, by another member ("__error__"); without a name that is known it is launch_error, and so is a
 * time that is none (1e20 stood for failures before they had names). reason is the row's or a constant. */
enum hn_outcome hn_row_outcome(const json_t *row, double *ms, const char **reason);

#endif
