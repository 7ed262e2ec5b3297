/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_FILE_H
#define HONE_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* A text by the name under which it is included. Owns both. */
struct hn_text_file {
    char *name;
    char *text;
};

bool hn_is_folder(const char *path);
/* The path from the root on: it is relative to the folder that we are in. Free it. NULL: err has failed. */
char *hn_file_absolute(const char *path, struct hn_error *err);
/* $XDG_CACHE_HOME/hone where that is absolute, else ~/.cache/hone, without $HOME in the folder that the system knows as the user's. */
struct hn_text;
void hn_cache_folder_append(struct hn_text *path);
/* Calls `visit` for a file, or for those of a folder whose names end in one of `ends` (as hn_ends_in has them), by name, until err has
 * failed. Sticky. HN_ERUN: the folder cannot be read. */
void hn_files_visit(const char *path, const char *const *ends,
                    void (*visit)(const char *path, void *context, struct hn_error *err), void *context,
                    struct hn_error *err);
/* Opens what is to be read: a plain file, or a link to one. Of anything else nothing is read: a pipe would be waited for, and a
 * device may have no end. -1 or NULL, and *reason, for everything that cannot be opened. */
int hn_file_open(const char *path, const char **reason);
FILE *hn_file_stream(const char *path, const char **reason);

/* The whole file, NUL-terminated and without the mark of UTF-8, at most `limit` bytes. HN_ERUN names the path and the
 * reason. size: NULL of text, in which a zero byte is an error. */
enum hn_status hn_file_read(const char *path, size_t limit, char **data, size_t *size, struct hn_error *err);

/* Writes through a temporary file beside path and renames it, so that path never holds half of it. */
enum hn_status hn_file_write(const char *path, const void *data, size_t size, struct hn_error *err);

/* Closes it, where there is one, and forgets it: -1 is none. */
void hn_close(int *fd);
/* All of it, however many calls that takes; false with errno set. */
bool hn_file_write_all(int fd, const void *data, size_t size);

/* The number behind `key` at the beginning of a line of a small file of the system, or `without`. */
double hn_file_number(const char *path, const char *key, double without);

/* A folder for files of a process, below $TMPDIR or /tmp, that nobody else can read. */
struct hn_scratch {
    char path[512];
    int lock; /* held for as long as the folder is in use */
};

/* Also removes folders of processes that were killed. HN_ERUN. */
enum hn_status hn_scratch_make(struct hn_scratch *scratch, struct hn_error *err);
/* With all that is in it. */
void hn_scratch_remove(struct hn_scratch *scratch);

#endif
