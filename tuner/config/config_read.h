/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_CONFIG_READ_H
#define HONE_TUNER_CONFIG_CONFIG_READ_H

#include "base/schema.h"
#include "tuner/config/config.h"
#include "tuner/config/yaml.h"

/* What the files config_*.c share: reading the YAML tree with messages that say where. A reader keeps the first
 * failure, and what is read after it does nothing, so that a sequence of reads is a sequence of lines. A node that is
 * NULL is a key that is not there, of which nothing is read. */

/* Where an expression was written. */
struct hn_config_place {
    const struct hn_expression *expression;
    const struct hn_yaml *node;
};

/* A name for an expression, and its text in brackets, with the names before it written out. */
struct hn_config_let {
    char *name;
    char *text;
};

struct hn_config_reader {
    const char *path; /* as given, for messages */
    char *folder;     /* absolute, of the config file */
    const struct hn_yaml *root;
    struct hn_config *config; /* being filled */
    struct hn_config_place *places;
    size_t place_count;
    const struct hn_config_for *use;
    struct hn_device device; /* once it was asked for */
    struct hn_config_let *lets;
    size_t let_count;
    enum hn_status status;
    struct hn_error *err;
};

/* HN_ECONFIG: "path:line:column: " and the message; a child of a mapping is blamed at its value. */
void hn_config_fail(struct hn_config_reader *reader, const struct hn_yaml *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "found 'abc', expected a list", for a node of another kind or content. */
void hn_config_fail_found(struct hn_config_reader *reader, const struct hn_yaml *node, const char *expected);
/* "unknown <what> 'abc'; nearest is 'abd'", or a list of what is known. */
void hn_config_fail_unknown(struct hn_config_reader *reader, const struct hn_yaml *node, const char *what,
                            const char *found, const char *const *known, size_t count);

/* These return whether all is well so far. */
bool hn_config_expect(struct hn_config_reader *reader, bool holds, const struct hn_yaml *node, const char *expected);
bool hn_config_expect_kind(struct hn_config_reader *reader, const struct hn_yaml *node, enum hn_yaml_kind kind,
                           const char *expected);
/* Takes the status of a call that was given reader->err. */
bool hn_config_take(struct hn_config_reader *reader, enum hn_status status);

/* Zeroed room for that many and one more; NULL: the reader has failed. */
void *hn_config_allocate(struct hn_config_reader *reader, size_t count, size_t size);
/* Copies the text into *to. */
void hn_config_copy(struct hn_config_reader *reader, const char *text, char **to);

/* The child under key, which has to be there; NULL: the reader has failed. */
const struct hn_yaml *hn_config_need(struct hn_config_reader *reader, const struct hn_yaml *mapping, const char *key);
/* The children of a list or mapping; NULL at the end, for no node, and once the reader has failed. */
const struct hn_yaml *hn_config_first(const struct hn_config_reader *reader, const struct hn_yaml *node);
const struct hn_yaml *hn_config_next(const struct hn_config_reader *reader, const struct hn_yaml *child);
/* That node is a mapping with no other keys than these. */
void hn_config_check_keys(struct hn_config_reader *reader, const struct hn_yaml *node, const char *const *keys,
                          size_t count);
/* That no comma inside [] or {} cut a call in two: advice to quote it. */
bool hn_config_check_cut(struct hn_config_reader *reader, const struct hn_yaml *node);

/* Each copies into *to, which the caller frees. */
void hn_config_read_text(struct hn_config_reader *reader, const struct hn_yaml *node, const char *expected, char **to);
void hn_config_read_word(struct hn_config_reader *reader, const struct hn_yaml *node, const char *expected, char **to);
void hn_config_read_expression(struct hn_config_reader *reader, const struct hn_yaml *node, struct hn_expression **to);
/* One expression, or a list of one to three. */
void hn_config_read_dimensions(struct hn_config_reader *reader, const struct hn_yaml *node, struct hn_expression **to);
/* The place of a word in a list of them, which `what` says the name of; 0 without one. */
int hn_config_read_choice(struct hn_config_reader *reader, const struct hn_yaml *node, const char *what,
                          const char *const *choices, size_t count);
/* A list of words out of those that are known. */
void hn_config_read_words(struct hn_config_reader *reader, const struct hn_yaml *node, const char *what,
                          char *const *known, size_t known_count, char ***words, size_t *count);
/* A path relative to the config file; absolute, and without links where the file is there. */
void hn_config_read_path(struct hn_config_reader *reader, const struct hn_yaml *node, const char *expected, char **to);

/* Takes the status of a call that knew nothing of the node, whose message `reason` is: "in '<text>': <reason>". */
bool hn_config_take_in(struct hn_config_reader *reader, const struct hn_yaml *node, const char *text,
                       enum hn_status status, const struct hn_error *reason);
/* Whether the name is a token of an expression. */
bool hn_config_mentions(const char *text, const char *name);
/* The text with what `let` names written out; with holes only what stands in braces. The caller frees it; NULL: the reader
 * has failed. */
char *hn_config_expand(struct hn_config_reader *reader, const struct hn_yaml *node, const char *text, bool holes);
/* Notes where an expression that was not read by hn_config_read_expression comes from. */
void hn_config_remember(struct hn_config_reader *reader, const struct hn_expression *expression,
                        const struct hn_yaml *node);
/* The node that an expression was read from; the whole config when it was not read. */
const struct hn_yaml *hn_config_place(const struct hn_config_reader *reader, const struct hn_expression *expression);

/* A key that YAML writes in another way than the plan's JSON, or that only one of them has. */
struct hn_config_form {
    const char *key;
    void (*read)(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner); /* NULL: only JSON has it */
};

/* What a mapping may hold: the members of a struct by their table (runtime/plan/plan_fields.c), but for keys of another
 * form. What the table needs and has no value at zero - a name, an expression - has to be there. */
struct hn_config_mapping {
    const struct hn_structure *structure;
    const struct hn_config_form *forms; /* ends with a key of NULL */
    const struct hn_config_mapping *beside; /* whose keys stand beside these; NULL: none */
};

void hn_config_check_mapping(struct hn_config_reader *reader, const struct hn_yaml *node,
                             const struct hn_config_mapping *mapping);
/* Reads the keys that are there, in the order of the table, then those that only YAML has. */
void hn_config_read_mapping(struct hn_config_reader *reader, const struct hn_yaml *node,
                            const struct hn_config_mapping *mapping, void *owner);

#endif
