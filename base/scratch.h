/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_SCRATCH_H
#define HONE_BASE_SCRATCH_H

#include <stddef.h>

#include "base/error.h"

/* A folder for files of a process, below $TMPDIR or /tmp, that nobody else can read. */
struct hn_scratch {
    char path[512];
    int lock; /* held for as long as the folder is in use */
};

/* Also removes folders of processes that were killed. HN_ERUN. */
enum hn_status hn_scratch_make(struct hn_scratch *scratch, struct hn_error *err);
/* With all files in it; there are no folders in it. */
void hn_scratch_remove(struct hn_scratch *scratch);

/* "<folder>/<name>" */
void hn_scratch_path(const struct hn_scratch *scratch, const char *name, char *path, size_t size);

#endif
