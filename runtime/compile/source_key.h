/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_COMPILE_SOURCE_KEY_H
#define HONE_RUNTIME_COMPILE_SOURCE_KEY_H

#include <stdbool.h>

#include "base/hash.h"
#include "runtime/compile/source.h"

/* Sources of one key are one program: they differ at most in macros of the prelude that nothing of it reads, as those of
 * parameters that only the launch knows. A macro is read where its name is a word of the template or a file that it includes,
 * outside of comments, of entries, options or values. Where words may not tell all (headers of the toolkit or of a folder of the options,
 * which are not looked into, names that ## puts together, names that begin with an underscore, texts that compilers may
 * read in different ways) a macro counts as read. */
struct hn_source_key {
    struct hn_hash hash;
    bool leaves_out; /* a parameter is not read: other points have this key, too */
};

enum hn_status hn_source_key(const struct hn_source *source, const char *architecture, struct hn_source_key *key,
                             struct hn_error *err);

#endif
