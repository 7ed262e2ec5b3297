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

/* The config of that kernel from the file at `path`; free it. prefix: how to get to the file's folder from the config's, "" or
 * "../problems/". Looks for the kernel's source, which may be missing, in the file's folder and the one above. */
char *hn_import_write(const json_t *root, const char *kernel, const char *path, const char *prefix);

#endif
