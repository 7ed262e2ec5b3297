/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_DRAFT_H
#define HONE_TUNER_INIT_DRAFT_H

#include <string.h>

#include "tuner/init/unit.h"

/* What a source tells of a kernel's config, and what is guessed where it does not. Strings live as long as the unit. */

/* Left to whoever compiles; the template's; the launch's alone; declared by the source as a macro, or as a constant. */
enum hn_draft_of { HN_OF_DEFINE, HN_OF_TEMPLATE, HN_OF_LAUNCH, HN_OF_OWN_MACRO, HN_OF_CONSTANT };

struct hn_draft_parameter {
    const char *name, *own; /* own: in the source; NULL: nowhere */
    enum hn_draft_of of;
    int64_t values[8], preset;    /* of numbers, ascending; the default */
    const char *words[16], *word; /* in their place: X_plain 1, X_ldg 2, X X_plain */
    size_t value_count, word_count;
    bool boolean; /* 0 is false, 1 is true */
    bool missing; /* the source uses it and defines it nowhere */
    bool guessed; /* the source has no value for it */
};

struct hn_draft_size {
    const char *name, *declared; /* declared: in the source; NULL: nowhere */
    int64_t value;               /* 0, while the draft is made: a usual one */
    bool frozen;                 /* a macro of the source */
    bool is_extent;              /* how much work there is; else some other number */
};

/* Elements under a tensor map, until somebody says how many there are. */
enum { HN_DRAFT_MAPPED = 65536 };

enum hn_draft_role { HN_DRAFT_INPUT, HN_DRAFT_OUTPUT, HN_DRAFT_INOUT };
enum hn_draft_passed { HN_PASSED_BUFFER, HN_PASSED_SCALAR, HN_PASSED_STRUCTURE, HN_PASSED_TEXTURE, HN_PASSED_MAP };

struct hn_draft_argument {
    const struct hn_kernel_argument *declared;
    enum hn_draft_passed passed;
    char type[HN_TYPE_SIZE + 16]; /* as configs name it */
    int64_t multiple;             /* of it in an element of the source */
    bool type_is_known, role_is_known;
    enum hn_draft_role role;
};

struct hn_draft {
    struct hn_unit *unit;
    const struct hn_kernel *kernel;
    struct hn_tokens template_arguments; /* of an instantiation or a launch; empty: there is none */
    HN_GROWING(struct hn_draft_parameter) parameters;
    HN_GROWING(struct hn_draft_size) sizes;
    HN_GROWING(const char *) constraints;
    struct hn_draft_argument *arguments; /* as many as the kernel has */
    const char **instances;              /* for each parameter of its template; NULL: nothing is known */
    bool instances_are_known, block_is_known;   /* from the source */
    bool cooperative, has_extern;               /* has_extern: a shared array whose size the launch tells */
    bool has_host_code;                         /* functions that are not the device's */
    int dimensions;                             /* of the launch: 1 to 3 */
    const char *block[3], *grid[3], *extent[3]; /* extent: the name of a size */
    const char *bounds;                         /* the first of __launch_bounds__, or NULL */
    const char *elements;                       /* of a buffer of which nothing else is known */
};

/* HN_ECONFIG: a kernel that writes to no argument. To be finished all the same. */
enum hn_status hn_draft_make(struct hn_unit *unit, const struct hn_kernel *kernel, struct hn_draft *draft,
                             struct hn_error *err);
void hn_draft_finish(struct hn_draft *draft);
/* The config's text; free it. template_path: as the config names it. */
char *hn_draft_write(const struct hn_draft *draft, const char *template_path, const char *source_path);
/* Whether configs mean something else by the name. */
bool hn_draft_is_reserved(const char *name);

/* Of the parts to each other. draft_launch.c: block, grid, and the constraints that follow. */
void hn_draft_read_launch(struct hn_draft *draft);
/* Whether a name is one of "a b c", or has one of them in it, whatever the case. */
bool hn_draft_is_one_of(const char *name, const char *list);
bool hn_draft_has_part(const char *name, const char *list);
bool hn_draft_is_block(const char *name);
/* A name that the source does not use: the wish in capitals, or with TUNE_ before it. */
const char *hn_draft_free_name(const struct hn_draft *draft, const char *wish);
/* A parameter of the launch alone; guessed: its preset is its only value. Returns its name. */
const char *hn_draft_add_launch(struct hn_draft *draft, const char *wish, int64_t preset, bool guessed);
struct hn_draft_size *hn_draft_add_size(struct hn_draft *draft, const char *name, const char *declared, int64_t value);

#endif
