/* SPDX-License-Identifier: MIT */
#include "cache/record/record.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t hn_resources_shared_bytes(const struct hn_resources *resources)
{
    return (int64_t)resources->shared_bytes + resources->dynamic_shared_bytes;
}

void hn_record_init(struct hn_record *record)
{
    *record = (struct hn_record){.outcome = HN_OUTCOME_OK};
    hn_bindings_init(&record->point);
    hn_bindings_init(&record->metrics);
}

void hn_record_finish(struct hn_record *record)
{
    hn_bindings_finish(&record->point);
    hn_bindings_finish(&record->metrics);
    free(record->message);
    free(record->original);
    free(record->timing.samples_us);
    hn_record_init(record);
}

static enum hn_status copy_string(char **to, const char *from, struct hn_error *err)
{
    *to = from == NULL ? NULL : strdup(from);
    return from != NULL && *to == NULL ? hn_fail_memory(err) : HN_OK;
}

static enum hn_status copy_samples(struct hn_timing *to, const struct hn_timing *from,
                                   struct hn_error *err)
{
    to->samples_us = NULL;
    to->sample_count = 0;
    if (from->sample_count == 0)
        return HN_OK;
    to->samples_us = malloc(from->sample_count * sizeof *to->samples_us);
    if (to->samples_us == NULL)
        return hn_fail_memory(err);
    memcpy(to->samples_us, from->samples_us, from->sample_count * sizeof *to->samples_us);
    to->sample_count = from->sample_count;
    return HN_OK;
}

enum hn_status hn_record_copy(struct hn_record *to, const struct hn_record *from,
                              struct hn_error *err)
{
    struct hn_record copy = *from;
    copy.message = NULL;
    copy.original = NULL;
    hn_bindings_init(&copy.point);
    hn_bindings_init(&copy.metrics);
    enum hn_status status = copy_samples(&copy.timing, &from->timing, err);
    if (status == HN_OK)
        status = copy_string(&copy.message, from->message, err);
    if (status == HN_OK)
        status = copy_string(&copy.original, from->original, err);
    if (status == HN_OK)
        status = hn_bindings_copy(&copy.point, &from->point, err);
    if (status == HN_OK)
        status = hn_bindings_copy(&copy.metrics, &from->metrics, err);
    if (status != HN_OK)
        hn_record_finish(&copy);
    *to = copy;
    return status;
}

void hn_record_fail(struct hn_record *record, enum hn_outcome outcome, const char *format, ...)
{
    char *message = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&message, format, arguments) < 0)
        message = NULL;
    va_end(arguments);
    free(record->message);
    record->message = message;
    record->outcome = outcome;
}

static bool can_be_best(const struct hn_record *record)
{
    return record != NULL && record->outcome == HN_OUTCOME_OK && !isnan(record->objective);
}

bool hn_record_beats(const struct hn_record *a, const struct hn_record *b)
{
    if (!can_be_best(a) || !can_be_best(b))
        return can_be_best(a);
    if (a->final != b->final)
        return a->final;
    return a->objective < b->objective;
}
