/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_COMPILE_LOG_H
#define HONE_RUNTIME_COMPILE_COMPILE_LOG_H

/* Removes in place the lines that differ from run to run ("Compile time = 3.4 ms"). */
void hn_compile_log_strip(char *log);

/* What to tell of a log of a failed compile: its first error, with file(line) as the compiler gives
 * it, or the static shared memory that is too much, which ptxas only counts. Free it; NULL when out
 * of memory. */
char *hn_compile_log_error(const char *log);
/* The same, and what to do where NVRTC refused what nvcc would not: host code, or a header of the host. */
char *hn_compile_log_nvrtc_error(const char *log);

#endif
