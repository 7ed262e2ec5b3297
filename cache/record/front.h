/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_FRONT_H
#define HONE_CACHE_RECORD_FRONT_H

#include "cache/record/record.h"

/* What is chosen by, of records whose energy was measured. */
enum hn_front_by { HN_FRONT_TIME, HN_FRONT_ENERGY, HN_FRONT_ENERGY_DELAY };

/* Joules, or joules times microseconds, of a launch; the time in microseconds. INFINITY of what is not ok, or was not
 * measured. */
double hn_front_cost(const struct hn_record *record, enum hn_front_by by);

/* The objectives "energy" and "energy_delay"; false for any other name. */
bool hn_front_parse(const char *objective, enum hn_front_by *by);
/* What is compared where that is a tuning's objective: joules, or joules times seconds, of a launch. Of a record whose energy was
 * not measured, what the most that the GPU may draw makes of its time; NAN where there is neither. */
double hn_front_objective(const struct hn_record *record, enum hn_front_by by);

/* Of two whose energy was measured, the first of which is the better one by it: whether they can not be told apart, by what
 * their windows differ by, and at least what the counter leaves open. */
bool hn_front_is_tied(const struct hn_record *better, const struct hn_record *other);

/* Whether no other of the records is at once as fast and as frugal, and better in one of the two (Pareto). False of those
 * whose energy was not measured. */
bool hn_front_has(const struct hn_record *records, size_t count, size_t record);

#endif
