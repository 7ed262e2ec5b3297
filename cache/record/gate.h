/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_GATE_H
#define HONE_CACHE_RECORD_GATE_H

#include "cache/record/identity.h"
#include "cache/record/record.h"

/* What every identity, version and record passes that comes from a file or from another process: rows of a cache,
 * recordings, Kernel Tuner's files, captures, what workers send. Before it nothing is used, behind it nobody checks again. Each
 * is sticky, fails with HN_EFORMAT and says what was found and what was expected. Names are words (hn_text_is_word). */

/* The kernel is a word, regime and objective are ones that there are, all else is text of one line. */
void hn_gate_identity(const struct hn_identity *identity, struct hn_error *err);
void hn_gate_version(const struct hn_version *version, struct hn_error *err);
/* 32 hexadecimal digits, or "" where it is not known. */
void hn_gate_hash(const char *what, const char *hash, struct hn_error *err);
/* Finite and not negative. */
void hn_gate_amount(const char *what, double amount, struct hn_error *err);

/* Occupancy is a share. */
void hn_gate_resources(const struct hn_resources *resources, struct hn_error *err);
/* Times are of 1 ns to a year, within their interval, and there where the outcome is a time; shares, costs and errors are
 * what they can be. `objective` is the identity's, to which the record's has to fit; NULL: it is not known, and the record
 * may be one that was not timed. */
void hn_gate_record(const struct hn_record *record, const char *objective, struct hn_error *err);

/* Seconds since the epoch that a calendar of four digits has: what is shown as a date. */
void hn_gate_moment(const char *what, double seconds, struct hn_error *err);
/* Seconds since the epoch, not in the future but for a day by which clocks may differ. Asked of what is taken over into a
 * cache, where the newest counts: what was written under a clock that was wrong can still be read. */
void hn_gate_date(double time, struct hn_error *err);

/* Of files; and how an import or a session was asked for. */
enum { HN_NAME_MOST = 4096, HN_COMMAND_MOST = 1 << 16 };
/* One line: at most `most` bytes, none of them a control character. */
void hn_gate_line(const char *what, const char *text, size_t most, struct hn_error *err);
/* Text of several lines, as compilers write it: other control characters become '?'. */
void hn_gate_clean(char *text);
/* The same with "\x1b" for each byte of them, as output shows it. NULL when out of memory; free it. */
char *hn_gate_escape(const char *text);

/* JSON that will not fill the memory when it is parsed: it has at most eight million values, where an object, which
 * takes more, counts as four. */
void hn_gate_json(const char *text, size_t size, struct hn_error *err);

#endif
