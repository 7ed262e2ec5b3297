/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_CODE_SCAN_H
#define HONE_RUNTIME_COMPILE_CODE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/file.h"
#include "base/text.h"

/* What is found in sources without a compiler: conditions and macros are not followed. */

enum hn_code { HN_CODE_OTHER, HN_CODE_WORD, HN_CODE_NUMBER, HN_CODE_LITERAL, HN_CODE_COMMENT, HN_CODE_OPEN };

/* Behind the word, number, string, character or comment that begins there; behind one byte where none does (HN_CODE_OTHER). A string
 * or character that is not closed (HN_CODE_OPEN) ends with its line, such a comment with the text. */
const char *hn_code_behind(const char *at, enum hn_code *kind);

/* A piece of a source. */
struct hn_code_text {
    const char *text;
    size_t length;
};

/* The next line that begins outside of comments and of a line that goes on; *number, which may count lines, goes up by those passed. */
const char *hn_code_next_line(const char *line, int *number);

/* The rest of a line behind `#`, the word that the directive begins with, and blanks; NULL: it is no such line. */
const char *hn_code_directive(const char *line, const char *end, const char *begins);

/* The #include lines of a source, outside of comments, whatever conditions stand around them. */
struct hn_include_scan {
    const char *next; /* the line to look at; begin with the text */
    int conditions;   /* that are open */
    int nvrtc;        /* which of these is an #ifdef __CUDACC_RTC__; 0: none */
    bool host;        /* in the #else of that one */
    int line;         /* lines that were looked at */
    /* NULL, or the texts whose #include lines may name a macro of this one: also what #define PART "part.cuh" and QUOTE(part.cuh) name */
    const struct hn_text_file *macros;
    size_t text_count;
};

struct hn_include {
    const char *name; /* in the text, between the marks */
    size_t length;
    bool quoted;      /* "name", else <name> */
    bool conditional; /* between an #if and its #endif, or by a macro */
    bool host;        /* where NVRTC does not look: in the #else of an #ifdef __CUDACC_RTC__ */
    int line;
};

/* False at the end of the text. */
bool hn_include_next(struct hn_include_scan *scan, struct hn_include *include);

/* The kernel templates of that name in a source, which no cubin has unless something instantiates them: appended as name expressions
 * of their parameters, "app::k<T, N>", each in quotes and apart by ", ". Returns how many. */
size_t hn_kernel_templates_append(const char *source, const char *name, struct hn_text *found);

/* The next declaration of a name behind *at, which is moved behind it: `#define NAME value`, or outside of parentheses
 * and templates' lists `constexpr int NAME = value` or NAME{value}, const and enumerators too. False: there is none. */
bool hn_code_next_value(const char **at, const char *name, bool is_macro, struct hn_code_text *value);

/* Whether a C++ template of the source has a parameter of that name. */
bool hn_template_parameter_is_declared(const char *source, const char *name);

/* What a kernel's parameters are in the text of its source, read without a compiler: a cubin tells their sizes alone. */

enum { HN_DECLARED_MOST = 64 };

struct hn_declared {
    struct hn_declared_parameter {
        char type[64];    /* without const, pointer and name: "unsigned int" */
        char spelled[96]; /* with them: "const float *" */
        bool pointer;
        bool constant; /* what it points to */
    } parameters[HN_DECLARED_MOST];
    size_t count;
};

/* False where no kernel of the name has a body, or several, or its list has lines of the preprocessor in it. */
bool hn_declared_find(const char *source, const char *name, size_t name_length, struct hn_declared *declared);

#endif
