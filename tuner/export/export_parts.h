/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPORT_EXPORT_PARTS_H
#define HONE_TUNER_EXPORT_EXPORT_PARTS_H

#include "base/expression/expression_c.h"
#include "tuner/config/config.h"
#include "tuner/export/export.h"

/* What the files export_*.c share. */

struct hn_export_writer;

/* What hn_export_open consists of. Each works on what the one before has made. */
enum hn_status hn_export_collect(struct hn_export *export, const struct hn_export_request *request,
                                 struct hn_error *err);
/* In place of results, the default point of the request's config for each of its problems. HN_ENOTFOUND: it is valid for
 * none of them. */
enum hn_status hn_export_list_defaults(struct hn_export *export, const struct hn_export_request *request,
                                       struct hn_error *err);
/* Takes plan and template from a config; points from before what `freeze` depends on get the defaults. HN_EUSAGE when it is of another kernel. */
enum hn_status hn_export_take_config(struct hn_export *export, const char *path, struct hn_error *err);
/* The plan from what export->stored keeps. HN_EFORMAT. */
enum hn_status hn_export_read_plan(struct hn_export *export, struct hn_error *err);
/* The chosen result first, then the same device's, then the others. */
void hn_export_order(struct hn_export *export, size_t chosen);
/* One header can only hold results of the same parameters: those of another state of the config go. */
enum hn_status hn_export_drop_incompatible(struct hn_export *export, struct hn_error *err);
/* Whether the plan has all names of a result, whose words it learns; without a plan: those of the first. */
enum hn_status hn_export_is_compatible(const struct hn_export *export, const struct hn_tuned *result, bool *fits,
                                       struct hn_error *err);
/* Numbers the configurations, those of a family behind the others: results of the same code share one. */
enum hn_status hn_export_number(struct hn_export *export, struct hn_error *err);

/* Types of arguments may be those of a configuration's problem: makes its plan, once they are numbered. HN_ENOTFOUND: nothing says which. */
enum hn_status hn_export_make_types(struct hn_export *export, struct hn_error *err);
void hn_export_free_types(struct hn_export *export);
const struct hn_plan *hn_export_plan_of(const struct hn_export *export, size_t config);
/* An argument of export->plan, as the configuration has it. */
const struct hn_argument *hn_export_argument_of(const struct hn_export *export, size_t config, const struct hn_argument *argument);
/* Appends its types in C, "float or int". */
void hn_export_append_types(const struct hn_export *export, const struct hn_argument *argument, struct hn_text *text);
/* HN_ECONFIG: configurations have it of several types, which no C can have. */
enum hn_status hn_export_need_one_type(const struct hn_export *export, const struct hn_argument *argument, struct hn_error *err);

/* Lines that say how a pipeline was tuned; and macros of its first configuration, nothing where the plan is none. */
void hn_export_describe_pipeline(struct hn_export_writer *writer);
void hn_export_append_pipeline(struct hn_export_writer *writer);
/* HN_ECONFIG of a plan with a pipeline, which has no launch in C; HN_ENOTFOUND without a plan. */
enum hn_status hn_export_refuse_pipeline(const struct hn_export *export, struct hn_error *err);

/* A value as C: words as their prefixed macros. */
void hn_export_append_value(const struct hn_export *export, const char *name, const struct hn_value *value,
                            struct hn_text *text);
/* The values of a result's problem, in the order of the struct. */
void hn_export_append_problem(const struct hn_export *export, const struct hn_tuned *tuned, struct hn_text *text);
/* The row of a result, or of what could be one, in a table of the header. */
void hn_export_append_row(const struct hn_export *export, const struct hn_tuned *tuned, size_t config,
                          struct hn_text *text);
/* A string as a C literal (NULL: as NULL), and a time with a point or an exponent. */
void hn_export_append_literal(struct hn_text *text, const char *string);
void hn_export_append_time(struct hn_text *text, double time_us);

/* Whether an argument, or a tensor map over it, is passed to a kernel; and whether the caller gives it: scalars that follow from problem and point
 * are computed. */
bool hn_export_is_taken(const struct hn_plan *plan, size_t argument);
bool hn_export_is_given(const struct hn_argument *argument);
/* The template's text; NULL when the cache has none. It is stored under its own name: as the cache was told, its path or
 * the end of it. */
const char *hn_export_template(const struct hn_export *export);
/* The first configuration at whose point the values of `freeze` are constants, or are not; -1: none. */
int hn_export_find_freezing(const struct hn_export *export, bool frozen);
/* The kernel of each step of a configuration, of those launched for its problem; NULL where it has no such step. Room
 * for all steps; borrowed. */
enum hn_status hn_export_find_entries(const struct hn_export *export, size_t config, char *const *launched,
                                      const char **entries, struct hn_error *err);
/* Whether a problem value is passed as a double (some configuration has it real). */
bool hn_export_problem_is_real(const struct hn_export *export, const char *name);
/* The words of a name, or NULL when it has none. */
const struct hn_word_list *hn_export_words(const struct hn_export *export, const char *name);

/* What the plan's expressions are as C for one configuration. What fails is noted in the writer. */
struct hn_export_code {
    struct hn_export_writer *writer;
    const struct hn_export *export;
    size_t config;
    const struct hn_plan *plan; /* its own */
    struct hn_value *values; /* of its own problem and point */
    struct hn_c_slot *slots; /* names, then the pitches of arguments, then the clusters that run at once */
    struct hn_value clusters;
    char **names;            /* that the slots borrow */
};
/* Finish it in any case. */
void hn_export_code_make(struct hn_export_writer *writer, size_t config, struct hn_export_code *code);
void hn_export_code_finish(struct hn_export_code *code);
/* Appends an expression; real as for hn_expression_append_c. */
void hn_export_append_expression(const struct hn_export_code *code, const struct hn_expression *expression, bool *real,
                                 struct hn_text *text);
/* The same as an int64_t: a real that is not whole is -1, which is no size. NULL: `missing`. */
void hn_export_append_number(const struct hn_export_code *code, const struct hn_expression *expression,
                             const char *missing, struct hn_text *text);
/* Appends the truth of a condition, "1" where it is NULL or known to hold. What C can not say (words of two lists
 * compared) counts as true for the problem that was tuned alone. */
void hn_export_append_condition(const struct hn_export_code *code, const struct hn_expression *condition,
                                struct hn_text *text);

/* Statements of all configurations in a body with `config`, and `step` where there are several; behind the sizes where they
 * use them. `set` makes those of one configuration. */
struct hn_export_cases;
typedef void hn_export_set_cases(struct hn_export_cases *cases, const struct hn_export_code *code, const void *context);
void hn_export_write_cases(struct hn_export_writer *writer, size_t steps, size_t count, hn_export_set_cases *set,
                           const void *context);
/* The number of a tensor map among those of the plan. */
size_t hn_export_map_number(const struct hn_plan *plan, size_t argument);

#endif
