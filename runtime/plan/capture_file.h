/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_CAPTURE_FILE_H
#define HONE_RUNTIME_PLAN_CAPTURE_FILE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* A capture: HN_CAPTURE_MAGIC, zlib streams one behind the other, a JSON object that says what they are, its length as
 * eight bytes (little endian), and the magic again. docs/formats.md describes the object. */
#define HN_CAPTURE_MAGIC "HONECAP1"
enum { HN_CAPTURE_FORMAT = 1, HN_CAPTURE_PIECE = 4 << 20 };

/* One that is being written, beside its path until it is whole. */
struct hn_capture_file {
    FILE *stream;
    char *path;
    char *temporary;
    uint64_t written;
};

enum hn_status hn_capture_create(const char *path, struct hn_capture_file *file, struct hn_error *err);
/* Packs `bytes` bytes that `read` gives piece by piece. *packed is what they take in the file. */
typedef enum hn_status hn_capture_read(void *from, uint64_t offset, void *to, size_t bytes, struct hn_error *err);
enum hn_status hn_capture_pack(struct hn_capture_file *file, uint64_t bytes, hn_capture_read *read, void *from,
                               uint64_t *packed, struct hn_error *err);
/* Writes the end and gives the file its name. */
enum hn_status hn_capture_commit(struct hn_capture_file *file, const json_t *head, struct hn_error *err);
/* Removes what was not committed. */
void hn_capture_abandon(struct hn_capture_file *file);

/* The object at the end of a capture, through the gate: names are words and stand once in their list, each part lies in the
 * file. HN_EFORMAT. */
enum hn_status hn_capture_read_head(FILE *stream, const char *path, json_t **head, struct hn_error *err);
/* Unpacks one stream of it into a file. */
enum hn_status hn_capture_unpack(FILE *stream, const char *path, uint64_t offset, uint64_t packed, uint64_t bytes,
                                 const char *to, struct hn_error *err);

#endif
