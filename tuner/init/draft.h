/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_DRAFT_H
#define HONE_TUNER_INIT_DRAFT_H

#include <jansson.h>
#include <string.h>

#include "tuner/config/capture.h"
#include "tuner/init/unit.h"

/* A first config: what is known, what is guessed and what is left to do, from a source (hn_draft_make) or from what
 * another tuner was told (hn_import_make). Strings live as long as the unit. */

/* What the config has a name for: a parameter, or a size of the problem. */
struct hn_draft_name {
    const char *name, *own; /* own: in the source, if it has it */
    struct hn_value preset; /* the default, if has_preset; the size, 0 while the draft is made: a usual one */
    bool has_preset;

    HN_GROWING(struct hn_value) values;
    const char *override; /* "define", "constexpr": how the source declares it itself; NULL: it does not */
    const char *comment;  /* behind it; NULL: none */

    bool told;               /* the size is what a launch passes, or the source's own */
    bool is_size, is_extent; /* is_extent: how much work there is; else some other number */
    bool frozen;             /* a size that is a macro of the source */
    bool host;               /* a size that only the host's code has */
    bool made;               /* a size that others make, as its name says: "(nx + 8)" */
};

enum hn_draft_role { HN_DRAFT_INPUT, HN_DRAFT_OUTPUT, HN_DRAFT_INOUT };

/* Of the plan, or a symbol. NULL is left out. */
struct hn_draft_argument {
    const char *name, *type, *count, *value, *from, *fill, *file, *expected; /* expected: a file, too */
    const char *other; /* further keys as they are written */
    const char *todo;  /* behind it, without "TODO: " */
    enum hn_draft_role role;
    bool hidden; /* the kernel is not passed it */
    bool within; /* passed by a structure's field */
    bool unread; /* the kernel only writes it */
};

/* Of a launch in the source. */
enum hn_draft_launch { HN_LAUNCH_GRID, HN_LAUNCH_BLOCK, HN_LAUNCH_SHARED };

struct hn_draft {
    struct hn_unit *unit;
    const struct hn_kernel *kernel; /* NULL: it is not known */
    const char *origin, *name, *template; /* origin: the file that it is of */
    HN_GROWING(struct hn_draft_name) names;
    HN_GROWING(const char *) constraints;
    HN_GROWING(struct hn_draft_argument) arguments;
    int dimensions; /* of the launch: 1 to 3 */
    const char *block[3], *grid[3], *shared_bytes;
    const struct hn_capture *capture; /* NULL: there is none */
    const char *output;               /* the config's path, where there is one */
    json_t *document;                 /* what is written, of all that is not above */
    json_t *problem;                  /* of another tuner; NULL: there is none */
    const char *prefix;               /* how to get to its folder from the config's, "" or "../problems/" */
    int lists;                        /* that were read of one text of it */

    /* While it is made of a source. */
    struct hn_tokens launch[3];          /* the first one, by enum hn_draft_launch; empty: that is not told */
    bool instances_are_known, block_is_known, grid_is_known; /* from the source */
    bool varies;                              /* how many elements were given last changes with the parameters */
    bool opens;                               /* names that only the host has become sizes */
    const char *bounds;                       /* the first of __launch_bounds__, or NULL */
    const char *elements;                     /* of a buffer of which nothing else is known */
};

/* Of the kernel that it has, with its unit. */
void hn_draft_make(struct hn_draft *draft);
/* Sets what its capture tells; the contents go to files beside the output. HN_ECONFIG: it has other parameters. */
void hn_draft_take_capture(struct hn_draft *draft, struct hn_error *err);
/* Its unit, too. */
void hn_draft_finish(struct hn_draft *draft);
/* A tuning problem in JSON, T1 or CAFF; the draft has its kernel's name, as config and file are called, "convolution". HN_ERUN:
 * cannot be read; HN_EFORMAT: no JSON, or not of a tuning problem. */
enum hn_status hn_import_load(struct hn_draft *draft, struct hn_error *err);
/* Makes the draft of it, where what it cannot say in Hone's terms is marked TODO. Looks for the kernel's source, which may be
 * missing, in the file's folder and the one above. */
void hn_import_make(struct hn_draft *draft);
/* The config's text, once. It is made of lines of its document (tuner/report/render.h, doubled); "*LIST LINE" is one for each item of
 * a list. */
const char *hn_draft_write(struct hn_draft *draft, const char *lines);
/* draft.yaml.in, program.yaml.in. */
extern const char hn_init_draft[], hn_init_program[];

/* A text that lives as long as the draft. */
#define HN_DRAFT_TEXT(draft, ...) HN_TEXT((draft)->unit, __VA_ARGS__)
/* One line, which nothing in it ends: bytes that are no ASCII or control something are blanks; a long one is cut. */
const char *hn_draft_line(const struct hn_draft *draft, const char *text);
#define HN_DRAFT_LINE(draft, ...) hn_draft_line(draft, HN_DRAFT_TEXT(draft, __VA_ARGS__))
/* A number or a word, as configs have it. */
const char *hn_draft_value(const struct hn_draft *draft, const struct hn_value *value);
/* Appends to a list of its document, if the text is not empty. */
void hn_draft_note(struct hn_draft *draft, const char *list, const char *text);
#define HN_DRAFT_FLAG(draft, list, holds) hn_draft_note(draft, list, (holds) ? "it is" : "")
/* The same of what YAML has to take for a text; NULL is nothing. */
void hn_draft_note_scalar(struct hn_draft *draft, const char *list, const char *text);
void hn_draft_note_argument(struct hn_draft *draft, const char *list, const struct hn_draft_argument *argument);
#define HN_DRAFT_NOTE(draft, list, ...) hn_draft_note(draft, list, HN_DRAFT_LINE(draft, __VA_ARGS__))

/* "name" or "&scope::name", also of one of several, "scope::name<float, BM>" with what the template's parameters are
 * called in the config; NULL: it is not known with what. */
const char *hn_draft_entry(const struct hn_draft *draft);
/* By its name in the config or in the source; NULL: there is none. */
struct hn_draft_name *hn_draft_find(const struct hn_draft *draft, const char *name);
/* With 0 as its preset. */
struct hn_draft_name *hn_draft_add(struct hn_draft *draft, const char *name, const char *own, bool is_size);
/* One that it does not have yet; in order. */
void hn_draft_add_value(const struct hn_draft *draft, struct hn_draft_name *parameter, struct hn_value value);
/* Its preset, and unless that is alone powers of two around it, off and on of a flag. */
void hn_draft_choose_values(const struct hn_draft *draft, struct hn_draft_name *parameter, struct hn_value preset,
                            bool alone);
/* nvcc, and why, where NVRTC cannot compile the source. */
void hn_draft_choose_compiler(struct hn_draft *draft);
/* A text with each such part of it, which is no part of a word, by another. */
const char *hn_draft_replace(const struct hn_draft *draft, const char *text, const char *part, const char *by);

/* Whether configs understand an expression (NULL: there is none) of these names, and, where result is not NULL, its value at the default
 * point, or where each parameter is at its largest; of the parameters alone, a constant has none. */
enum hn_draft_names { HN_OF_NOTHING, HN_OF_SIZES, HN_OF_ALL, HN_OF_PARAMETERS, HN_OF_LARGEST };
bool hn_draft_holds(const struct hn_draft *draft, const char *expression, enum hn_draft_names names,
                    struct hn_value *result, struct hn_error *err);
#define HN_DRAFT_IS(draft, expression, of_names) hn_draft_holds(draft, expression, of_names, NULL, NULL)
/* Its whole number; INT64_MIN: it is none, or not known. */
int64_t hn_draft_number(const struct hn_draft *draft, const char *text, enum hn_draft_names of);
/* Appends that a block has no more threads than it may have, where that does not hold by itself. */
void hn_draft_bound_threads(struct hn_draft *draft);

/* Of the parts to each other. draft_launch.c: the first launch in the host's code; block, grid, constraints. */
void hn_draft_find_launch(struct hn_draft *draft);
void hn_draft_read_launch(struct hn_draft *draft);
/* An expression of C++ as configs have it: names for what they stand for, floor division, ceil_div where that is meant. NULL: it
 * is empty, or beyond what configs can say. */
const char *hn_draft_translate(struct hn_draft *draft, struct hn_tokens tokens);
/* What configs call a name at a token, which may be "blockDim.x"; NULL: what it stands for in the source is translated. */
const char *hn_draft_known(const struct hn_draft *draft, const char *name, size_t token);
/* Whether the grid or the block that the kernel is launched with has the name. */
bool hn_draft_launches(const struct hn_draft *draft, enum hn_draft_launch part, const char *name);
/* What is passed or allocated for an argument; NULL: nothing is known. */
const char *hn_draft_given(struct hn_draft *draft, const struct hn_kernel_argument *argument);
/* A name that the source does not use: the wish in capitals, or with TUNE_ before it. */
const char *hn_draft_free_name(const struct hn_draft *draft, const char *wish);

#endif
