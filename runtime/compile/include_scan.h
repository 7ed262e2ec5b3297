/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_INCLUDE_SCAN_H
#define HONE_RUNTIME_COMPILE_INCLUDE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* The #include lines of a source, outside of comments, whatever conditions stand around them. */
struct hn_include_scan {
    const char *next; /* the line to look at; begin with the text */
    bool comment;     /* it begins within one */
    int conditions;   /* that are open */
    int nvrtc;        /* which of these is an #ifdef __CUDACC_RTC__; 0: none */
    bool host;        /* in the #else of that one */
    int line;         /* lines that were looked at */
};

struct hn_include {
    const char *name; /* in the text, between the marks */
    size_t length;
    bool quoted; /* "name", else <name> */
    bool conditional; /* between an #if and its #endif */
    bool host;        /* where NVRTC does not look: in the #else of an #ifdef __CUDACC_RTC__ */
    int line;
};

/* False at the end of the text. */
bool hn_include_next(struct hn_include_scan *scan, struct hn_include *include);

#endif
