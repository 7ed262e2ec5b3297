/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_HASH_H
#define HONE_BASE_HASH_H

#include <stddef.h>

/* A content hash (XXH3, 128 bits) as 32 hexadecimal digits. */
struct hn_hash {
    char hex[33];
};

struct hn_hash hn_hash_bytes(const void *bytes, size_t size);
struct hn_hash hn_hash_string(const char *string);
/* The hash of two hashes, in order. */
struct hn_hash hn_hash_join(const struct hn_hash *a, const struct hn_hash *b);

#endif
