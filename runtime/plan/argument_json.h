/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_ARGUMENT_JSON_H
#define HONE_RUNTIME_PLAN_ARGUMENT_JSON_H

#include <jansson.h>

#include "runtime/plan/argument.h"

/* One argument of a plan's JSON. NULL when out of memory. */
json_t *hn_argument_to_json(const struct hn_argument *argument);
/* Into a zeroed argument, which owns what was read also after a failure. */
enum hn_status hn_argument_from_json(const json_t *object, struct hn_argument *argument, struct hn_error *err);

json_t *hn_compare_to_json(const struct hn_compare *compare);
enum hn_status hn_compare_from_json(const json_t *object, struct hn_compare *compare, struct hn_error *err);

#endif
