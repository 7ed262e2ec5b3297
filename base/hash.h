/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_HASH_H
#define HONE_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A content hash (XXH3, 128 bits) as 32 hexadecimal digits. */
struct hn_hash {
    char hex[33];
};

struct hn_hash hn_hash_bytes(const void *bytes, size_t size);
/* One of 64 bits, for tables in memory. */
uint64_t hn_hash_number(const void *bytes, size_t size);
/* Of all that is left to read there, *size bytes. False, and errno. */
bool hn_hash_read(int fd, struct hn_hash *hash, uint64_t *size);
struct hn_hash hn_hash_string(const char *string);
/* The hash of two hashes, in order. */
struct hn_hash hn_hash_join(const struct hn_hash *a, const struct hn_hash *b);

#endif
