/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_UNIT_H
#define HONE_TUNER_INIT_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/expression/expression.h"
#include "base/memory.h"

/* A CUDA source as libclang reads it: declarations from its syntax tree, and all else, launches too, from its tokens,
 * which are there whatever headers are missing. All of it lives in the unit's memory. */

struct hn_token {
    const char *text;
    size_t begin, end; /* offsets in the source */
    bool directive;    /* of a preprocessor line */
    bool starts;       /* the first of its line */
};

/* From one token to before another. */
struct hn_tokens {
    size_t begin, end;
};

#define HN_GROWING(type) struct { type *items; size_t count; }
/* The next free place, zeroed, in the unit's memory. */
#define HN_GROW(unit, list) \
    ((list).items = hn_unit_room(unit, (list).items, (list).count, sizeof *(list).items), &(list).items[(list).count++])

/* A template's own type, before its number: clang's canonical name. */
#define HN_TEMPLATE_TYPE "type-parameter-0-"

struct hn_kernel_argument {
    const char *name, *last;      /* last: "n" of a field "line.n" */
    const char *type_name;        /* the type of an element, in the source */
    char type[HN_TYPE_SIZE];      /* of an element, as configs name it; "": none of theirs */
    const char *record;           /* a structure's name from anywhere; "": it has none, or is none */
    HN_GROWING(struct hn_kernel_argument) fields; /* numbers and pointers within it, by their paths: "a.b", "w[2]" */
    bool hides;                   /* not all of them are there, or can be named */
    int64_t bytes;                /* of an element; not positive: not known */
    struct hn_tokens given;       /* by the launch that is read */
    bool pointer, constant;       /* constant: what it points to */
    bool reads, writes, passed;   /* in the kernel's body; passed on, or its address taken */
    bool assumed;                 /* its type, which nothing that is there declares */
};

enum hn_parameter_kind { HN_PARAMETER_NUMBER, HN_PARAMETER_BOOLEAN, HN_PARAMETER_TYPE, HN_PARAMETER_OTHER };

/* Of a template. */
struct hn_kernel_parameter {
    const char *name, *type;
    enum hn_parameter_kind kind;
    struct hn_tokens given; /* by the first instantiation, else its preset; empty: none */
    const char *instance;   /* what a draft gives it; NULL: there is none */
};

struct hn_kernel {
    const char *name, *mangled, *scope; /* mangled: its name where it is extern "C"; scope: "demo::" or "" */
    const char *type;                   /* "void (int *)" */
    HN_GROWING(struct hn_kernel_parameter) parameters;
    HN_GROWING(struct hn_kernel_argument) arguments;
    struct hn_tokens head, body; /* from the declaration's first token to its name; in braces */
};

/* What a name stands for: a macro, a variable's first value, what a function returns, what a parameter is given, a type. */
struct hn_meaning {
    const char *name, *space; /* space: the namespaces of a variable or a type that is global, "demo::" */
    const char *deduced;      /* a type that the first call of its template leaves out; NULL: it is not known */
    struct hn_tokens parameters; /* of a macro or a function; 0 and 0: it has none */
    struct hn_tokens body, scope; /* scope: where it is known */
    struct hn_tokens members;     /* of a structure */
    bool macro;
    bool guarded;  /* a macro that is left to whoever compiles */
    bool pointer; /* a variable */
    bool given;    /* another name for a type; a parameter of a macro or of the host, as its first use gives it; empty: none does */
    bool constant; /* a variable: a whole number that stays what it is, or a pointer to such */
};

/* Used and nowhere declared. */
struct hn_missing {
    const char *name;
    bool condition; /* of an #if */
};

struct hn_unit {
    char *path, *text;
    HN_GROWING(struct hn_token) tokens;
    HN_GROWING(struct hn_kernel) kernels;
    HN_GROWING(struct hn_meaning) meanings;
    HN_GROWING(struct hn_missing) missing;
    HN_GROWING(struct hn_tokens) device, host; /* bodies of functions that are no kernels; device: of macros and the draft's, too */
    bool relaxed; /* code of the device calls functions that are constexpr alone */
    const char *absent; /* " a.h <b/b.h>", headers that it includes as its own, or of a library */
    struct hn_blocks memory;
};

/* Into a zeroed unit. HN_ERUN: no file, no libclang; HN_EFORMAT: no text. Its memory is to be finished all the same. */
enum hn_status hn_unit_read(const char *path, struct hn_unit *unit, struct hn_error *err);
/* Makes room for one more, zeroed, at the end of an array of `count`, which grows by this alone; returns the array. */
void *hn_unit_room(struct hn_unit *unit, void *items, size_t count, size_t size);

/* A text that lives as long as the unit. */
#define HN_TEXT(unit, ...) hn_need_format(&(unit)->memory, __VA_ARGS__)

/* A token's text; "" beyond the end. */
const char *hn_text_at(const struct hn_unit *unit, size_t token);
/* Whether it is one of some texts, "( [ {". */
bool hn_at(const struct hn_unit *unit, size_t token, const char *texts);
/* The first such token, or the last one before another; SIZE_MAX where there is none. */
size_t hn_find(const struct hn_unit *unit, struct hn_tokens within, const char *texts);
size_t hn_find_back(const struct hn_unit *unit, size_t end, const char *texts);
#define HN_EVERYWHERE ((struct hn_tokens){0, SIZE_MAX})
#define HN_FROM(token) ((struct hn_tokens){token, SIZE_MAX})
/* What is left of the statement. */
#define HN_REST(unit, token) ((struct hn_tokens){token, hn_find(unit, HN_FROM(token), ";")})
#define HN_HAS(unit, ...) (hn_find(unit, __VA_ARGS__) != SIZE_MAX)
/* For each such token. */
#define HN_EACH_AT(i, unit, within, text)                                                                              \
    for (size_t i = hn_find(unit, within, text); i != SIZE_MAX;                                                        \
         i = hn_find(unit, (struct hn_tokens){i + 1, (within).end}, text))
/* Behind the bracket that closes the one at `open`; of "<" too. */
size_t hn_behind(const struct hn_unit *unit, size_t open, size_t end);
#define HN_WITHIN(tokens, token) ((tokens).begin <= (token) && (token) < (tokens).end)
/* What stands in the brackets at `open`. */
struct hn_tokens hn_inside(const struct hn_unit *unit, size_t open);
/* Takes the next item, between commas or another sign, off a list; false at its end. */
bool hn_next(const struct hn_unit *unit, const char *sign, struct hn_tokens *list, struct hn_tokens *item);
/* The innermost that is known at a token; one without a name, a body and all else where there is none. */
const struct hn_meaning *hn_unit_meaning(const struct hn_unit *unit, const char *name, size_t at);
/* Of the name that stands there. */
#define HN_MEANING(unit, token) hn_unit_meaning(unit, hn_text_at(unit, token), token)
/* 16, 0x10u, true. */
bool hn_unit_number(const struct hn_unit *unit, size_t token, int64_t *number);
/* As it stands, in one line. */
const char *hn_unit_text(struct hn_unit *unit, struct hn_tokens tokens);

/* Whether a name is of one of some kinds in names.in, "block tile". */
bool hn_is_like(const char *name, const char *kinds);
/* The product, without factors that are "1"; left may be NULL, which is 1, too. */
const char *hn_times(struct hn_unit *unit, const char *left, const char *right);

#endif
