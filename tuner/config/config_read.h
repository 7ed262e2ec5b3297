/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_CONFIG_READ_H
#define HONE_TUNER_CONFIG_CONFIG_READ_H

#include "tuner/config/config.h"
#include "tuner/config/yaml.h"

/* What the files config_*.c share: reading nodes of the YAML tree with messages that say where. */

/* Where an expression was written. */
struct hn_config_place {
    const struct hn_expression *expression;
    const struct hn_yaml *node;
};

struct hn_config_reader {
    const char *path; /* as given, for messages */
    char *folder;     /* absolute, of the config file */
    const struct hn_yaml *root;
    struct hn_config *config; /* being filled */
    struct hn_config_place *places;
    size_t place_count;
    struct hn_error *err;
};

/* HN_ECONFIG: "path:line:column: " and the message; a child of a mapping is blamed at its value. */
enum hn_status hn_config_fail(const struct hn_config_reader *reader, const struct hn_yaml *node,
                              const char *format, ...) __attribute__((format(printf, 3, 4)));

/* "found 'abc', expected a list", for a node of another kind or content. */
enum hn_status hn_config_fail_found(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                    const char *expected);

/* "unknown <what> 'abc'; nearest is 'abd'", or a list of what is known. */
enum hn_status hn_config_fail_unknown(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                      const char *what, const char *found, const char *const *known, size_t count);

/* That node is a mapping with no other keys than these (NULL-terminated). */
enum hn_status hn_config_check_keys(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                    const char *const *keys);
enum hn_status hn_config_check_kind(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                    enum hn_yaml_kind kind, const char *expected);
/* The child under key; HN_ECONFIG when it is missing. */
enum hn_status hn_config_need(const struct hn_config_reader *reader, const struct hn_yaml *mapping, const char *key,
                              const struct hn_yaml **child);

/* Each copies into *to, which the caller frees. */
enum hn_status hn_config_read_text(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                   const char *expected, char **to);
enum hn_status hn_config_read_word(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                   const char *expected, char **to);
enum hn_status hn_config_read_expression(struct hn_config_reader *reader, const struct hn_yaml *node,
                                         struct hn_expression **to);
/* Notes where an expression that was not read by hn_config_read_expression comes from. */
enum hn_status hn_config_remember(struct hn_config_reader *reader, const struct hn_expression *expression,
                                  const struct hn_yaml *node);
/* That no comma inside [] or {} cut a call in two: advice to quote it. */
enum hn_status hn_config_check_cut(const struct hn_config_reader *reader, const struct hn_yaml *node);
/* The node that an expression was read from; NULL when it was not read here. */
const struct hn_yaml *hn_config_place(const struct hn_config_reader *reader, const struct hn_expression *expression);

/* Relative to the config file; absolute, and without links where the file is there. Free it; NULL when out of memory. */
char *hn_config_resolve_path(const struct hn_config_reader *reader, const char *path);

/* One value; a word is borrowed from the node. */
enum hn_status hn_config_read_value(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                    struct hn_value *value);
/* A list of values, {range: [low, high], step: s} or {powers_of_two: [low, high]}: at least one, none twice, of one
 * kind. The words are copies. */
enum hn_status hn_config_read_values(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                     struct hn_value **values, size_t *count);
void hn_config_free_values(struct hn_value *values, size_t count);
/* The value of a list that equals this one, or the same number in another type; NULL. */
const struct hn_value *hn_config_find_value(const struct hn_value *values, size_t count,
                                            const struct hn_value *value);
void hn_config_append_values(struct hn_text *text, const struct hn_value *values, size_t count);

/* Arguments and symbols together. */
#define HN_CONFIG_ARGUMENTS 256
enum hn_status hn_config_read_type(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                   struct hn_argument *argument);
/* That the type, for which node stands, is not a vector. */
enum hn_status hn_config_check_scalar(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                      const struct hn_argument *argument);
/* `fill` or `file` of an argument or symbol; what such elements have without one. */
enum hn_status hn_config_read_fill(struct hn_config_reader *reader, const struct hn_yaml *parent,
                                   struct hn_argument *argument);
/* A mode, or a mapping of it and its bounds; node NULL: what counts without one for such elements. */
enum hn_status hn_config_read_comparison(struct hn_config_reader *reader, const struct hn_yaml *node,
                                         enum hn_element element, struct hn_compare *compare);
/* An argument's own `compare` and `length`, which only results have; that there is what `length` names. */
enum hn_status hn_config_read_judgement(struct hn_config_reader *reader, const struct hn_yaml *node,
                                        struct hn_argument *argument);
enum hn_status hn_config_check_length(const struct hn_config_reader *reader, const struct hn_yaml *item,
                                      const struct hn_argument *argument);
/* That node, which has a name, has none of these keys (NULL-terminated): "'x' <because>, so it can not have a 'fill'". */
enum hn_status hn_config_refuse(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                const char *const *keys, const char *because);
/* Looks up what `from` names; the type is that one's. */
enum hn_status hn_config_find_source(const struct hn_config_reader *reader, const struct hn_yaml *item,
                                     struct hn_argument *argument);
/* A texture, the keys that only one has, and the buffer that it reads. */
enum hn_status hn_config_read_texture(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                      struct hn_argument *argument);
enum hn_status hn_config_refuse_texture(const struct hn_config_reader *reader, const struct hn_yaml *node);
enum hn_status hn_config_find_texture(const struct hn_config_reader *reader, const struct hn_yaml *item,
                                      struct hn_argument *argument);
/* That a fill makes sense for these values of the plan's names. */
enum hn_status hn_config_check_fill(const struct hn_config_reader *reader, const struct hn_argument *argument,
                                    const struct hn_value *values, const char *where);
/* That no argument before the last one has its name. */
enum hn_status hn_config_check_unique(const struct hn_config_reader *reader, const struct hn_yaml *item);

/* The parts of a config, in the order in which they are read. */
enum hn_status hn_config_read_parameters(struct hn_config_reader *reader);
enum hn_status hn_config_read_problem(struct hn_config_reader *reader);
enum hn_status hn_config_read_freeze(struct hn_config_reader *reader);
enum hn_status hn_config_read_names(struct hn_config_reader *reader);
enum hn_status hn_config_read_constraints(struct hn_config_reader *reader);
/* The path under `template` in this mapping, absolute. */
enum hn_status hn_config_read_path(const struct hn_config_reader *reader, const struct hn_yaml *mapping, char **path);
enum hn_status hn_config_read_arguments(struct hn_config_reader *reader);
enum hn_status hn_config_read_symbols(struct hn_config_reader *reader);
enum hn_status hn_config_read_launch(struct hn_config_reader *reader);
/* Before the launch, whose steps that copy it takes. */
enum hn_status hn_config_read_pipeline(struct hn_config_reader *reader);
enum hn_status hn_config_read_copy(struct hn_config_reader *reader, const struct hn_yaml *node);
/* Once expressions are bound: that its words are known and what is copied is of one size. */
enum hn_status hn_config_check_pipeline(const struct hn_config_reader *reader);
/* That the default point makes chunks of a problem. */
enum hn_status hn_config_try_pipeline(const struct hn_config_reader *reader, size_t problem, const char *where);
enum hn_status hn_config_read_compile(struct hn_config_reader *reader);
enum hn_status hn_config_read_reference(struct hn_config_reader *reader);
enum hn_status hn_config_read_compare(struct hn_config_reader *reader);
enum hn_status hn_config_read_metrics(struct hn_config_reader *reader);
enum hn_status hn_config_read_points(struct hn_config_reader *reader); /* defaults and ladder */
/* What only holds or fails once all is read: names in expressions, the default point, launches at it. */
enum hn_status hn_config_check(struct hn_config_reader *reader);

/* All words of the plan, borrowed; free the array. NULL when out of memory. */
const char **hn_config_words(const struct hn_plan *plan, size_t *count);

/* Whether a point satisfies all constraints for a problem. *broken (may be NULL) becomes the first constraint that it
 * does not, HN_OK; HN_ECONFIG when a constraint has no value there. */
enum hn_status hn_config_test_point(const struct hn_config *config, size_t problem, const struct hn_bindings *point,
                                    const struct hn_config_constraint **broken, struct hn_error *err);

#endif
