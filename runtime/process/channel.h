/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PROCESS_CHANNEL_H
#define HONE_RUNTIME_PROCESS_CHANNEL_H

#include <stdbool.h>

#include "runtime/process/message.h"

/* One end of a socket pair that carries messages. Owns the descriptor. */
struct hn_channel {
    int fd; /* -1 when closed */
    char *input;
    size_t input_size;
    size_t input_capacity;
};

void hn_channel_init(struct hn_channel *channel, int fd);
void hn_channel_finish(struct hn_channel *channel);

/* Blocks until all is written; HN_ERUN when the other end is gone. */
enum hn_status hn_channel_send(struct hn_channel *channel, const struct hn_message *message, struct hn_error *err);

enum hn_received { HN_RECEIVED_NOTHING, HN_RECEIVED_MESSAGE, HN_RECEIVED_CLOSED };

/* Takes the next message if it is there in whole (wait: blocks for it). CLOSED: the other end is gone, or what it sent
 * is no message (err says which). */
enum hn_received hn_channel_receive(struct hn_channel *channel, bool wait, struct hn_message *message,
                                    struct hn_error *err);

#endif
