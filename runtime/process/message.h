/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PROCESS_MESSAGE_H
#define HONE_RUNTIME_PROCESS_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "runtime/compile/compile.h"

/* A message between hone and its workers: a JSON object with a "type", and byte strings that go beside it (cubins).
 * On the wire, little-endian: u32 size of the rest, at most HN_MESSAGE_LIMIT; u32 size of the JSON text; the text; for
 * each blob u32 size and bytes. Reference-counted through its JSON; blobs are owned. */
#define HN_MESSAGE_LIMIT (64u << 20)

/* Raised with every change of a message, or of what carries it (tuner/hosts/link.c); hello carries it, and the build, so
 * that no worker of another Hone is used. */
#define HN_PROTOCOL 8

struct hn_blob {
    void *data;
    size_t size;
};

struct hn_message {
    json_t *json;
    struct hn_blob *blobs;
    size_t blob_count;
};

/* {"type": type}. json is NULL when out of memory. */
void hn_message_init(struct hn_message *message, const char *type);
void hn_message_finish(struct hn_message *message);
const char *hn_message_type(const struct hn_message *message);
enum hn_status hn_message_copy(struct hn_message *to, const struct hn_message *from, struct hn_error *err);
/* Copies the bytes; index (may be NULL) is the blob's number. */
enum hn_status hn_message_add_blob(struct hn_message *message, const void *data, size_t size, size_t *index,
                                   struct hn_error *err);

/* The frame, with its leading size. Free *frame. HN_EFORMAT when it is beyond the limit. */
enum hn_status hn_message_encode(const struct hn_message *message, char **frame, size_t *size, struct hn_error *err);
/* Reads a frame's body (without the leading size) into an empty message; HN_EFORMAT. Trusts nothing. */
enum hn_status hn_message_decode(const void *body, size_t size, struct hn_message *message, struct hn_error *err);

/* The gate of what a worker says, before anything of it is used: it has a type, which is a word, and its texts have no
 * control characters but those of lines: others are escaped. HN_EFORMAT. */
enum hn_status hn_message_gate(struct hn_message *message, struct hn_error *err);
/* A member that is a number, finite and not negative. HN_EFORMAT. */
enum hn_status hn_message_amount(const struct hn_message *message, const char *key, double *amount, struct hn_error *err);

/* The message that asks a compile worker for a program, self-contained and free of any plan. NULL, and HN_ECONFIG, when it is not
 * UTF-8. */
json_t *hn_message_of_source(const struct hn_source *source, const char *architecture, struct hn_error *err);
/* Compiles what a message asks for. */
enum hn_status hn_message_compile(const struct hn_message *message, const struct hn_nvrtc *nvrtc,
                                  struct hn_image *image, struct hn_error *err);

/* An image as the member "image" of an object in the message, its cubin as a blob; and back. */
enum hn_status hn_message_add_image(struct hn_message *message, json_t *object, const struct hn_image *image,
                                    struct hn_error *err);
enum hn_status hn_message_get_image(const struct hn_message *message, const json_t *json, struct hn_image *image,
                                    struct hn_error *err);
/* One end of a socket pair that carries messages. Owns the descriptor; start with all zero but that. */
struct hn_channel {
    int fd; /* -1 when closed */
    char *input;
    size_t input_size;
    size_t input_capacity;
};

void hn_channel_finish(struct hn_channel *channel);

/* Blocks until all is written; HN_ERUN when the other end is gone. */
enum hn_status hn_channel_send(struct hn_channel *channel, const struct hn_message *message, struct hn_error *err);

enum hn_received { HN_RECEIVED_NOTHING, HN_RECEIVED_MESSAGE, HN_RECEIVED_CLOSED };

/* Takes the next message if it is there in whole (wait: blocks for it). CLOSED: the other end is gone, or what it sent
 * is no message (err says which). */
enum hn_received hn_channel_receive(struct hn_channel *channel, bool wait, struct hn_message *message,
                                    struct hn_error *err);

#endif
