/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

struct hn_hash hn_hash_bytes(const void *bytes, size_t size)
{
    XXH128_hash_t value = XXH3_128bits(bytes, size);
    struct hn_hash hash;
    snprintf(hash.hex, sizeof hash.hex, "%016llx%016llx", (unsigned long long)value.high64,
             (unsigned long long)value.low64);
    return hash;
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
