/* SPDX-License-Identifier: MIT */
#include "cache/record/record.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/statistics.h"

const char *const hn_outcome_names[HN_OUTCOME_COUNT] = {HN_OUTCOMES(HN_NAMED_OF_3)};

const char *const hn_outcome_meanings[HN_OUTCOME_COUNT] = {HN_OUTCOMES(HN_MORE_OF_3)};

bool hn_outcome_is_open(enum hn_outcome outcome)
{
    return outcome == HN_OUTCOME_SKIPPED || outcome == HN_OUTCOME_COMPILE_STOPPED;
}

const char *const hn_regime_names[] = {[HN_COLD] = "cold",
                                       [HN_WARM] = "warm",
                                       [HN_STREAM] = "stream",
                                       [HN_GRAPH] = "graph",
                                       [HN_GRAPH10] = "graph10"};

bool hn_regime_parse(const char *name, enum hn_regime *regime)
{
    enum { COUNT = sizeof hn_regime_names / sizeof *hn_regime_names };
    size_t place = name == NULL ? COUNT : hn_text_place(name, hn_regime_names, COUNT);
    if (place < COUNT)
        *regime = (enum hn_regime)place;
    return place < COUNT;
}

bool hn_regime_is_deployed(enum hn_regime regime)
{
    return regime >= HN_STREAM;
}

const char *const hn_warning_names[HN_WARNING_COUNT] = {HN_WARNINGS(HN_NAMED_OF_3)};

const char *const hn_warning_meanings[HN_WARNING_COUNT] = {HN_WARNINGS(HN_MORE_OF_3)};

static void read_warnings(struct hn_json_reader *reader, const struct hn_field *field,
                          const json_t *json, void *member)
{
    size_t index;
    const json_t *item;
    if (!hn_json_expect(reader, json_is_array(json), field->key, "a list of warnings"))
        return;
    json_array_foreach(json, index, item)
    {
        const char *name = json_is_string(item) ? json_string_value(item) : "";
        size_t place = hn_text_place(name, hn_warning_names, HN_WARNING_COUNT);
        if (place < HN_WARNING_COUNT)
            *(unsigned *)member |= 1u << place;
    }
}

static json_t *build_warnings(const struct hn_field *field, const void *member)
{
    unsigned warnings = *(const unsigned *)member;
    json_t *array = warnings == 0 ? json_null() : json_array();
    (void)field;
    for (int i = 0; i < HN_WARNING_COUNT; i++)
        if ((warnings >> i & 1) != 0)
            hn_build_append(&array, json_string(hn_warning_names[i]));
    return array;
}

const struct hn_field_own hn_warnings_field = {read_warnings, build_warnings, NULL};

const char *const hn_verification_names[HN_VERIFICATION_COUNT] = {
    [HN_UNVERIFIED] = "unverified",
    [HN_SELF_VERIFIED] = "self-verified",
    [HN_VERIFIED] = "verified",
    [HN_NOT_RECORDED] = "not recorded",
};

const char *const hn_suspicion_names[HN_SUSPICION_COUNT] = {
    [HN_SUSPICION_NONE] = "none",
    [HN_SUSPICION_CHECKED] = "checked",
    [HN_SUSPICION_AGAIN] = "again",
    [HN_SUSPICION_ACQUITTED] = "acquitted",
    [HN_SUSPICION_CHECK_FAILED] = "check failed",
};

void hn_timing_add_process(struct hn_timing *timing, const struct hn_timing *process,
                           double *medians_us)
{
    medians_us[timing->processes++] = process->median_us;
    timing->middle_us = hn_median(medians_us, (size_t)timing->processes);
    timing->fastest_us = medians_us[0];
    timing->slowest_us = medians_us[timing->processes - 1];
    timing->copy_gb_per_s = fmax(timing->copy_gb_per_s, process->copy_gb_per_s);
    timing->clock_mhz = fmax(timing->clock_mhz, process->clock_mhz);
}

void hn_record_finish(struct hn_record *record)
{
    hn_bindings_finish(&record->point);
    hn_bindings_finish(&record->metrics);
    hn_bindings_finish(&record->observed);
    free(record->message);
    free(record->original);
    free(record->timing.samples_us);
    *record = (struct hn_record){0};
}

enum hn_status hn_record_copy(struct hn_record *to, const struct hn_record *from,
                              struct hn_error *err)
{
    const struct hn_timing *timing = &from->timing;
    const size_t size = timing->sample_count * sizeof *timing->samples_us;
    hn_error_init(err);
    *to = *from;
    to->message = hn_copy_string(from->message, err);
    to->original = hn_copy_string(from->original, err);
    to->timing.samples_us = size == 0 ? NULL : hn_made(malloc(size), err);
    if (to->timing.samples_us != NULL)
        memcpy(to->timing.samples_us, timing->samples_us, size);
    struct hn_bindings *const copies[] = {&to->point, &to->metrics, &to->observed};
    const struct hn_bindings *const lists[] = {&from->point, &from->metrics, &from->observed};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        *copies[i] = (struct hn_bindings){0};
        if (!hn_failed(err))
            (void)hn_bindings_copy(copies[i], lists[i], err);
    }
    if (hn_failed(err))
        hn_record_finish(to);
    return err->status;
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
    if (a->objective < b->objective || a->objective > b->objective)
        return a->objective < b->objective;
    char *x HN_FREED = hn_bindings_text(&a->point), *y HN_FREED = hn_bindings_text(&b->point);
    int longer = x == NULL || y == NULL ? 0 : (int)strlen(x) - (int)strlen(y);
    return longer < 0 || (longer == 0 && x != NULL && y != NULL && strcmp(x, y) < 0);
}

int hn_record_compare(const void *a, const void *b)
{
    const struct hn_record *x = a, *y = b;
    bool x_ok = x->outcome == HN_OUTCOME_OK;
    if (x_ok != (y->outcome == HN_OUTCOME_OK))
        return x_ok ? -1 : 1;
    return hn_record_beats(x, y) ? -1 : hn_record_beats(y, x);
}

double hn_observed(const struct hn_bindings *observed, const char *name)
{
    const struct hn_value *value = hn_bindings_get(observed, name);
    return value == NULL ? 0 : hn_value_number(value);
}

static bool is_in(const char *name, const char *group)
{
    size_t length = strlen(group);
    return strncmp(name, group, length) == 0 && name[length] == '.';
}

/* The values that begin with `group` and a dot: from the returned place to *end. */
static size_t range_of(const struct hn_bindings *observed, const char *group, size_t *end)
{
    size_t begin = 0;
    while (begin < observed->count && !is_in(observed->names[begin], group))
        begin++;
    *end = begin;
    while (*end < observed->count && is_in(observed->names[*end], group))
        ++*end;
    return begin;
}

bool hn_observed_any(const struct hn_bindings *observed, const char *group)
{
    size_t end;
    return range_of(observed, group, &end) < end;
}

void hn_observed_set(struct hn_bindings *observed, const char *name, struct hn_value value,
                     struct hn_error *err)
{
    if (!hn_failed(err))
        hn_bindings_set(observed, name, &value, err);
}

void hn_observed_drop(struct hn_bindings *observed, const char *group)
{
    size_t end;
    size_t begin = range_of(observed, group, &end);
    for (size_t i = begin; i < end; i++)
        free(observed->names[i]);
    size_t behind = observed->count - end;
    if (begin == end)
        return;
    memmove(observed->names + begin, observed->names + end, behind * sizeof *observed->names);
    memmove(observed->values + begin, observed->values + end, behind * sizeof *observed->values);
    observed->count -= end - begin;
}

void hn_observed_replace(struct hn_bindings *observed, const char *group,
                         const struct hn_bindings *from, struct hn_error *err)
{
    size_t end;
    size_t begin = range_of(from, group, &end);
    if (hn_failed(err))
        return;
    hn_observed_drop(observed, group);
    for (size_t i = begin; i < end && !hn_failed(err); i++)
        hn_bindings_set(observed, from->names[i], &from->values[i], err);
}

/* In files these come first, in this order; all others by their names. */
static const char *const first[] = {
    "staging.chunks",
    "staging.streams",
    "staging.register_ms",
    "staging.copy_engines",
    "staging.kernels_us",
    "staging.upload_us",
    "staging.download_us",
    "staging.sequential_us",
    "energy.joules",
    "energy.spread",
    "energy.power_w",
    "energy.launch_us",
    "energy.idle_w",
    "energy.seconds",
    "energy.windows",
    "energy.temperature_c",
    "conditions.sm_mhz",
    "conditions.memory_mhz",
    "conditions.power_w",
    "conditions.temperature_c",
    "conditions.held_down_by.power_cap",
    "conditions.held_down_by.hardware",
    "conditions.held_down_by.temperature",
    "conditions.held_down_by.hot",
};

static void build_value(json_t **object, const char *name, const struct hn_value *value)
{
    char key[160];
    const char *own = strchr(name, '.') + 1;
    const char *word = strchr(own, '.');
    if (word == NULL) {
        hn_build_set(object, own, hn_value_to_json(value));
        return;
    }
    snprintf(key, sizeof key, "%.*s", (int)(word - own), own);
    json_t *list = json_incref(json_object_get(*object, key));
    list = list != NULL ? list : json_array();
    hn_build_append(&list, json_string(word + 1));
    hn_build_set(object, key, list);
}

json_t *hn_observed_to_json(const struct hn_bindings *observed, const char *group)
{
    enum { FIRST = sizeof first / sizeof *first };
    size_t end, in_group;
    size_t begin = range_of(observed, group, &end);
    json_t *object = json_object();
    for (size_t i = 0; i < FIRST; i++)
        for (in_group = begin; in_group < end; in_group++)
            if (strcmp(observed->names[in_group], first[i]) == 0)
                build_value(&object, first[i], &observed->values[in_group]);
    for (size_t i = begin; i < end; i++)
        if (!hn_text_is_among(observed->names[i], first, FIRST))
            build_value(&object, observed->names[i], &observed->values[i]);
    return object;
}

static const double counter_leaves = 0.002;

static bool is_weighed(const struct hn_record *record)
{
    return hn_observed(&record->observed, "energy.windows") > 0;
}

double hn_front_cost(const struct hn_record *record, enum hn_front_by by)
{
    double time_us = record->timing.median_us;
    double joules = hn_observed(&record->observed, "energy.joules");
    if (record->outcome != HN_OUTCOME_OK || (by != HN_FRONT_TIME && !(joules > 0)))
        return INFINITY;
    if (by == HN_FRONT_TIME)
        return time_us;
    return by == HN_FRONT_ENERGY ? joules : joules * time_us;
}

enum hn_front_by hn_front_parse(const char *objective)
{
    return strcmp(objective, "energy_delay") == 0 ? HN_FRONT_ENERGY_DELAY
           : strcmp(objective, "energy") == 0     ? HN_FRONT_ENERGY
                                                  : HN_FRONT_TIME;
}

double hn_front_objective(const struct hn_record *record, enum hn_front_by by)
{
    double seconds = 1e-6 * record->timing.median_us;
    double joules = is_weighed(record) ? hn_observed(&record->observed, "energy.joules")
                                       : record->estimated_w * seconds;
    if (!(joules > 0))
        return (double)NAN;
    return by == HN_FRONT_ENERGY_DELAY ? joules * seconds : joules;
}

bool hn_front_is_tied(const struct hn_record *better, const struct hn_record *other)
{
    double apart = (other->objective - better->objective) / better->objective;
    return is_weighed(better) && is_weighed(other) &&
           apart <= fmax(hn_observed(&better->observed, "energy.spread"), counter_leaves) +
                        fmax(hn_observed(&other->observed, "energy.spread"), counter_leaves);
}

bool hn_front_has(const struct hn_record *records, size_t count, size_t record)
{
    double time = hn_front_cost(&records[record], HN_FRONT_TIME);
    double energy = hn_front_cost(&records[record], HN_FRONT_ENERGY);
    for (size_t i = 0; i < count; i++) {
        double other_time = hn_front_cost(&records[i], HN_FRONT_TIME);
        double other_energy = hn_front_cost(&records[i], HN_FRONT_ENERGY);
        if (other_time <= time && other_energy <= energy &&
            (other_time < time || other_energy < energy))
            return false;
    }
    return isfinite(energy);
}
