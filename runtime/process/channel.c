/* SPDX-License-Identifier: MIT */
#include "runtime/process/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/run.h"

void hn_channel_init(struct hn_channel *channel, int fd)
{
    *channel = (struct hn_channel){.fd = fd};
}

void hn_channel_finish(struct hn_channel *channel)
{
    if (channel->fd >= 0)
        close(channel->fd);
    free(channel->input);
    *channel = (struct hn_channel){.fd = -1};
}

enum hn_status hn_channel_send(struct hn_channel *channel, const struct hn_message *message,
                               struct hn_error *err)
{
    char *frame;
    size_t size;
    enum hn_status status = hn_message_encode(message, &frame, &size, err);
    if (status != HN_OK)
        return status;
    for (size_t sent = 0; sent < size;) {
        ssize_t n = send(channel->fd, frame + sent, size - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR && hn_interrupted() == 0)
            continue;
        if (n < 0) {
            status = hn_fail(err, HN_ERUN, "a worker does not take messages: %s", strerror(errno));
            break;
        }
        sent += (size_t)n;
    }
    free(frame);
    return status;
}

/* The size of the frame at the start of the input, 0 when it is not known yet. */
static size_t frame_size(const struct hn_channel *channel)
{
    if (channel->input_size < 4)
        return 0;
    const unsigned char *at = (const unsigned char *)channel->input;
    return 4 + ((size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24);
}

static bool reserve(struct hn_channel *channel, size_t capacity)
{
    if (capacity <= channel->input_capacity)
        return true;
    char *input = realloc(channel->input, capacity);
    if (input == NULL)
        return false;
    channel->input = input;
    channel->input_capacity = capacity;
    return true;
}

/* Reads once; the buffer has room for what is known to come, else for a small message. */
static enum hn_received read_more(struct hn_channel *channel, bool wait, struct hn_error *err)
{
    size_t size = frame_size(channel);
    if (size > HN_MESSAGE_LIMIT + (size_t)4) {
        hn_fail(err, HN_EFORMAT, "a worker announced a message of %zu bytes", size - 4);
        return HN_RECEIVED_CLOSED;
    }
    if (!reserve(channel, size > 65536 ? size : 65536)) {
        hn_fail_memory(err);
        return HN_RECEIVED_CLOSED;
    }
    size_t room = channel->input_capacity - channel->input_size;
    ssize_t n =
        recv(channel->fd, channel->input + channel->input_size, room, wait ? 0 : MSG_DONTWAIT);
    if (n > 0) {
        channel->input_size += (size_t)n;
        return HN_RECEIVED_MESSAGE;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return HN_RECEIVED_NOTHING;
    hn_fail(err, HN_ERUN, "a worker ended");
    return HN_RECEIVED_CLOSED;
}

enum hn_received hn_channel_receive(struct hn_channel *channel, bool wait,
                                    struct hn_message *message, struct hn_error *err)
{
    for (;;) {
        size_t size = frame_size(channel);
        if (size > 0 && channel->input_size >= size) {
            enum hn_status status = hn_message_decode(channel->input + 4, size - 4, message, err);
            channel->input_size -= size;
            memmove(channel->input, channel->input + size, channel->input_size);
            return status == HN_OK ? HN_RECEIVED_MESSAGE : HN_RECEIVED_CLOSED;
        }
        enum hn_received received = read_more(channel, wait, err);
        if (received == HN_RECEIVED_CLOSED || (received == HN_RECEIVED_NOTHING && !wait))
            return received;
    }
}
