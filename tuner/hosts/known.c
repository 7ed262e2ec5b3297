/* SPDX-License-Identifier: MIT */
#include "tuner/hosts/known.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 16384 };

static size_t bucket_of(const struct hn_hash *hash)
{
    uint64_t number = 14695981039346656037ull;
    for (int i = 0; i < 8; i++)
        number = (number ^ (unsigned char)hash->hex[i]) * 1099511628211ull;
    return (size_t)(number % BUCKETS);
}

static void forget_oldest(struct hn_known *known)
{
    struct hn_piece *oldest = known->oldest;
    struct hn_piece **at = &known->buckets[bucket_of(&oldest->hash)];
    while (*at != oldest)
        at = &(*at)->next;
    *at = oldest->next;
    known->oldest = oldest->younger;
    known->size -= oldest->size;
    free(oldest->data);
    free(oldest);
}

void hn_known_finish(struct hn_known *known)
{
    while (known->oldest != NULL)
        forget_oldest(known);
    free(known->buckets);
    *known = (struct hn_known){.buckets = NULL};
}

bool hn_known_add(struct hn_known *known, const struct hn_hash *hash, const void *data, size_t size)
{
    if (known->buckets == NULL)
        known->buckets = calloc(BUCKETS, sizeof *known->buckets);
    struct hn_piece *piece = calloc(1, sizeof *piece);
    char *own = malloc(size + 1);
    if (known->buckets == NULL || piece == NULL || own == NULL) {
        free(piece);
        free(own);
        return false;
    }
    struct hn_piece **bucket = &known->buckets[bucket_of(hash)];
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
    return true;
}

const struct hn_piece *hn_known_find(const struct hn_known *known, const struct hn_hash *hash)
{
    const struct hn_piece *piece = known->buckets != NULL ? known->buckets[bucket_of(hash)] : NULL;
    while (piece != NULL && memcmp(piece->hash.hex, hash->hex, sizeof hash->hex) != 0)
        piece = piece->next;
    return piece;
}

bool hn_known_is_recent(const struct hn_known *known, const struct hn_piece *piece)
{
    return known->added - piece->at <= HN_KNOWN_MOST / 4;
}

size_t hn_piece_size(const char *data, size_t size)
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
