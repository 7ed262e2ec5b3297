/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPORT_EXPORT_CASES_PART_H
#define HONE_TUNER_EXPORT_EXPORT_CASES_PART_H

#include "base/text.h"

/* Statements of a function that depend on `config`, and may depend on `step`: one text for each, "" for none. */
struct hn_export_cases {
    size_t configs, steps;
    size_t count; /* statements of a case */
    char **statements;
    bool failed; /* a text was not whole */
};

/* HN_ENOMEM. Finish it in any case. */
enum hn_status hn_export_cases_make(struct hn_export_cases *cases, size_t configs, size_t steps, size_t count,
                                    struct hn_error *err);
void hn_export_cases_finish(struct hn_export_cases *cases);
/* Takes the text over, or sets `failed`. */
void hn_export_cases_set(struct hn_export_cases *cases, size_t config, size_t step, size_t statement,
                         struct hn_text *text);
/* What is the same in all cases stands once; the others in a switch by config, by step, or by both. */
void hn_export_cases_append(const struct hn_export_cases *cases, struct hn_text *text);

/* Appends a piece of a list, behind `line_break` ("\n    " and the like) where it would pass the 110th column. */
void hn_export_append_wrapped(struct hn_text *text, const char *line_break, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
