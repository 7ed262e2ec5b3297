/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_HOSTS_HOSTS_PART_H
#define HONE_TUNER_HOSTS_HOSTS_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tuner/hosts/hosts.h"

/* What the files of the room share. */

/* A link carries the channels of many workers, and what they print, over the two streams of one launcher. It knows nothing of
 * their messages: bytes go in at one end and come out at the other. On the wire, little-endian: u32 size of the bytes, at most
 * HN_LINK_CHUNK; u32 number of the worker; u32 kind; the bytes. It never blocks: both ends poll. */
enum { HN_LINK_CHUNK = 65536, HN_LINK_HEAD = 12 };

enum hn_link_kind {
    HN_LINK_BEAT,   /* there is nothing to say, and somebody to say it */
    HN_LINK_START,  /* to a host: a worker of the role in the bytes */
    HN_LINK_END,    /* to a host: it is of no more use */
    HN_LINK_DATA,   /* its channel */
    HN_LINK_OUTPUT, /* from a host: what it printed */
    HN_LINK_ENDED,  /* from a host: i32, the status of waitpid() */
    HN_LINK_FILE,   /* to a host: it will be asked for the file of this hash, 32 digits, which is at the path behind it */
    HN_LINK_HAS,    /* from a host, to each of these: one byte, whether it has it already */
    HN_LINK_PART,   /* to a host that has not: some of the file; none: that was all */
    HN_LINK_KINDS,
};

/* Both ends say something so often, and take the other for lost that was silent for so long. */
#define HN_LINK_BEAT_MS 2e3
#define HN_LINK_SILENCE_MS 8e3

/* At either end: a message is 64 MiB at most, and a worker that has more to say than anybody takes is ended; nothing is taken for the
 * connection while so much waits for it. */
enum { HN_PENDING_MOST = 160 << 20, HN_QUEUED_MOST = 8 << 20 };

/* Bytes that wait: [start, end) of data. */
struct hn_bytes {
    char *data;
    size_t start, end, capacity;
};

void hn_bytes_finish(struct hn_bytes *bytes);
size_t hn_bytes_size(const struct hn_bytes *bytes);
void hn_bytes_append(struct hn_bytes *bytes, const void *data, size_t size);
/* Writes what the descriptor takes now; false when it is closed. */
bool hn_bytes_write(struct hn_bytes *bytes, int fd);

struct hn_link {
    int in, out; /* both -1: closed */
    struct hn_bytes input, output;
    double heard_ms, said_ms; /* as hn_now_ms */
};

struct hn_link_frame {
    enum hn_link_kind kind;
    uint32_t worker;
    const char *data; /* until the next call */
    size_t size; /* HN_LINK_CHUNK at most */
};

/* Takes the descriptors over and makes them non-blocking. */
void hn_link_init(struct hn_link *link, int in, int out);
void hn_link_finish(struct hn_link *link);

/* Queues it, in as many frames as it takes. */
void hn_link_put(struct hn_link *link, enum hn_link_kind kind, uint32_t worker, const void *data, size_t size);
/* Queues what is there to be read of a worker's channel, as far as there is room; false when the channel is closed. */
bool hn_link_forward(struct hn_link *link, uint32_t worker, int fd);
/* A beat, if nothing was said for long. */
void hn_link_beat(struct hn_link *link, double now_ms);
/* Reads what is there; false when the other end is gone. */
bool hn_link_read(struct hn_link *link);

enum hn_link_next { HN_LINK_NOTHING, HN_LINK_FRAME, HN_LINK_BROKEN };
/* The next whole frame of what was read. BROKEN: what came is none. */
enum hn_link_next hn_link_next(struct hn_link *link, struct hn_link_frame *frame);

/* The first words of a host's agent: a line, so that it is found behind what launchers and shells print, and can be read by whatever
 * Hone is at the other end.
 *
 *     hone-node protocol=4 build=0.1.0 host=gpu7 compile=16 gpus=4 */
struct hn_greeting {
    char host[64];
    int compile; /* workers that the machine allows */
    int gpus;    /* that the driver has */
};

/* With the newline before and behind it; protocol and build are this Hone's. */
void hn_greeting_write(const struct hn_greeting *greeting, char text[256]);

/* Looks for it: *size is how many bytes come before it, *length its own. HN_ENOTFOUND: it is not there yet. HN_ERUN: it is of
 * another Hone, or is none. */
enum hn_status hn_greeting_find(const char *text, size_t limit, struct hn_greeting *greeting, size_t *size, size_t *length,
                                struct hn_error *err);

#endif
