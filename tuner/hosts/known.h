/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_HOSTS_KNOWN_H
#define HONE_TUNER_HOSTS_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* What went over a connection in one direction and is still known at both ends, so that an image, or the text of a template, travels once:
 * pieces, the oldest forgotten first. Whoever adds the same pieces in the same order knows the same. */
enum {
    HN_PIECE_LEAST = 128,
    HN_PIECE_MOST = 4096,
    HN_KNOWN_MOST = 16 << 20, /* bytes */
};

struct hn_piece {
    struct hn_hash hash;
    char *data;
    size_t size;
    uint64_t at; /* bytes added before it */
    struct hn_piece *next; /* of the same bucket */
    struct hn_piece *younger;
};

struct hn_known {
    struct hn_piece **buckets; /* NULL: nothing was added yet */
    struct hn_piece *oldest;
    struct hn_piece *youngest;
    size_t size;
    uint64_t added;
};

void hn_known_finish(struct hn_known *known);
/* Of one that is not there. False: no memory. */
bool hn_known_add(struct hn_known *known, const struct hn_hash *hash, const void *data, size_t size);
/* NULL: it is not there, or no longer. */
const struct hn_piece *hn_known_find(const struct hn_known *known, const struct hn_hash *hash);
/* Among what was added last: the other end, which may have added more by now, knows it too. */
bool hn_known_is_recent(const struct hn_known *known, const struct hn_piece *piece);

/* How much of the data is its first piece, HN_PIECE_MOST at most: the end depends on the bytes before it alone, so that what is the same is cut
 * the same wherever it stands. 0: its end is not there. */
size_t hn_piece_size(const char *data, size_t size);

#endif
