/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_FILE_FIXTURE_H
#define HONE_TESTS_FILE_FIXTURE_H

#include "tests/unit/unit.h"
#include "base/file.h"
#include "base/text.h"

/* A file of the test program's own, for cmocka_run_group_tests(tests, make_file, remove_file). */
static char path[] = "/tmp/hone-test-XXXXXX";

static inline int make_file(void **state)
{
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static inline int remove_file(void **state)
{
    return unlink(path);
}

static inline void write_text(const char *text)
{
    assert_ok(hn_file_write(path, text, strlen(text), NULL));
}

#endif
