/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_JSON_READER_H
#define HONE_BASE_JSON_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Reading JSON that nobody vouches for. A reader keeps the first failure, and what is read after it does nothing, so that
 * a sequence of reads is a sequence of lines. */
struct hn_json_reader {
    const char *what; /* begins messages: "plan" */
    enum hn_status status;
    struct hn_error *err;
    const void *root; /* for those that need to know what they are a part of; may be NULL */
};

/* "<what>: '<key>' is not <expected>" where `holds` is false, with HN_EFORMAT. Returns whether all is well so far. */
bool hn_json_expect(struct hn_json_reader *reader, bool holds, const char *key, const char *expected);
/* What it is, for messages: "an object"; "nothing" for NULL. */
const char *hn_json_type_name(const json_t *json);
/* Takes a call's status, which HN_ECONFIG stands for HN_EFORMAT in. Returns whether all is well so far. */
bool hn_json_take(struct hn_json_reader *reader, enum hn_status status);

/* Copies the value into *to. */
void hn_json_text(struct hn_json_reader *reader, const json_t *json, const char *key, char **to);
void hn_json_word(struct hn_json_reader *reader, const json_t *json, const char *key, char **to);
void hn_json_index(struct hn_json_reader *reader, const json_t *json, const char *key, size_t *to);
void hn_json_string(struct hn_json_reader *reader, const json_t *json, const char *key, char **to);
/* At most `most` bytes, and the NUL. */
void hn_json_chars(struct hn_json_reader *reader, const json_t *json, const char *key, size_t most, char *to);
/* 32 hexadecimal digits, or "". */
void hn_json_hash(struct hn_json_reader *reader, const json_t *json, const char *key, char to[33]);
void hn_json_count(struct hn_json_reader *reader, const json_t *json, const char *key, int most, int *to);
/* A number, or as hn_real_to_json writes it. */
void hn_json_real(struct hn_json_reader *reader, const json_t *json, const char *key, double *to);
bool hn_real_from_json(const json_t *json, double *real);
/* Finite and not negative. */
void hn_json_amount(struct hn_json_reader *reader, const json_t *json, const char *key, double *to);
void hn_json_finite(struct hn_json_reader *reader, const json_t *json, const char *key, double *to);
/* The place of the value in a table of names. */
void hn_json_choice(struct hn_json_reader *reader, const json_t *json, const char *key, const char *const *names,
                    int count, int *to);

#endif
