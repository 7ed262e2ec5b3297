/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_DRAFT_H
#define HONE_TUNER_INIT_DRAFT_H

#include <stdint.h>

#include "tuner/init/find_kernels.h"

/* A macro that a source leaves to whoever compiles it: #ifndef X, #define X value. */
enum hn_macro_kind {
    HN_MACRO_NUMBER, /* an integer */
    HN_MACRO_WORD,   /* X_plain 1, X_ldg 2, X X_plain */
    HN_MACRO_OTHER,  /* anything else: left as it is */
};

struct hn_macro {
    char *name;
    enum hn_macro_kind kind;
    int64_t number;
    bool undefined; /* used and nowhere defined: whoever compiles has to say the number */
    int64_t compared[8]; /* of these: what conditions of the source compare it with */
    size_t compared_count;
    char *word;    /* the chosen one */
    char **words;  /* all of them, as defined */
    size_t word_count;
};

struct hn_macros {
    struct hn_macro *items;
    size_t count;
};

void hn_macros_find(const struct hn_source_text *source, struct hn_macros *macros);
/* Adds names that the device's code, conditions and macros need and that are neither defined nor declared anywhere;
 * none where the source includes files of its own, which may define them. */
void hn_macros_add_undefined(const struct hn_source_text *source, struct hn_macros *macros);
void hn_macros_finish(struct hn_macros *macros);
/* NULL when there is none. */
const struct hn_macro *hn_macros_get(const struct hn_macros *macros, const char *name);

/* 16, (16), 0x10, 16u. */
bool hn_read_number(const char *text, int64_t *number);
/* source->code with blanks for the bodies of host functions; of the same length; free it. *host: there are such bodies.
 * */
char *hn_device_code(const struct hn_source_text *source, bool *host);

/* The guesses about a kernel, before they are written as a config. Strings that are not const are owned. */

struct hn_draft_parameter {
    char *name;
    const struct hn_macro *macro; /* NULL: of the template, or of the launch alone */
    char *template_name;          /* of the template's parameter that it is the value of, or NULL */
    int64_t values[16];           /* of numbers */
    size_t value_count;
    int64_t preset; /* the default */
    bool boolean;   /* 0 is false, 1 is true */
    bool guessed;   /* the source has no value for it */
};

struct hn_draft_size {
    char *name;     /* in the config */
    const char *declared; /* in the source; NULL: nowhere */
    int64_t value;
    bool frozen;    /* a macro of the source */
    bool is_extent; /* how much work there is; else some other number */
};

/* Elements under a tensor map, until somebody says how many there are. */
enum { HN_DRAFT_MAPPED = 65536 };

enum hn_draft_role { HN_DRAFT_INPUT, HN_DRAFT_OUTPUT, HN_DRAFT_INOUT };

struct hn_draft_argument {
    const struct hn_kernel_argument *declared;
    const char *type;  /* as configs name it */
    bool type_is_known;
    bool texture;
    bool map; /* a CUtensorMap, or a structure of the source's in its place */
    enum hn_draft_role role;
    bool role_is_known;
};

struct hn_draft {
    const struct hn_source_text *source;
    const struct hn_kernel *kernel;
    const struct hn_macros *macros;
    struct hn_draft_parameter *parameters;
    size_t parameter_count;
    struct hn_draft_size *sizes;
    size_t size_count;
    struct hn_draft_argument *arguments;
    size_t argument_count;
    int dimensions;  /* of the launch: 1 to 3 */
    char *block[3];  /* expressions */
    char *tile[3];   /* elements of a block in each direction: the grid's divisors */
    char *extent[3]; /* names of sizes */
    bool block_is_known; /* from the source; else a parameter of the launch alone */
    bool has_host_code;  /* functions that are not the device's */
};

/* HN_ECONFIG: a kernel that writes to no argument. */
enum hn_status hn_draft_make(const struct hn_source_text *source, const struct hn_kernel *kernel,
                             const struct hn_macros *macros, struct hn_draft *draft, struct hn_error *err);
void hn_draft_finish(struct hn_draft *draft);

const struct hn_draft_parameter *hn_draft_get(const struct hn_draft *draft, const char *name);
/* Whether configs mean something else by the name. */
bool hn_draft_is_reserved(const char *name);
/* Whether a type sounds like one of indices: Index, offset_t, IdxT. */
bool hn_draft_is_index(const char *name);
/* Whether it is one of the list, "a b c", whatever the case. */
bool hn_draft_is_one_of(const char *name, const char *list);

/* draft_write.c: the config's text. template_path: as the config names it. */
char *hn_draft_write(const struct hn_draft *draft, const char *template_path, const char *source_path);

#endif
