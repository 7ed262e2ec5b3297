/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_LIVE_TEXT_H
#define HONE_RUNTIME_COMPILE_LIVE_TEXT_H

#include "base/text.h"
#include "runtime/compile/macro_table.h"
#include "runtime/compile/template.h"

/* What is left of a text, with the template's files that it includes in their places, where conditions are decided by macros of
 * which the value is known. A condition that is not decided stays, with all that depends on it. What is left and the values of the
 * macros that it names tell what is compiled: a line that is left depends on no conditions but those that are. */
struct hn_live_text {
    struct hn_text text; /* lines without comments, empty where they are left out; files are between form feeds */
    char **plain; /* what was read; macros point into it */
    size_t plain_count;
    bool certain;             /* false: something is in it that compilers may read in other ways; text is of no use */
};

/* decides: false: no condition is decided. macros: those that are defined before the text; what the text defines is put behind them.
 * HN_ENOMEM. To be finished in each case. */
enum hn_status hn_live_text_make(const struct hn_template *template, const char *text, bool decides,
                                 struct hn_macro_table *macros, struct hn_live_text *live, struct hn_error *err);
void hn_live_text_finish(struct hn_live_text *live);

#endif
