/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_BINDINGS_FIXTURE_H
#define HONE_TESTS_BINDINGS_FIXTURE_H

#include "base/bindings.h"
#include "tests/unit/unit.h"

/* "TILE=16,PAD=0", kept for the test. */
static inline struct hn_bindings *parsed(const char *text)
{
    struct hn_bindings *bindings = keep_new(struct hn_bindings, hn_bindings_finish);
    assert_ok(hn_bindings_parse(text, bindings, &said));
    return bindings;
}

static inline void set(struct hn_bindings *bindings, const char *name, struct hn_value value)
{
    assert_ok(hn_bindings_set(bindings, name, &value, &said));
}

#endif
