/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_RECORD_JSON_PARTS_H
#define HONE_CACHE_RECORD_RECORD_JSON_PARTS_H

#include "base/json_builder.h"
#include "base/json_reader.h"
#include "cache/record/record_json.h"

/* What writing and reading records share. */
enum { HN_VERIFICATION_COUNT = HN_NOT_RECORDED + 1 };
extern const char *const hn_verification_names[HN_VERIFICATION_COUNT];

#endif
