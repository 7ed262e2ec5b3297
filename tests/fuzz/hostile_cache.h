/* SPDX-License-Identifier: MIT */
#ifndef HONE_FUZZ_HOSTILE_CACHE_H
#define HONE_FUZZ_HOSTILE_CACHE_H

#include "mutate.h"

/* A cache as somebody makes it who knows SQLite and Hone: a small one of base/idle.json, with plan, machine code and roofs,
 * measured here and imported, changed by a script. Bytes changed at random would nearly all end at a checksum. */

/* Each line of a script is SQL, or "#OFFSET BYTE", which writes a byte of the file; a line that SQLite refuses changes
 * nothing. A column takes what no STRICT table would. In the end the columns of records say what their JSON says (unless
 * a line is "!apart"), and each row has its checksum (unless one is "!unsealed"). The path, good until the next call. */
const char *fuzz_hostile_cache(const uint8_t *script, size_t size);

/* Another script: a line more, less or changed. The new size, at most `most`; 0: change its bytes. */
size_t fuzz_mutate_script(uint8_t *script, size_t size, size_t most, struct fuzz_random *random);

/* The first column of the first row, from the cache as it was before any script; NULL where there is none. Free it. */
char *fuzz_ask_base(const char *sql);

#endif
