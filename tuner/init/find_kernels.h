/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_FIND_KERNELS_H
#define HONE_TUNER_INIT_FIND_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The kernels of a source, as far as they can be read without a compiler. */

/* A CUDA source for a reader that is no compiler: the text, and the same with blanks for what is no code. Offsets are
 * the same in all. */
struct hn_source_text {
    char *path;
    char *text;       /* with line continuations joined by blanks */
    char *code;       /* without comments, the contents of strings and characters, and preprocessor lines */
    char *directives; /* nothing but preprocessor lines, without comments */
    size_t length;
};

/* HN_ERUN, HN_EFORMAT: not a text. */
enum hn_status hn_source_text_load(const char *path, struct hn_source_text *source, struct hn_error *err);
/* Takes the text over. */
void hn_source_text_make(const char *path, char *text, struct hn_source_text *source);
void hn_source_text_finish(struct hn_source_text *source);

/* The first place from `from` on where the identifier stands alone, before `end`; SIZE_MAX when it does not. */
size_t hn_find_identifier(const char *text, size_t from, size_t end, const char *identifier);
/* Whether the source has the identifier anywhere, macros included. */
bool hn_source_has(const struct hn_source_text *source, const char *identifier);
/* The place of the bracket that closes the one at `open` ('(', '[', '{', '<'), or SIZE_MAX. */
size_t hn_closing_bracket(const char *text, size_t open, size_t end);
/* The first place from `at` on that is no blank, `end` at most. */
size_t hn_skip_blanks(const char *text, size_t at, size_t end);
/* Whether it is one of the list, whose items stand between separators. */
bool hn_is_listed(const char *name, const char *list, char separator);
/* Whether one of the words ends the text before `end`. */
bool hn_ends_with_word(const char *text, size_t end, const char *const *words, size_t count);

struct hn_kernel_argument {
    char *name;
    char *type;    /* without const, pointer and name: "float", "unsigned int" */
    char *spelled; /* with them: "const float *" */
    bool pointer;
    bool constant; /* what it points to */
};

/* A parameter of a template: "int TILE = 16", "bool Checked", "class T". */
struct hn_kernel_parameter {
    char *name;
    bool is_type;
    bool is_boolean;
    char *other_type; /* of an enumeration or a class; NULL: it is a number or a type */
    char *preset; /* what it is without being given, as written; NULL: it has to be given */
};

struct hn_kernel {
    char *name;
    char *scope; /* "demo::" or "" */
    bool extern_c;
    struct hn_kernel_parameter *parameters; /* of its template; none: it is no template */
    size_t parameter_count;
    struct hn_kernel_argument *arguments;
    size_t argument_count;
    char *bounds; /* the first expression of __launch_bounds__, or NULL */
    bool overloaded; /* the source has several of this name */
    size_t head;  /* where its list of arguments begins */
    size_t body;  /* from here to end in the source's code */
    size_t end;
};

struct hn_kernels {
    struct hn_kernel *items;
    size_t count;
};

/* Those that have a body. */
void hn_kernels_find(const struct hn_source_text *source, struct hn_kernels *kernels);
void hn_kernels_finish(struct hn_kernels *kernels);

#endif
