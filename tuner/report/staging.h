/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_STAGING_H
#define HONE_TUNER_REPORT_STAGING_H

#include <jansson.h>
#include <stdio.h>

#include "cache/record/staging.h"

/* What a plan with a pipeline took by the host's clock, and set against its parts; nothing of other plans. Each line
 * begins with `indent`. */
void hn_staging_print(const struct hn_record *record, const char *indent, FILE *file);

/* Adds to a record's JSON, under staging, the estimates and the limit, where its parts were measured. */
void hn_staging_add_json(const struct hn_record *record, json_t *json);

#endif
