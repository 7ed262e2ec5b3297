/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_CONTENTS_H
#define HONE_RUNTIME_PLAN_CONTENTS_H

#include <stdio.h>

#include "base/hash.h"
#include "runtime/plan/plan.h"

/* The contents of buffers: what they follow from, and files that hold them. */

/* All that the contents of a filled argument follow from but the seed. */
struct hn_recipe {
    size_t argument;
    struct hn_fill fill; /* with all its numbers; borrows names from the plan */
    uint64_t count;      /* elements, of vectors all lanes */
    /* A fill that follows from another input has these: */
    size_t source;
    struct hn_fill source_fill;
    uint64_t source_count;
};

/* HN_EVALUE: numbers that do not make sense for the argument, or a source that it cannot follow from; the message goes on
 * after "found '<fill>', ". HN_ECONFIG: a parameter decides on it. */
enum hn_status hn_recipe_make(const struct hn_plan *plan, size_t argument, const struct hn_value *values,
                              struct hn_recipe *recipe, struct hn_error *err);

/* The elements of a buffer as a file holds them: a NumPy array (.npy, any version, in C order, little endian), or
 * nothing but their bytes.
 *
 * *stream is at the first element. HN_ECONFIG: the file cannot be read, has elements of another type, or another number than `count`;
 * the message names it. bfloat16 and float8_e4m3 have no type in NumPy: two bytes, or one, of any kind are taken. */
enum hn_status hn_data_file_open(const char *path, enum hn_element element, uint64_t count,
                                 FILE **stream, struct hn_error *err);
enum hn_status hn_data_file_read(FILE *stream, void *bytes, size_t size, struct hn_error *err);

/* The hash of the whole file. */
enum hn_status hn_data_file_hash(const char *path, struct hn_hash *hash, struct hn_error *err);

/* The path of a data file, in whose name {n} stands for the problem's n. HN_ECONFIG: it names something else. Free it. */
enum hn_status hn_plan_data_path(const struct hn_plan *plan, const char *file, const struct hn_value *values,
                                 char **path, struct hn_error *err);
/* The files that arguments are filled from, and compared with, in this order. */
struct hn_plan_file {
    char **name; /* in the plan */
    size_t argument;
    char *path;  /* for the problem; owned */
};
struct hn_plan_files {
    struct hn_plan_file *items;
    size_t count;
};
enum hn_status hn_plan_list_files(const struct hn_plan *plan, const struct hn_bindings *problem, struct hn_plan_files *files,
                                  struct hn_error *err);
void hn_plan_files_finish(struct hn_plan_files *files);

#endif
