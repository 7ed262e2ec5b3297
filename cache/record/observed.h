/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_OBSERVED_H
#define HONE_CACHE_RECORD_OBSERVED_H

#include "base/bindings.h"
#include "base/schema.h"

/* What observers (runtime/bench/observe) saw of a variant beside its time: numbers that are not negative, by
 * "observer.name", as "energy.joules". In JSON each observer has an object of its own; a list of words in it is a set, and
 * the flag "conditions.held_down_by.power_cap" says that a word is in it. Names are written to caches and files: never
 * change one. */

/* 0 where it was not seen. */
double hn_observed(const struct hn_bindings *observed, const char *name);
/* The values that begin with `group` and a dot: from the returned place to *end. */
size_t hn_observed_range(const struct hn_bindings *observed, const char *group, size_t *end);
bool hn_observed_any(const struct hn_bindings *observed, const char *group);
/* Sticky, as all below. */
void hn_observed_set(struct hn_bindings *observed, const char *name, double value, struct hn_error *err);
void hn_observed_count(struct hn_bindings *observed, const char *name, int64_t count, struct hn_error *err);
void hn_observed_flag(struct hn_bindings *observed, const char *name, struct hn_error *err);
/* What one observer saw, in the place of what it saw before. */
void hn_observed_replace(struct hn_bindings *observed, const char *group, const struct hn_bindings *from,
                         struct hn_error *err);
void hn_observed_drop(struct hn_bindings *observed, const char *group);

/* Of one observer; NULL when out of memory. */
json_t *hn_observed_to_json(const struct hn_bindings *observed, const char *group);
/* Writes the group that the field's key names, if there is any of it. Reading is hn_observed_read's. */
extern const struct hn_field_own hn_observed_field;
/* Takes an object of a record that is none of its parts; HN_EFORMAT for all but numbers and lists in it. */
void hn_observed_read(struct hn_bindings *observed, const char *group, const json_t *object,
                      struct hn_error *err);

#endif
