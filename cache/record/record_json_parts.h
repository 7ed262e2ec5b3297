/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_RECORD_JSON_PARTS_H
#define HONE_CACHE_RECORD_RECORD_JSON_PARTS_H

#include "cache/record/record_json.h"

/* What writing and reading records share. */
enum { HN_VERIFICATION_COUNT = HN_NOT_RECORDED + 1 };
extern const char *const hn_verification_names[HN_VERIFICATION_COUNT];

/* A number or {"real": "nan"}; false when it is neither. */
bool hn_real_from_json(const json_t *json, double *real);
/* "an object", for messages; "nothing" for NULL. */
const char *hn_json_type_name(const json_t *json);

#endif
