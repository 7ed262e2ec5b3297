/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_PROGRAM_CHILD_H
#define HONE_TUNER_SESSION_PROGRAM_CHILD_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/bindings.h"

/* A command of a program's config: a process group of its own, without a shell, which dies with this process. */
struct hn_child {
    const char *name;   /* of the program; borrowed */
    pid_t pid;          /* 0: it has ended, or was not started */
    int output, errors; /* files without a name, of what it printed; -1: there is none */
    double end_ms;      /* when it is killed, as hn_now_ms */
    int status;         /* of waitpid, once it has ended */
    double cpu_s;       /* processor time, with that of the processes that it waited for */
    bool late, floods;  /* it was killed, since it took too long or printed too much */
};

void hn_child_init(struct hn_child *child);
/* The words, with values in the place of ${NAME}, in that folder. Values are also variables of its environment; a boolean is 0 or 1.
 * input: what it reads from its standard input; -1: nothing. Sticky. */
void hn_child_start(struct hn_child *child, const json_t *words, const struct hn_bindings *values, const char *folder,
                    int input, double limit_ms, struct hn_error *err);
/* It has ended, or was killed because it had to; nothing of its group is left. */
bool hn_child_ended(struct hn_child *child);
bool hn_child_succeeded(const struct hn_child *child);
/* Kills it where it has not ended. */
void hn_child_finish(struct hn_child *child);
/* What it printed to its standard output. Free it. */
char *hn_child_output(const struct hn_child *child);
/* "cc ended with exit status 1; it last printed: …"; limit: the option that says how long it may take. */
void hn_child_describe(const struct hn_child *child, const char *limit, char *text, size_t size);

#endif
