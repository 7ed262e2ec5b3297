/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_OUTPUT_H
#define HONE_TUNER_COMMANDS_OUTPUT_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

/* What the command writes to standard output and standard error. Text goes through stdout and stderr, which show control
 * bytes as \x1b: names of devices, strings of configs and caches and what compilers say may hold what a terminal obeys. Data
 * goes through the functions below, as it is. What moves the cursor is written to STDERR_FILENO. */

/* The first thing that main does. Descriptors 0 to 2 that are closed lead to /dev/null from here on, such that reading and
 * writing there fail: what is opened later never gets their numbers. SIGPIPE and SIGXFSZ become errors of the calls. A program that
 * would exit with 0, from wherever, exits with 1 and a message where not all text could be written to standard output. */
void hn_output_init(void);

/* With --json a program that ends with another exit code than 0, and has written nothing, writes {"error": {"code", "message"}}.
 * The message is read then; "" where standard error alone says what is wrong. */
void hn_output_promise_json(const char *message);

/* HN_ERUN where standard output takes no more. */
enum hn_status hn_output_data(const void *bytes, size_t size, struct hn_error *err);
/* Indented, with a newline at the end. document may be NULL: what jansson could not make of the results. */
enum hn_status hn_output_json(const json_t *document, struct hn_error *err);

#endif
