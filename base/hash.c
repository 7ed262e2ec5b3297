/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static struct hn_hash as_text(XXH128_hash_t value)
{
    struct hn_hash hash;
    snprintf(hash.hex, sizeof hash.hex, "%016llx%016llx", (unsigned long long)value.high64,
             (unsigned long long)value.low64);
    return hash;
}

struct hn_hash hn_hash_bytes(const void *bytes, size_t size)
{
    return as_text(XXH3_128bits(bytes, size));
}

uint64_t hn_hash_number(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

/* Not by a map of the file: a file that shrinks under one ends the process (SIGBUS). */
bool hn_hash_read(int fd, struct hn_hash *hash, uint64_t *size)
{
    char chunk[1 << 16];
    ssize_t got = -1;
    XXH3_state_t *state = XXH3_createState();
    bool ready = state != NULL && XXH3_128bits_reset(state) == XXH_OK;
    for (*size = 0; ready && (got = read(fd, chunk, sizeof chunk)) > 0; *size += (uint64_t)got)
        XXH3_128bits_update(state, chunk, (size_t)got);
    if (got == 0)
        *hash = as_text(XXH3_128bits_digest(state));
    XXH3_freeState(state);
    return got == 0;
}

struct hn_hash hn_hash_string(const char *string)
{
    return hn_hash_bytes(string, strlen(string));
}

struct hn_hash hn_hash_join(const struct hn_hash *a, const struct hn_hash *b)
{
    char both[64];
    memcpy(both, a->hex, 32);
    memcpy(both + 32, b->hex, 32);
    return hn_hash_bytes(both, sizeof both);
}
