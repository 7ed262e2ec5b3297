/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_IMPORT_IMPORT_H
#define HONE_TUNER_IMPORT_IMPORT_H

#include <jansson.h>

#include "base/error.h"

/* A tuning problem in JSON, T1 or CAFF, read and written as a config: what it cannot say in Hone's terms is a comment
 * marked TODO at its place. */

/* json_decref the root. kernel: as config and file are called, "convolution"; free it. HN_ERUN: cannot be read;
 * HN_EFORMAT: no JSON, or not of a tuning problem. */
enum hn_status hn_import_load(const char *path, json_t **root, char **kernel, struct hn_error *err);

struct hn_import_place {
    const char *kernel; /* as hn_import_load has it */
    const char *path;   /* of the file */
    const char *prefix; /* how to get there from the config's: "" or "../problems/" */
};

/* The config; free it. Looks for the kernel's source, which may be missing, in the file's folder and the one above. */
char *hn_import_write(const json_t *root, const struct hn_import_place *place);

#endif
