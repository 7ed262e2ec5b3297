/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPORT_EXPORT_H
#define HONE_TUNER_EXPORT_EXPORT_H

#include "base/memory.h"
#include "cache/record/record.h"
#include "cache/store/store.h"
#include "runtime/compile/image.h"
#include "runtime/compile/source.h"
#include "runtime/plan/plan.h"

struct hn_config;
struct hn_export_images;
struct hn_export_family;

/* How machine code is made that the cache does not keep. */
struct hn_export_compiling {
    const char *architectures; /* "sm_80,sm_90"; NULL: those that were tuned */
    int jobs;                  /* compile workers; 0: as many as the machine allows */
    double timeout_s;
    bool quiet;
};

/* An export consists of the tuned results of one kernel, one a device and problem, and the configurations that
 * they come down to. The first is the chosen one, whose values the header's macros take. */
struct hn_export {
    const char *kernel; /* borrowed */
    char *upper;        /* HONE_MATMUL: starts every macro */
    char *lower;        /* hone_matmul: starts every function */
    struct hn_tuned_list all, rules; /* the latter of families */
    const struct hn_tuned **results; /* of all: the chosen one, then its device's, then the others' */
    size_t result_count;
    /* A configuration is what is compiled: a point with the problem values that the template sees as constants. Each
     * stands here with the first of its results; without a plan every result is one. */
    const struct hn_tuned **configs;
    size_t count;
    size_t *config_of; /* the number of each result's configuration */
    /* Behind them, the template's default point, which is no result: for problems that no configuration can do. */
    struct hn_tuned *fallback; /* borrows all; NULL: there is none */
    size_t body_count;         /* configurations with it */
    size_t left_out; /* tuned with other parameters than the chosen one */
    const char *left_objective; /* of a result for a device and problem that have another, too; NULL: there is none */
    struct hn_export_family *family; /* its rule chooses where nothing was tuned for the problem; NULL: there is none */
    const struct hn_rule *rule; /* that one */
    size_t outside_family; /* results that are none of its configurations, left out too */
    struct hn_stored_plan stored;
    struct hn_plan *plan; /* of the chosen one, or of the config; NULL when the cache keeps none */
    struct hn_plan **plans; /* of each configuration with the fallback; NULL: types of arguments are those of `plan` */
    struct hn_config *config; /* that was named; NULL: none */
    char template_hash[33]; /* of the template that goes with the plan */
    const char *rows; /* borrowed: the request's */
    bool untuned; /* there are no results: in their place is the default point, or the choice of the family's rule, without a
                   * device and a time */
    struct hn_store *store; /* borrowed: where machine code may be; NULL: results are of no cache */
    struct hn_export_compiling compiling;
    const struct hn_export_images *images; /* that are embedded, with a launch by the driver; NULL: none */
    struct hn_blocks memory; /* of what is the export's own, but for what has a finish of its own */
};

struct hn_export_request {
    const char *kernel;
    const char *prefix;      /* NULL: HONE_<KERNEL> */
    const char *device_name; /* NULL: that of `present`, else the only one in the cache */
    const struct hn_device_identity *present; /* the GPU of this machine; NULL: none */
    const struct hn_bindings *problem;        /* only problems with these values; empty: all */
    const char *regime;                       /* NULL: cold where there is a choice */
    enum hn_front_by by;         /* among what was measured of each problem; of the cache alone */
    const char *config;          /* path: plan and template are taken from it; NULL: from the cache */
    const char *const *recorded; /* recordings, or folders of them, in place of the cache */
    size_t recorded_count;
    const char *rows; /* path of the text that HN_EXPORT_ROWS fills */
    bool no_family; /* all results, and no rule of a family */
    bool rule_alone; /* where nothing was tuned, the rule of a family serves without results */
    bool defaults; /* where nothing fits, the default point of the config, which has to be given */
    struct hn_export_compiling compiling;
};

/* Reads the tuned configurations and the plan; store is NULL where recordings are given, or with `defaults` where
 * there is no cache. HN_ENOTFOUND: what the cache holds instead; HN_EUSAGE: several devices to choose from. With
 * `defaults`, why there is nothing stands in err although it is HN_OK. Finish it in any case. */
enum hn_status hn_export_open(struct hn_store *store, const struct hn_export_request *request,
                              struct hn_export *export, struct hn_error *err);
void hn_export_finish(struct hn_export *export);

enum hn_export_kind {
    HN_EXPORT_HEADER, HN_EXPORT_JSON, HN_EXPORT_SOURCE, HN_EXPORT_CUBIN, HN_EXPORT_CUBIN_HEADER, HN_EXPORT_PATCH, HN_EXPORT_ROWS
};

/* A format, by its kind. Each appends the whole file; what it has appended when it fails does not count. */
struct hn_export_format {
    const char *name;
    enum hn_status (*write)(const struct hn_export *export, struct hn_text *text, struct hn_error *err);
    bool takes_defaults; /* the default point of a config has a place in it, which is no result */
    bool has_all;        /* it chooses among all results in C */
};
/* By their kinds. A patch is a diff of the template's file, which gets the values that it declares; rows are lines of a
 * text of the user's, each once for each result. HN_ECONFIG: it declares none; what is wrong where in that text. */
extern const struct hn_export_format *const hn_export_formats[];

#endif
