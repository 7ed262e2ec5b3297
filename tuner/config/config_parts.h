/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_CONFIG_PARTS_H
#define HONE_TUNER_CONFIG_CONFIG_PARTS_H

#include "tuner/config/config_read.h"

/* The parts of a config, and what they ask one another. */

/* One value; a word is borrowed from the node. An integer 0 after a failure. */
struct hn_value hn_config_read_value(struct hn_config_reader *reader, const struct hn_yaml *node);
/* A list of values, {range: [low, high], step: s} or {powers_of_two: [low, high]}: at least one, none twice, of one
 * kind. The words are copies. */
void hn_config_read_values(struct hn_config_reader *reader, const struct hn_yaml *node, struct hn_value **values,
                           size_t *count);
void hn_config_free_values(struct hn_value *values, size_t count);
/* The value of a list that equals this one, or the same number in another type; NULL. */
const struct hn_value *hn_config_find_value(const struct hn_value *values, size_t count,
                                            const struct hn_value *value);
void hn_config_append_values(struct hn_text *text, const struct hn_value *values, size_t count);

/* In the order in which they are read. */
void hn_config_read_parameters(struct hn_config_reader *reader);
void hn_config_read_family(struct hn_config_reader *reader);
void hn_config_read_problem(struct hn_config_reader *reader);
void hn_config_read_device(struct hn_config_reader *reader); /* limits that it names, as problem values */
void hn_config_read_names(struct hn_config_reader *reader);
void hn_config_read_let(struct hn_config_reader *reader);
void hn_config_read_constraints(struct hn_config_reader *reader);
void hn_config_read_computed(struct hn_config_reader *reader); /* values of parameters that problems say */
void hn_config_read_points(struct hn_config_reader *reader); /* defaults and ladder */
void hn_config_read_arguments(struct hn_config_reader *reader);
void hn_config_read_symbols(struct hn_config_reader *reader);
void hn_config_read_pipeline(struct hn_config_reader *reader);
void hn_config_read_freeze(struct hn_config_reader *reader);
void hn_config_read_launch(struct hn_config_reader *reader);
void hn_config_read_compile(struct hn_config_reader *reader);
void hn_config_read_reference(struct hn_config_reader *reader);
void hn_config_read_compare(struct hn_config_reader *reader);
void hn_config_read_metrics(struct hn_config_reader *reader);
/* Parameters that are the type of an argument become problem values. */
void hn_config_move_types(struct hn_config_reader *reader);
/* Whether the type of an argument is the word of a problem value; notes that it is. */
bool hn_config_read_type_name(struct hn_config_reader *reader, const struct hn_yaml *node,
                              struct hn_argument *argument);
bool hn_config_is_typed(const struct hn_config *config, size_t argument);
/* The bounds of what is compared without any in the config: text of the relative one. */
const char *hn_config_default_relative(enum hn_element element);
/* What the template says of names and words, once the entries are read. */
void hn_config_read_types(struct hn_config_reader *reader);
/* What only holds or fails once all is read: names in expressions, the default point, launches at it. */
void hn_config_check(struct hn_config_reader *reader);
/* After it: the prior is tried at the default point, too. */
void hn_config_read_prior(struct hn_config_reader *reader);
/* A limit of the device that the reader reads for, as found; 0: not known, and why. */
int64_t hn_config_find_limit(struct hn_config_reader *reader, size_t limit, struct hn_error *reason);
/* Those of an H200, for who wants nothing that depends on the device. */
int64_t hn_config_nominal_limit(size_t limit);
/* "M=4096,TILE_WIDTH=16": a problem and the default point. Free it; NULL: the reader has failed. */
char *hn_config_describe_default(struct hn_config_reader *reader, size_t problem);

/* `sizes` of a family whose values and conditions are there. */
void hn_config_read_sizes(struct hn_config_reader *reader, const struct hn_yaml *node, struct hn_family *family);
/* That problems and family have the same values. */
void hn_config_match_family(struct hn_config_reader *reader);

/* That a key is a word that expressions and results leave free. */
void hn_config_check_name(struct hn_config_reader *reader, const struct hn_yaml *key);
/* All words of the plan, borrowed; the list is the caller's. NULL: the reader has failed. */
const char **hn_config_words(struct hn_config_reader *reader, size_t *count);
/* "path:line:column" of a node, into *to. */
void hn_config_note_place(struct hn_config_reader *reader, const struct hn_yaml *node, char **to);
/* One more, written at the node. */
void hn_config_add_constraint(struct hn_config_reader *reader, const struct hn_yaml *node, const char *text);
/* Whether the values of a parameter have expressions among them. */
bool hn_config_is_computed(const struct hn_config_reader *reader, const struct hn_yaml *node);
/* Computes them, for the problems that there are now. HN_ECONFIG. */
enum hn_status hn_config_compute(struct hn_config *config, struct hn_error *err);
/* Builds a space of no more than config->only. HN_ENOTFOUND. */
enum hn_status hn_config_build_only(const struct hn_config *config, size_t problem, struct hn_space *space,
                                    struct hn_error *err);
/* Drops the values of a parameter that are not marked. */
void hn_config_keep_values(struct hn_config_parameter *parameter, const bool *keep);
void hn_config_finish_recipe(struct hn_config_recipe *recipe);
void hn_config_finish_lets(struct hn_config_reader *reader);

/* The place of the argument of kernels that the node names. */
size_t hn_config_find_argument(struct hn_config_reader *reader, const struct hn_yaml *node);
/* `fill` and `file` of an argument, each a form; what is filled without one. */
void hn_config_read_fill(struct hn_config_reader *reader, const struct hn_yaml *node, void *argument);
void hn_config_read_file(struct hn_config_reader *reader, const struct hn_yaml *node, void *argument);
void hn_config_default_fill(struct hn_argument *argument);
/* That a fill makes sense for these values of the plan's names. */
void hn_config_check_fill(struct hn_config_reader *reader, const struct hn_argument *argument,
                          const struct hn_value *values, const char *where);
/* `compare` of an argument, a form. */
void hn_config_read_own_compare(struct hn_config_reader *reader, const struct hn_yaml *node, void *argument);
/* A step that copies, for the pipeline. */
void hn_config_read_copy(struct hn_config_reader *reader, const struct hn_yaml *node);
/* Once expressions are bound: that its words are known and what is copied is of one size. */
void hn_config_check_pipeline(struct hn_config_reader *reader);
/* That the default point makes chunks of a problem. */
void hn_config_try_pipeline(struct hn_config_reader *reader, size_t problem, const char *where);

/* Whether a point satisfies all constraints for a problem. *broken becomes the first constraint that it does not,
 * or NULL; HN_ECONFIG when a constraint has no value there. */
enum hn_status hn_config_test_point(const struct hn_config *config, size_t problem, const struct hn_bindings *point,
                                    const struct hn_config_constraint **broken, struct hn_error *err);

#endif
