/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_WARNING_H
#define HONE_CACHE_RECORD_WARNING_H

#include "base/schema.h"
#include "base/text.h"

/* What the device's compiler says that costs speed: X(identifier, name, meaning). The names are written to caches and
 * files: never change one. Sets of them are bits, 1 << identifier. */
#define HN_WARNINGS(X)                                                                                                 \
    X(HN_WARNING_SERIALISED, "serialised", "wgmma instructions wait for one another")                                  \
    X(HN_WARNING_INJECTED, "injected", "the compiler put waits or fences of its own among wgmma instructions")         \
    X(HN_WARNING_SETMAXNREG, "setmaxnreg_ignored", "setmaxnreg has no effect")                                         \
    X(HN_WARNING_OTHER, "performance_loss", "another loss of performance that the compiler's log tells of")            \
    X(HN_WARNING_SPILLS, "spills", "registers are spilled to memory")

enum hn_warning {
#define X(identifier, name, meaning) identifier,
    HN_WARNINGS(X)
#undef X
        HN_WARNING_COUNT
};

extern const char *const hn_warning_names[HN_WARNING_COUNT];
const char *hn_warning_meaning(enum hn_warning warning);

/* "serialised, injected"; nothing of none. */
void hn_warnings_append(struct hn_text *text, unsigned warnings);

/* An `unsigned` with a set of them, in JSON a list of names, which is not there for none. Names that are not known, as of a
 * newer Hone, are left out. */
extern const struct hn_field_own hn_warnings_field;

#endif
