/* SPDX-License-Identifier: MIT */
#ifndef HONE_FUZZ_FUZZ_H
#define HONE_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tests/unit/ended.h"

/* Each target defines it: hands one input to the reader under test, and aborts where what came out does not hold.
 * libFuzzer calls it, or main of driver.c. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libFuzzer's own mutator, and one of a target, which it calls instead: mutator_*.c. The new size, at most `most`. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

/* For readers that take a path: a file of this process alone, written anew. The path stays good; the files go when the
 * process exits. */
const char *fuzz_write_file(const char *name, const uint8_t *data, size_t size);

/* Aborts with the text, also where assert is compiled out. */
void fuzz_require(int holds, const char *what);
/* Whether a call went well; where not, it left a message. */
bool fuzz_fine(enum hn_status status, const struct hn_error *err);

#endif
