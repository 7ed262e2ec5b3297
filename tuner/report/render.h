/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_REPORT_RENDER_H
#define HONE_TUNER_REPORT_RENDER_H

#include <jansson.h>
#include <stdio.h>

#include "base/text.h"
#include "runtime/plan/plan.h"

/* A command's result is one JSON document. --json prints it as it is; for people it becomes the sentences and tables that rows of
 * views describe, each of a part of it.
 *
 * A line is text with values of the document in braces: "{kernel} takes {timing.median_us:time}". Of an array's items a path begins at
 * the item; one with a slash in front, {/tied}, begins at the document. {#} is the item's place, from 1.
 * Numbers may be added up, taken away, multiplied and divided, from left to right: {seconds/windows:.1f}; an array's is its length. Behind a
 * colon stands the format:
 *   .1f .4g +.1%  as in Python; a percentage of a share
 *   <28           filled up with blanks to so many characters
 *   s             the ending of a noun of which there are so many
 *   time, duration, bytes, energy, percent, merit, regime, intensity   as format.h writes them
 *   date, origin   of seconds since 1970; of an object with machine, source, imported
 *   timing, spread   of an object with median_us, low_us and high_us
 *   counts, meanings   of an object of outcomes: "70 ok, 6 slower", and what those other than `ok` mean
 *   busy          of an object of units and their shares of the time
 *   few, words, places   of an array: the first twelve; with blanks between; of places that count from 0, from 1
 * Without a format a value is text, an object "A=1,B=2", and an array "a, b".
 *
 * What stands in brackets is left out where one of its values is missing: not there, null, or empty. {?path} prints nothing and
 * is missing also where the value is 0 or false; {?path=word,another}, {?path<0.6} and {?path>other.path} compare, and {?!...} is
 * the contrary. Of "[one|other]" the first one is taken that has all its values. A whole line, too, is left out where one of its
 * own is missing. */

/* A column of a table: its heading, a line of the document with the marks of table.h in front; and its cells, lines of the rows. In
 * a column whose heading is "=*" the star stands for each of the document's "parameters". */
struct hn_column {
    const char *heading; /* NULL: behind the last one */
    const char *cell;
};

struct hn_view {
    const char *at;   /* the array, of whose items a line or a table is; an object, or with ".*" behind it its members, whose
                         name is {@}. NULL: a line of the document itself */
    const char *line; /* the newline at its end may be left out */
    const struct hn_column *columns; /* instead: a table, in which lines that are left out are empty cells */
    size_t most;         /* items that are shown; 0: all */
    int indent;          /* of a table */
    const char *tied;    /* of a table: how many of its first rows are the best and stand out; NULL: none */
    bool wraps;          /* the line is broken to the width that COLUMNS says, too, and not on a terminal alone */
};

/* Ends with a row without line and columns. Lines are broken between words on a terminal. */
void hn_render(const json_t *document, const struct hn_view *views, FILE *file);

/* Appends one line of a document; false, and nothing appended, where it is left out. */
bool hn_render_line(struct hn_text *text, const json_t *document, const char *line);

/* The same, where paths lead through more than a document. */
struct hn_render_place {
    const json_t *document;
    const json_t *item; /* where paths begin */
    size_t number;      /* of the item */
    const char *star;   /* what the star of a column stands for; NULL: none */
    const char *name;   /* of a member */
    bool doubled;       /* in C: braces and brackets that mean something stand twice, and so does the bar in brackets */
    /* Appends what no document says; false where the name is not known. NULL: there is no such thing. */
    bool (*part)(void *context, const char *name, size_t length, struct hn_text *text);
    void *context;
};
bool hn_render_at(struct hn_text *text, const struct hn_render_place *place, const char *line);

/* A figure for a document: null where JSON cannot say it. */
json_t *hn_render_number(double value);
/* Inserts an item into a list by a number of it, the largest first, or (rises) the smallest; one that is equal goes behind. Takes it
 * over. */
void hn_render_insert(json_t *list, const char *key, bool rises, json_t *item);
/* A text for a document, which is taken over; NULL where it is empty. */
json_t *hn_render_text(struct hn_text *text);
/* Names of parameters, and the like. */
json_t *hn_render_names(char *const *names, size_t count);

/* Figures as people read them, in buffers of the caller. */
enum { HN_FORMAT_SIZE = 64 };

/* A share as a whole number of percent, halves up as in the page of the report: 0.125 is 13. */
int hn_format_percent(double share);

/* The figure of merit of a plan: its objective when that is a metric, else its last metric; NULL when it has none. */
const char *hn_format_merit_name(const struct hn_plan *plan);
/* "gflops 5432.1"; "" when there is none. */
json_t *hn_merit_to_json(const struct hn_plan *plan, const struct hn_record *record);
double hn_format_merit_value(const struct hn_plan *plan, const struct hn_record *record); /* NaN when there is none */

#endif
