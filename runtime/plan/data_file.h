/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_DATA_FILE_H
#define HONE_RUNTIME_PLAN_DATA_FILE_H

#include <stdio.h>

#include "base/error.h"
#include "base/hash.h"
#include "runtime/plan/element.h"

/* The elements of a buffer as a file holds them: a NumPy array (.npy, any version, in C order, little endian), or
 * nothing but their bytes. */
struct hn_data_file {
    FILE *stream; /* at the first element */
};

/* HN_ECONFIG: the file can not be read, has elements of another type, or another number than `count`; the message
 * names it. bfloat16 and float8_e4m3 have no type in NumPy: two bytes, or one, of any kind are taken. */
enum hn_status hn_data_file_open(const char *path, enum hn_element element, uint64_t count,
                                 struct hn_data_file *file, struct hn_error *err);
enum hn_status hn_data_file_read(struct hn_data_file *file, void *bytes, size_t size, struct hn_error *err);
void hn_data_file_close(struct hn_data_file *file);

/* A NumPy array to be written: the elements follow by fwrite to `stream`, as many as the shape says. bfloat16 is uint16
 * there. HN_ERUN: it can not be made, or closed without a loss. */
enum hn_status hn_npy_create(const char *path, enum hn_element element, const uint64_t *shape, size_t dimensions,
                             FILE **stream, struct hn_error *err);
enum hn_status hn_npy_finish(const char *path, FILE *stream, struct hn_error *err);

/* The hash of the whole file. */
enum hn_status hn_data_file_hash(const char *path, struct hn_hash *hash, struct hn_error *err);

/* The header of a NumPy array, without magic and lengths: "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }".
 * *count becomes the number of elements. */
enum hn_status hn_npy_check(const char *header, enum hn_element element, uint64_t *count, struct hn_error *err);

#endif
