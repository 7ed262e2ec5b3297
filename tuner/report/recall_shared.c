/* SPDX-License-Identifier: MIT */
#include "tuner/report/recall_shared.h"

#include <jansson.h>

#include "runtime/plan/launch.h"

void hn_records_recall_shared(const char *plan_json, const struct hn_bindings *problem,
                              struct hn_records *records)
{
    struct hn_plan *plan = NULL;
    struct hn_error ignored;
    json_t *json = plan_json != NULL ? json_loads(plan_json, 0, NULL) : NULL;
    if (json != NULL && hn_plan_from_json(json, &plan, &ignored) == HN_OK) {
        for (size_t i = 0; i < records->count; i++)
            hn_launch_recall_shared(plan, problem, &records->items[i]);
        hn_plan_destroy(plan);
    }
    json_decref(json);
}
