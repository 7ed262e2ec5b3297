/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_GATE_H
#define HONE_CACHE_RECORD_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* What every identity, version and record passes that comes from a file or from another process: rows of a cache,
 * recordings, Kernel Tuner's files, captures, what workers send. Records and identities pass what record.h has. Before it nothing is used, behind it nobody checks again. Each
 * is sticky, fails with HN_EFORMAT and says what was found and what was expected. Names are words (hn_text_is_word). */

/* HN_EFORMAT where it does not hold, with what printf makes of the rest. */
void hn_gate_expect(struct hn_error *err, bool holds, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* 32 hexadecimal digits, or "" where it is not known. */
void hn_gate_hash(const char *what, const char *hash, struct hn_error *err);
/* Finite and not negative. */
void hn_gate_amount(const char *what, double amount, struct hn_error *err);

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
