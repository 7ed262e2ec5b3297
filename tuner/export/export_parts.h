/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPORT_EXPORT_PARTS_H
#define HONE_TUNER_EXPORT_EXPORT_PARTS_H

#include "base/expression/expression_c.h"
#include "tuner/export/export.h"

/* What the files export_*.c share. */

/* What hn_export_open consists of. Each works on what the one before has made. */
enum hn_status hn_export_collect(struct hn_export *export, const struct hn_export_request *request,
                                 struct hn_error *err);
/* Takes plan and template from a config. HN_EUSAGE when it is of another kernel. */
enum hn_status hn_export_take_config(struct hn_export *export, const char *path, struct hn_error *err);
/* The plan from what export->stored keeps. HN_EFORMAT. */
enum hn_status hn_export_read_plan(struct hn_export *export, struct hn_error *err);
/* The chosen result first, then the same device's, then the others. */
void hn_export_order(struct hn_export *export, size_t chosen);
/* One header can only hold results of the same parameters: those of another state of the config go. */
enum hn_status hn_export_drop_incompatible(struct hn_export *export, struct hn_error *err);
/* Numbers the configurations: results of the same code share one. */
enum hn_status hn_export_number(struct hn_export *export, struct hn_error *err);

/* Parts of the header, of which export_header.c is the frame. */
enum hn_status hn_export_append_macros(const struct hn_export *export, struct hn_text *text,
                                       struct hn_error *err);
enum hn_status hn_export_append_apply(const struct hn_export *export, struct hn_text *text,
                                      struct hn_error *err);
enum hn_status hn_export_append_geometry(const struct hn_export *export, struct hn_text *text,
                                         struct hn_error *err);
enum hn_status hn_export_append_list(const struct hn_export *export, struct hn_text *text,
                                     struct hn_error *err);
/* Whether a configuration can be used for a problem: a function of the header. */
enum hn_status hn_export_append_usable(const struct hn_export *export, struct hn_text *text,
                                       struct hn_error *err);
/* Of a plan with a pipeline: lines that say how it was tuned, and macros of its first configuration. */
enum hn_status hn_export_describe_pipeline(const struct hn_export *export, struct hn_text *text,
                                           struct hn_error *err);
enum hn_status hn_export_append_pipeline(const struct hn_export *export, struct hn_text *text,
                                         struct hn_error *err);
/* The table of results and what is looked up in it. */
enum hn_status hn_export_append_select(const struct hn_export *export, struct hn_text *text,
                                       struct hn_error *err);

/* Problem values as parameters of a function, ", int64_t problem_M, …" after `before`; and as the
 * arguments of a call. */
void hn_export_append_problem_parameters(const struct hn_export *export, const char *before,
                                         struct hn_text *text);
void hn_export_append_problem_arguments(const struct hn_export *export, const char *before,
                                        struct hn_text *text);
/* A value as C: words as their prefixed macros. */
void hn_export_append_value(const struct hn_export *export, const char *name, const struct hn_value *value,
                            struct hn_text *text);
/* A string as a C literal, and a time with a point or an exponent. */
void hn_export_append_literal(struct hn_text *text, const char *string);
void hn_export_append_time(struct hn_text *text, double time_us);
/* A function of the header: hone_…_config_<name>(config, problem…), and hone_…_<name>(problem…) of HONE_…_CONFIG. Each
 * configuration has its own statements, which set the variable. */
struct hn_export_slots;
struct hn_export_function {
    const char *name;
    const char *type;
    const char *variable;
    const char *initial;
    enum hn_status (*append_body)(const struct hn_export *export, size_t config, const struct hn_export_slots *slots,
                                  const void *context, struct hn_text *text, struct hn_error *err);
    const void *context;
};
enum hn_status hn_export_append_function(const struct hn_export *export, const struct hn_export_function *function,
                                         struct hn_text *text, struct hn_error *err);
/* Bytes of buffers and values of scalars, as functions of the header. */
enum hn_status hn_export_append_arguments(const struct hn_export *export, struct hn_text *text, struct hn_error *err);
/* Whether a step takes that argument; and whether the caller gives it: scalars that follow from problem and point are
 * computed. */
bool hn_export_is_taken(const struct hn_plan *plan, size_t argument);
bool hn_export_is_given(const struct hn_argument *argument);
/* The template's text; NULL when the cache has none. It is stored under its own name: as the cache was told, its path or
 * the end of it. */
const char *hn_export_template(const struct hn_export *export);
/* Whether an expression depends on the problem. */
bool hn_export_uses_problem(const struct hn_plan *plan, const struct hn_expression *expression);
/* The kernel of each step of a configuration, of those launched for its problem; NULL where it has no such step. Room
 * for all steps; borrowed. */
enum hn_status hn_export_find_entries(const struct hn_export *export, size_t config, char *const *launched,
                                      const char **entries, struct hn_error *err);
/* #defines, options and names, for programs that compile a configuration. */
enum hn_status hn_export_append_prelude(const struct hn_export *export, struct hn_text *text, struct hn_error *err);
/* For programs that use the driver: the same, and a launch of the whole plan. */
enum hn_status hn_export_append_launch(const struct hn_export *export, struct hn_text *text, struct hn_error *err);
/* "switch (config) { case 0: case 3: <body> …", one body a configuration, equal ones once; where all are equal there is
 * nothing to choose at run time. */
void hn_export_append_switch(char *const *bodies, size_t count, struct hn_text *text);
/* Whether a problem value is passed as a double (some configuration has it real). */
bool hn_export_problem_is_real(const struct hn_export *export, const char *name);
/* The words of a name, or NULL when it has none. */
const struct hn_word_list *hn_export_words(const struct hn_export *export, const char *name);

/* The slots of the plan's expressions for one configuration: its names, then the pitches of its arguments. */
struct hn_export_slots {
    struct hn_c_slot *items;
    struct hn_text *names; /* the C names that the slots borrow */
    size_t count;
};
enum hn_status hn_export_slots_make(const struct hn_export *export, size_t config, struct hn_export_slots *slots,
                                    struct hn_error *err);
void hn_export_slots_finish(struct hn_export_slots *slots);

#endif
