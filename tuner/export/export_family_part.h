/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPORT_EXPORT_FAMILY_PART_H
#define HONE_TUNER_EXPORT_EXPORT_FAMILY_PART_H

#include "cache/store/store.h"
#include "tuner/export/export.h"

/* The rule of a family in a header. Words of the problem are part of compiled code, so that each configuration of the rule
 * is there once for each way to choose them: a variant. */
struct hn_export_family {
    struct hn_stored_rules rules; /* of the kernel */
    const struct hn_stored_rule *stored; /* the one of the device */
    size_t variants;
    struct hn_bindings *problems; /* of each variant: the chosen result's with the variant's words */
    size_t row_count;             /* configurations of the rule times variants, a configuration's side by side */
    struct hn_tuned *rows;        /* borrow problem and point: no results, without a time */
    size_t *config_of;            /* the number of each row's configuration in the header */
};

/* From the store, or where there is none (NULL) from the recordings of the request. Takes the rule of the chosen result's device, else of one of its compute capability, and leaves out results that are none
 * of the rule's configurations. Nothing happens where there is no rule, or it is of another state of the config. */
enum hn_status hn_export_take_family(struct hn_export *export, struct hn_store *store,
                                     const struct hn_export_request *request, struct hn_error *err);
void hn_export_family_destroy(struct hn_export_family *family); /* NULL is fine */

#endif
