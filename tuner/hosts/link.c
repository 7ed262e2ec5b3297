/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"
#include "tuner/hosts/hosts_part.h"

void hn_bytes_finish(struct hn_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct hn_bytes){0};
}

size_t hn_bytes_size(const struct hn_bytes *bytes)
{
    return bytes->end - bytes->start;
}

/* Room for `size` more behind the end. */
static void make_room(struct hn_bytes *bytes, size_t size)
{
    size_t kept = hn_bytes_size(bytes);
    if (bytes->capacity - bytes->end >= size)
        return;
    if (bytes->start > 0)
        memmove(bytes->data, bytes->data + bytes->start, kept);
    bytes->start = 0;
    bytes->end = kept;
    if (bytes->capacity - kept >= size)
        return;
    bytes->capacity = kept + size + kept / 2;
    bytes->data = hn_need_more(bytes->data, bytes->capacity, 1);
}

void hn_bytes_append(struct hn_bytes *bytes, const void *data, size_t size)
{
    if (size == 0)
        return;
    make_room(bytes, size);
    memcpy(bytes->data + bytes->end, data, size);
    bytes->end += size;
}

static bool is_later(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

bool hn_bytes_write(struct hn_bytes *bytes, int fd)
{
    while (hn_bytes_size(bytes) > 0) {
        ssize_t n = write(fd, bytes->data + bytes->start, hn_bytes_size(bytes));
        if (n < 0)
            return is_later();
        bytes->start += (size_t)n;
    }
    /* A buffer that was large once need not stay so. */
    if (bytes->capacity > (size_t)4 * HN_LINK_CHUNK)
        hn_bytes_finish(bytes);
    bytes->start = bytes->end = 0;
    return true;
}

void hn_link_init(struct hn_link *link, int in, int out)
{
    double now = hn_now_ms();
    *link = (struct hn_link){.in = in, .out = out, .heard_ms = now, .said_ms = now};
    fcntl(in, F_SETFL, O_NONBLOCK);
    fcntl(out, F_SETFL, O_NONBLOCK);
}

void hn_link_finish(struct hn_link *link)
{
    if (link->in >= 0)
        close(link->in);
    if (link->out >= 0 && link->out != link->in)
        close(link->out);
    hn_bytes_finish(&link->input);
    hn_bytes_finish(&link->output);
    *link = (struct hn_link){.in = -1, .out = -1};
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "heads of frames are sent as they are");

void hn_link_put(struct hn_link *link, enum hn_link_kind kind, uint32_t worker, const void *data,
                 size_t size)
{
    const char *at = data;
    link->said_ms = hn_now_ms();
    do {
        size_t part = size < HN_LINK_CHUNK ? size : HN_LINK_CHUNK;
        const uint32_t head[] = {(uint32_t)part, worker, (uint32_t)kind};
        hn_bytes_append(&link->output, head, sizeof head);
        hn_bytes_append(&link->output, at, part);
        at = part > 0 ? at + part : at;
        size -= part;
    } while (size > 0);
}

void hn_link_beat(struct hn_link *link, double now_ms)
{
    if (now_ms - link->said_ms >= HN_LINK_BEAT_MS && hn_bytes_size(&link->output) == 0)
        hn_link_put(link, HN_LINK_BEAT, 0, NULL, 0);
}

bool hn_link_forward(struct hn_link *link, uint32_t worker, int fd)
{
    char data[HN_LINK_CHUNK];
    while (hn_bytes_size(&link->output) < HN_QUEUED_MOST) {
        ssize_t n = recv(fd, data, sizeof data, MSG_DONTWAIT);
        if (n <= 0)
            return n < 0 && is_later();
        hn_link_put(link, HN_LINK_DATA, worker, data, (size_t)n);
        if ((size_t)n < sizeof data)
            break;
    }
    return true;
}

bool hn_link_read(struct hn_link *link)
{
    make_room(&link->input, HN_LINK_CHUNK);
    ssize_t n = read(link->in, link->input.data + link->input.end, HN_LINK_CHUNK);
    if (n <= 0)
        return n < 0 && is_later();
    link->input.end += (size_t)n;
    link->heard_ms = hn_now_ms();
    return true;
}

enum hn_link_next hn_link_next(struct hn_link *link, struct hn_link_frame *frame)
{
    struct hn_bytes *input = &link->input;
    if (hn_bytes_size(input) < HN_LINK_HEAD)
        return HN_LINK_NOTHING;
    uint32_t head[HN_LINK_HEAD / 4];
    memcpy(head, input->data + input->start, sizeof head);
    const uint32_t size = head[0], kind = head[2];
    if (size > HN_LINK_CHUNK || kind >= HN_LINK_KINDS)
        return HN_LINK_BROKEN;
    if (hn_bytes_size(input) < HN_LINK_HEAD + size)
        return HN_LINK_NOTHING;
    *frame = (struct hn_link_frame){.kind = (enum hn_link_kind)kind,
                                    .worker = head[1],
                                    .data = input->data + input->start + HN_LINK_HEAD,
                                    .size = size};
    input->start += HN_LINK_HEAD + size;
    return HN_LINK_FRAME;
}
