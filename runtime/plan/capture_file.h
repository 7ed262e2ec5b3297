/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_CAPTURE_FILE_H
#define HONE_RUNTIME_PLAN_CAPTURE_FILE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bindings.h"
#include "base/schema.h"
#include "runtime/device/driver.h"

/* A capture: HN_CAPTURE_MAGIC, zlib streams one behind the other, a JSON object that says what they are, its length as
 * eight bytes (little endian), and the magic again. docs/formats.md describes the object. */
#define HN_CAPTURE_MAGIC "HONECAP1"
enum { HN_CAPTURE_FORMAT = 1, HN_CAPTURE_PIECE = 4 << 20 };

/* What `hone capture` tells the library that it loads into a program (runtime/interposer), in its environment: which of the
 * launches, from 1; the bytes that its buffers have at most; the capture's path; and on a line of its own the kernel (hn_capture_is_of),
 * or nothing for any. Without it nothing is captured. */
#define HN_INTERPOSER "HONE_INTERPOSER"
#define HN_INTERPOSER_FORMAT "%llu %llu %s\n%s"

/* The contents of a buffer: a stream of the file. */
struct hn_capture_part {
    char *name;
    size_t bytes, offset, packed;
};

/* What a capture says of itself. */
struct hn_capture_head {
    char *kernel; /* its name, which may be mangled */
    bool positional; /* "p3" is the fourth parameter of the kernel: who wrote it knew no names */
    char *config; /* its path; NULL: not known */
    int *grid, *block, shared_bytes; /* of a positional one: three of each */
    size_t grid_count, block_count;
    struct hn_bindings problem;
    struct hn_bindings scalars;
    struct hn_capture_part *inputs;
    size_t input_count;
    struct hn_capture_part *expected;
    size_t expected_count;
    size_t begins; /* where this description does, in the file */
};
extern const struct hn_structure hn_capture_structure;

/* The object at the end of a capture, through the gate: names are words and stand once in their list, numbers are finite, each part
 * lies in the file. HN_EFORMAT. Finish it with hn_fields_finish, but after a failure. */
enum hn_status hn_capture_read_head(FILE *stream, const char *path, struct hn_capture_head *head, struct hn_error *err);

/* Whether a kernel of that name, mangled or not, is the one that is called `name`, as an entry names it: a template's arguments and
 * the namespaces are not looked at. */
bool hn_capture_is_of(const char *kernel, const char *name);

/* One that is being written, beside its path until it is whole. Begin with all zero; sticky. */
struct hn_capture_writer {
    FILE *stream;
    char *path, *temporary;
    bool reserved; /* an empty file holds the path, which a failure removes */
    uint64_t written;
    json_t *inputs, *expected, *scalars;
};

/* Takes the path. */
void hn_capture_begin(struct hn_capture_writer *writer, char *path, struct hn_error *err);
/* Adds contents to `inputs` or `expected`: those of device memory or, without a driver, of the host's. */
void hn_capture_add(struct hn_capture_writer *writer, json_t *list, const char *name, const struct hn_driver *driver,
                    uint64_t address, uint64_t bytes, struct hn_error *err);
/* Takes `head`, the rest of what the file says of itself, writes it behind the contents, and gives the file its name; after a
 * failure, or without a head, there is no file. */
void hn_capture_finish(struct hn_capture_writer *writer, json_t *head, struct hn_error *err);

#endif
