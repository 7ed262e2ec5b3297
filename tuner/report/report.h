/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_REPORT_H
#define HONE_TUNER_REPORT_REPORT_H

#include <jansson.h>

#include "cache/recording/recording.h"
#include "cache/store/store_roofs.h"
#include "tuner/config/config.h"

/* What `hone report` shows: tunings with all their records, from a cache or from recordings, as one HTML file that
 * needs nothing else. docs/cli.md describes the page. */

struct hn_report_tuning {
    struct hn_recording recording; /* the tuning as one has it; parameters in declared order, as far as that is known */
    struct hn_ranked *order; /* the records by when they were made */
    size_t best;    /* of the records; SIZE_MAX: none is valid */
    bool recorded;  /* the source is a recording, not a cache */
    char *source;   /* the file that it comes from */
    json_t *shown;  /* what else the page says of it, as far as it is known */
    bool has_roofs;
    struct hn_roofs roofs;
};

/* All zero before. */
struct hn_report {
    struct hn_report_tuning *tunings;
    size_t count;
    const char *cache; /* for command lines; borrowed; NULL: the default */
};

void hn_report_finish(struct hn_report *report);

/* A tuning of the cache with what its plan says, or of a recording, which is taken over, behind the others. The first is sticky
 * (base/error.h). */
void hn_report_add_tuned(struct hn_report *report, struct hn_store *store, const char *path, const struct hn_tuned *tuned,
                         struct hn_error *err);
void hn_report_add_recording(struct hn_report *report, const char *path, struct hn_recording *recording);

/* Takes ladder, figure of merit and path from a config of the tuning's kernel. */
void hn_report_apply_config(struct hn_report_tuning *tuning, struct hn_store *store, const struct hn_config *config);

/* Records that do not say what their launches ask for of dynamic shared memory, as older versions wrote none, get it from
 * the plan that was kept with them (hn_plan_to_json). NULL, or a plan that cannot be read: they stay as they are. */
void hn_records_recall_shared(const json_t *plan_json, const struct hn_bindings *problem, struct hn_records *records);

/* Appends the page. */
enum hn_status hn_report_page(const struct hn_report *report, struct hn_text *page, struct hn_error *err);

/* The page without its data, as the build has put it together from tuner/report/web. */
extern const char hn_report_template[];

#endif
