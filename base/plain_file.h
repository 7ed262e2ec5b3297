/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_PLAIN_FILE_H
#define HONE_BASE_PLAIN_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/hash.h"

/* Opens what is to be read: a plain file, or a link to one. Of anything else nothing is read: a pipe would be waited for, and a
 * device may have no end. -1 or NULL, and *reason, for everything that can not be opened. */
int hn_plain_file_open(const char *path, const char **reason);
FILE *hn_plain_file_stream(const char *path, const char **reason);
/* Of all that it holds. False, and *reason: it can not be read. */
bool hn_plain_file_hash(const char *path, struct hn_hash *hash, const char **reason);
/* Whether it can be read and that is its hash; where not, *reason. */
bool hn_plain_file_is(const char *path, const char *hash, const char **reason);

#endif
