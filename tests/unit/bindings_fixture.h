/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_BINDINGS_FIXTURE_H
#define HONE_TESTS_BINDINGS_FIXTURE_H

#include "base/bindings.h"
#include "tests/unit/unit.h"

static inline void release_bindings(struct hn_bindings *bindings)
{
    hn_bindings_finish(bindings);
    free(bindings);
}

/* "TILE=16,PAD=0", kept for the test. */
static inline struct hn_bindings *parsed(const char *text)
{
    struct hn_bindings *bindings = malloc(sizeof *bindings);
    assert_ok(hn_bindings_parse(text, bindings, NULL));
    return keep(bindings, release_bindings);
}

#endif
