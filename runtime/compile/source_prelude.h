/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_SOURCE_PRELUDE_H
#define HONE_RUNTIME_COMPILE_SOURCE_PRELUDE_H

#include "runtime/compile/template.h"
#include "runtime/plan/plan.h"

/* How values stand in a program: integers and reals as literals (negative ones in parentheses),
 * booleans as 1 and 0, a word as its place in the declared list, from 1, or as itself where it is a
 * type. HN_ECONFIG where a value can not stand there. */
enum hn_status hn_source_append_value(const struct hn_plan *plan, const char *name,
                                      const struct hn_value *value, struct hn_text *text,
                                      struct hn_error *err);

/* "#define K 4096\n" for each problem value that the template sees as a constant at the point, in
 * declared order, but for what are parameters of the template's C++ templates. entry: of the
 * reference's template, which sees all that can be constants; else NULL. template: numbers that
 * are in no line of it are left out, so that one program serves all of them; NULL: none is. */
enum hn_status hn_source_append_frozen(const struct hn_plan *plan, const char *entry,
                                       const struct hn_template *template,
                                       const struct hn_bindings *problem,
                                       const struct hn_bindings *point, struct hn_text *text,
                                       struct hn_error *err);
/* The same for the named parameters. */
enum hn_status hn_source_append_parameters(const struct hn_plan *plan, const char *entry,
                                           char *const *names, size_t count,
                                           const struct hn_bindings *point, struct hn_text *text,
                                           struct hn_error *err);
/* What these leave out, for those who name the values without compiling the template. */
enum hn_status hn_source_append_hidden(const struct hn_plan *plan,
                                       const struct hn_bindings *problem,
                                       const struct hn_bindings *point, struct hn_text *text,
                                       struct hn_error *err);

#endif
