/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_ERROR_H
#define HONE_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* How a call ended. Only what ends a command is a status; a variant that fails is data (enum hn_outcome). */
enum hn_status {
    HN_OK,
    HN_ENOMEM,
    HN_ECONFIG,      /* the configuration, an expression or a point is wrong */
    HN_EUSAGE,       /* the command line is wrong */
    HN_EVALUE,       /* an expression has no value here: division by zero, overflow, wrong types */
    HN_ERUN,         /* the run cannot go on: no driver, disk full, buffers larger than memory */
    HN_EFORMAT,      /* a file or message is not what it should be: truncated, corrupt, newer than we know */
    HN_ENOTFOUND,    /* nothing valid or nothing cached was found */
    HN_EREPLAY,      /* a replay found a wrong or slower result */
    HN_EINTERRUPTED, /* a signal ended the command */
};

/* The first failure of a run of steps: its status, and one message that is never rewritten on the way up. Mostly one line; a table
 * may follow it.
 *
 * A function that returns a status begins afresh: it leaves its failure in err, whatever stood there before. A function that
 * returns no status and takes an err is sticky: it does nothing where err has failed, so that ten steps need one check. A function
 * of the first kind that calls some of the second begins with hn_error_init and ends with `return err->status`. */
struct hn_error {
    char message[4096];
    enum hn_status status;
};

/* Nothing has failed yet. Leaves the message's bytes as they are: filling them with zeros would cost too much. */
static inline void hn_error_init(struct hn_error *err)
{
    err->status = HN_OK;
    err->message[0] = '\0';
}

/* The same where the caller may not want to know: err, or `own` in place of NULL. */
static inline struct hn_error *hn_error_begin(struct hn_error *err, struct hn_error *own)
{
    err = err != NULL ? err : own;
    hn_error_init(err);
    return err;
}

static inline bool hn_failed(const struct hn_error *err)
{
    return err->status != HN_OK;
}

/* Puts status and message into err, which may be NULL, and returns status. */
enum hn_status hn_fail(struct hn_error *err, enum hn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* hn_fail(err, HN_ENOMEM, "out of memory"). */
enum hn_status hn_fail_memory(struct hn_error *err);

#endif
