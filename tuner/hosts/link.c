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

enum { BUCKETS = 16384 };

static struct hn_piece **bucket_of(const struct hn_known *known, const struct hn_hash *hash)
{
    return &known->buckets[hn_hash_number(hash->hex, sizeof hash->hex) % BUCKETS];
}

static void forget_oldest(struct hn_known *known)
{
    struct hn_piece *oldest = known->oldest;
    struct hn_piece **at = bucket_of(known, &oldest->hash);
    while (*at != oldest)
        at = &(*at)->next;
    *at = oldest->next;
    known->oldest = oldest->younger;
    known->size -= oldest->size;
    free(oldest->data);
    free(oldest);
}

static void finish_known(struct hn_known *known)
{
    while (known->oldest != NULL)
        forget_oldest(known);
    free(known->buckets);
    *known = (struct hn_known){.buckets = NULL};
}

/* It is not there yet. */
static void add_known(struct hn_known *known, const struct hn_hash *hash, const void *data,
                      size_t size)
{
    if (known->buckets == NULL)
        known->buckets = hn_need(BUCKETS, sizeof *known->buckets);
    struct hn_piece *piece = hn_need(1, sizeof *piece);
    char *own = hn_need(size, 1);
    struct hn_piece **bucket = bucket_of(known, hash);
    memcpy(own, data, size);
    *piece = (struct hn_piece){*hash, own, size, known->added, *bucket, NULL};
    *bucket = piece;
    if (known->oldest == NULL)
        known->oldest = piece;
    else
        known->youngest->younger = piece;
    known->youngest = piece;
    known->size += size;
    known->added += size;
    while (known->size > HN_KNOWN_MOST)
        forget_oldest(known);
}

/* NULL: it is not there, or no longer. */
static const struct hn_piece *find_known(const struct hn_known *known, const struct hn_hash *hash)
{
    const struct hn_piece *piece = known->buckets != NULL ? *bucket_of(known, hash) : NULL;
    while (piece != NULL && memcmp(piece->hash.hex, hash->hex, sizeof hash->hex) != 0)
        piece = piece->next;
    return piece;
}

/* How much of the data is its first piece, HN_PIECE_MOST at most: the end depends on the bytes
 * before it alone, so that what is the same is cut the same wherever it stands. 0: its end is not
 * there. */
static size_t piece_size(const char *data, size_t size)
{
    const uint64_t factor = 0x9E3779B97F4A7C15ull;
    uint64_t rolling = 0;
    size_t most = size < HN_PIECE_MOST ? size : HN_PIECE_MOST;
    /* A byte has left the number 64 bytes later. One place in 512 is an end. */
    for (size_t i = HN_PIECE_LEAST - 64; i < most; i++) {
        rolling = (rolling << 1) + ((unsigned char)data[i] + 1u) * factor;
        if (i + 1 >= HN_PIECE_LEAST && rolling >> 55 == 0)
            return i + 1;
    }
    return most == HN_PIECE_MOST ? most : 0;
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
    hn_bytes_finish(&link->named);
    finish_known(&link->sent);
    finish_known(&link->received);
    *link = (struct hn_link){.in = -1, .out = -1};
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "heads of frames are sent as they are");

static void put_frames(struct hn_link *link, enum hn_link_kind kind, uint32_t worker,
                       const char *at, size_t size)
{
    do {
        size_t part = size < HN_LINK_CHUNK ? size : HN_LINK_CHUNK;
        const uint32_t head[] = {(uint32_t)part, worker, (uint32_t)kind};
        hn_bytes_append(&link->output, head, sizeof head);
        hn_bytes_append(&link->output, at, part);
        at = part > 0 ? at + part : at;
        size -= part;
    } while (size > 0);
}

enum { DIGITS = 32 };

/* Names of pieces that wait for one frame. */
struct names {
    char text[HN_LINK_NAMES * DIGITS];
    size_t count;
};

static void put_names(struct hn_link *link, uint32_t worker, struct names *names)
{
    if (names->count > 0)
        put_frames(link, HN_LINK_NAMED, worker, names->text, names->count * DIGITS);
    names->count = 0;
}

static bool is_known(const struct hn_link *link, const struct hn_hash *hash)
{
    const struct hn_known *known = &link->received;
    const struct hn_piece *received = find_known(known, hash);
    /* The other end, which may have added more by now, knows what was added last, too. */
    return find_known(&link->sent, hash) != NULL ||
           (received != NULL && known->added - received->at <= HN_KNOWN_MOST / 4);
}

static void put_piece(struct hn_link *link, uint32_t worker, struct names *names, const char *data,
                      size_t size)
{
    struct hn_hash hash = hn_hash_bytes(data, size);
    if (is_known(link, &hash)) {
        memcpy(names->text + names->count++ * DIGITS, hash.hex, DIGITS);
        if (names->count == HN_LINK_NAMES)
            put_names(link, worker, names);
        return;
    }
    put_names(link, worker, names);
    add_known(&link->sent, &hash, data, size);
    put_frames(link, HN_LINK_PIECE, worker, data, size);
}

static void put_data(struct hn_link *link, uint32_t worker, const char *data, size_t size)
{
    struct names names = {.count = 0};
    size_t piece;
    while ((piece = piece_size(data, size)) > 0) {
        put_piece(link, worker, &names, data, piece);
        data += piece;
        size -= piece;
    }
    put_names(link, worker, &names);
    if (size > 0)
        put_frames(link, HN_LINK_DATA, worker, data, size);
}

void hn_link_put(struct hn_link *link, enum hn_link_kind kind, uint32_t worker, const void *data,
                 size_t size)
{
    link->said_ms = hn_now_ms();
    if (kind == HN_LINK_DATA)
        put_data(link, worker, data, size);
    else
        put_frames(link, kind, worker, data, size);
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

/* Finds pieces that the other end sent before, or this one. */
static bool resolve(struct hn_link *link, struct hn_link_frame *frame)
{
    struct hn_hash hash = {.hex = ""};
    if (frame->size == 0 || frame->size % DIGITS != 0 || frame->size / DIGITS > HN_LINK_NAMES)
        return false;
    link->named.start = link->named.end = 0;
    for (size_t at = 0; at < frame->size; at += DIGITS) {
        memcpy(hash.hex, frame->data + at, DIGITS);
        const struct hn_piece *piece = find_known(&link->received, &hash);
        piece = piece != NULL ? piece : find_known(&link->sent, &hash);
        if (piece == NULL)
            return false;
        hn_bytes_append(&link->named, piece->data, piece->size);
    }
    frame->data = link->named.data;
    frame->size = hn_bytes_size(&link->named);
    return true;
}

static bool learn(struct hn_link *link, const struct hn_link_frame *frame)
{
    struct hn_hash hash = hn_hash_bytes(frame->data, frame->size);
    if (frame->size < HN_PIECE_LEAST || frame->size > HN_PIECE_MOST)
        return false;
    if (find_known(&link->received, &hash) == NULL)
        add_known(&link->received, &hash, frame->data, frame->size);
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
    bool fine =
        kind == HN_LINK_PIECE ? learn(link, frame) : kind != HN_LINK_NAMED || resolve(link, frame);
    if (kind == HN_LINK_PIECE || kind == HN_LINK_NAMED)
        frame->kind = HN_LINK_DATA;
    return fine ? HN_LINK_FRAME : HN_LINK_BROKEN;
}
