/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_COMPILE_INTERNAL_H
#define HONE_RUNTIME_COMPILE_COMPILE_INTERNAL_H

#include "runtime/compile/compile.h"

/* Functions without a status are sticky. */

/* Log, cubin and mangled entries; where the program does not compile, the image has its message and no cubin. Files
 * are in a folder of their own, gone afterwards. Environment, limits and process group are those of the caller, who
 * ends it with its group. */
void hn_nvcc_compile(const struct hn_source *source, const char *architecture, struct hn_image *image,
                     struct hn_error *err);

/* Removes in place the lines that differ from run to run ("Compile time = 3.4 ms"). */
void hn_compile_log_strip(char *log);
/* What to tell of a log of a failed compile: its first error, with file(line) as the compiler gives
 * it, or the static shared memory that is too much, which ptxas only counts. Free it; NULL when out
 * of memory. */
char *hn_compile_log_error(const char *log);

#endif
