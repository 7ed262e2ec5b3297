/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_RECALL_SHARED_H
#define HONE_TUNER_REPORT_RECALL_SHARED_H

#include "cache/store/store.h"

/* Records that do not say what their launches ask for of dynamic shared memory, as older versions wrote none, get it from
 * the plan that was kept with them (hn_plan_to_json). NULL, or a plan that can not be read: they stay as they are. */
void hn_records_recall_shared(const char *plan_json, const struct hn_bindings *problem, struct hn_records *records);

#endif
