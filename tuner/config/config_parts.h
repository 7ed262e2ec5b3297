/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_CONFIG_PARTS_H
#define HONE_TUNER_CONFIG_CONFIG_PARTS_H

#include "base/schema.h"
#include "tuner/config/config.h"
#include "tuner/config/yaml.h"

/* Inside of the room: reading the YAML tree with messages that say where, and what the parts of a config ask one another.
 * All that take a reader are sticky: the first failure stays in its err, and what is read after it does nothing, so that
 * a sequence of reads is a sequence of lines. A node that is NULL is a key that is not there, of which nothing is read. */

/* Where an expression was written. */
struct hn_config_place {
    const struct hn_expression *expression;
    const struct hn_yaml *node;
};

/* A name for an expression, and its text in brackets, with the names before it written out. */
struct hn_config_let {
    const char *name, *text;
};

struct hn_reader {
    const char *path; /* as given, for messages */
    char *folder;     /* absolute, of the config file */
    const struct hn_yaml *root;
    struct hn_config *config; /* being filled */
    struct hn_plan *plan;     /* the config's */
    struct hn_config_place *places;
    size_t place_count;
    const struct hn_config_for *use;
    struct hn_device device; /* once it was asked for */
    struct hn_config_let *lets;
    size_t let_count;
    struct hn_error *err;
};

/* HN_ECONFIG: "path:line:column: " and the message; a child of a mapping is blamed at its value. */
void hn_config_fail(struct hn_reader *reader, const struct hn_yaml *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Unless it is known: "unknown <what> 'abc'; nearest is 'abd'", or a list of what is. */
void hn_config_expect_known(struct hn_reader *reader, const struct hn_yaml *node, const char *what,
                            const char *found, const char *const *known, size_t count);
/* The failure of a call that knew nothing of the node, whose message `reason` is; where it has none, nothing. With a text it says
 * what was read, too: "in '<text>': <reason>". */
void hn_config_take(struct hn_reader *reader, const struct hn_yaml *node, const char *text,
                    const struct hn_error *reason);
/* "path:line:column" of a node; the config's. */
const char *hn_config_where(const struct hn_reader *reader, const struct hn_yaml *node);

/* "found 'abc', expected a list", for a node of another kind or content. These return whether all is well so far. */
bool hn_config_expect(struct hn_reader *reader, bool holds, const struct hn_yaml *node, const char *expected);
bool hn_config_expect_kind(struct hn_reader *reader, const struct hn_yaml *node, enum hn_yaml_kind kind,
                           const char *expected);

/* The child under key, which has to be there; NULL: the reader has failed. */
const struct hn_yaml *hn_config_need(struct hn_reader *reader, const struct hn_yaml *mapping, const char *key);
/* The first child of what has to be a list or a mapping; NULL where there is none, or where the reader has failed. */
const struct hn_yaml *hn_config_list(struct hn_reader *reader, const struct hn_yaml *node, const char *expected);
const struct hn_yaml *hn_config_pairs(struct hn_reader *reader, const struct hn_yaml *node, const char *expected);
/* How many children a node has, which may be NULL. */
size_t hn_config_count(const struct hn_yaml *node);
/* That node is a mapping with no other keys than these, which blanks separate. */
void hn_config_check_keys(struct hn_reader *reader, const struct hn_yaml *node, const char *keys);
/* That no comma inside [] or {} cut a call in two: advice to quote it. */
bool hn_config_check_cut(struct hn_reader *reader, const struct hn_yaml *node);

/* Each of these copies into *to, which the caller frees. */
void hn_config_read_text(struct hn_reader *reader, const struct hn_yaml *node, const char *expected, char **to);
void hn_config_read_word(struct hn_reader *reader, const struct hn_yaml *node, const char *expected, char **to);
/* A path relative to the config file; absolute, and without links where the file is there. */
void hn_config_read_path(struct hn_reader *reader, const struct hn_yaml *node, const char *expected, char **to);
void hn_config_read_expression(struct hn_reader *reader, const struct hn_yaml *node, struct hn_expression **to);
/* The place of a word in a list of them; 0 without a node. */
int hn_config_read_choice(struct hn_reader *reader, const struct hn_yaml *node, const char *const *choices,
                          size_t count);
/* true or false; without a node false. */
bool hn_config_read_flag(struct hn_reader *reader, const struct hn_yaml *node);
/* A whole number from `least` to `most`, or an expression of constants that gives one: 2 ** 20. Without a node *to stays as it is. */
void hn_config_read_whole(struct hn_reader *reader, const struct hn_yaml *node, int64_t least, int64_t most,
                          const char *expected, int64_t *to);

/* The text with what `let` names written out; with holes only what stands in braces. The caller frees it. */
char *hn_config_expand(struct hn_reader *reader, const struct hn_yaml *node, const char *text, bool holes);
/* An expression, with what `let` names written out, which hn_config_place() finds the node of. */
void hn_config_parse(struct hn_reader *reader, const struct hn_yaml *node, const char *text,
                     struct hn_expression **to);
void hn_config_bind(struct hn_reader *reader, const struct hn_yaml *node, const char *text,
                    struct hn_expression *expression, const struct hn_scope *scope);
/* The node that an expression was read from; the whole config when it was not read. */
const struct hn_yaml *hn_config_place(const struct hn_reader *reader, const struct hn_expression *expression);

/* A key that YAML writes in another way than the plan's JSON, or that only one of them has. */
struct hn_config_form {
    const char *key;
    void (*read)(struct hn_reader *reader, const struct hn_yaml *node, void *owner); /* NULL: only JSON has it */
};

/* The keys that a mapping may have: the members of a struct by their table (runtime/plan/plan_fields.c), but for keys of another
 * form. A key that the table needs and that has no value at zero - a name, an expression - has to be there. */
struct hn_config_mapping {
    const struct hn_structure *structure;
    const struct hn_config_form *forms; /* ends with a key of NULL */
    const struct hn_config_mapping *beside; /* whose keys stand beside these; NULL: none */
    const char *within; /* of what stands beside: the member that is this struct, by its key */
};

/* The member of that key; NULL: there is none. */
const struct hn_field *hn_config_find_field(const struct hn_structure *structure, const char *key);
/* Refuses other keys, then reads those that are there, in the order of the table, those that only YAML has, and those beside. */
void hn_config_check_mapping(struct hn_reader *reader, const struct hn_yaml *node,
                             const struct hn_config_mapping *mapping);
void hn_config_read_mapping(struct hn_reader *reader, const struct hn_yaml *node,
                            const struct hn_config_mapping *mapping, void *owner);

/* One value; a word is borrowed from the node. An integer 0 after a failure. */
struct hn_value hn_config_read_value(struct hn_reader *reader, const struct hn_yaml *node);
/* A list of values, {range: [low, high], step: s} or {powers_of_two: [low, high]}: at least one, none twice, of one
 * kind; or, of scalars too, one value. */
void hn_config_read_values(struct hn_reader *reader, const struct hn_yaml *node, bool scalars,
                           struct hn_value **values, size_t *count);
/* "word", "boolean" or "number". */
const char *hn_config_value_kind(const struct hn_value *value);
/* The value of a list that equals this one, or the same number in another type; NULL. */
const struct hn_value *hn_config_find_value(const struct hn_value *values, size_t count, const struct hn_value *value);

/* The space: problems, parameters, names, constraints, points; then all else, whose template is at the node. */
void hn_config_read_space(struct hn_reader *reader);
void hn_config_read_kernel(struct hn_reader *reader, const struct hn_yaml *template);
/* Parts of them. */
void hn_config_read_family(struct hn_reader *reader);
void hn_config_read_computed(struct hn_reader *reader); /* values of parameters that problems say */
void hn_config_read_arguments(struct hn_reader *reader);
void hn_config_read_compare(struct hn_reader *reader);

/* That a key is a word that expressions and results leave free. */
void hn_config_check_name(struct hn_reader *reader, const struct hn_yaml *key);
/* Names that expressions of the config may use: names of the plan, `more` behind them, and all words. The lists are the config's. */
struct hn_scope hn_config_scope(struct hn_config *config, char *const *more, size_t more_count);
/* A condition in this scope: what stands at the node, or `text` that follows from it. */
void hn_config_read_condition(struct hn_reader *reader, const struct hn_yaml *node, const char *text,
                              const struct hn_scope *scope, struct hn_config_constraint *condition);
/* Whether the values of a parameter have expressions among them. */
bool hn_config_is_computed(const struct hn_reader *reader, const struct hn_yaml *node);
/* Computes them, for the problems that there are now. HN_ECONFIG. */
void hn_config_compute(struct hn_config *config, struct hn_error *err);
struct hn_config_parameter *hn_config_find_parameter(const struct hn_config *config, const char *name);

/* The place of the argument of kernels that the node names. */
size_t hn_config_find_argument(struct hn_reader *reader, const struct hn_yaml *node);
/* The same of arguments that `fits` takes; `why_not` says of one of that name that it does not. */
size_t hn_config_find_among(struct hn_reader *reader, const struct hn_yaml *node, const char *what,
                            bool (*fits)(const struct hn_argument *argument), const char *why_not);

#endif
