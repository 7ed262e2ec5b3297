/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_UNIT_H
#define HONE_TESTS_UNIT_H

/* cmocka with what it needs before it, and the headers of C that most tests use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "tests/unit/ended.h"

/* A test is TEST(a_sentence_that_holds) and its body. Before main the tests of a file and its fixtures register
 * themselves under the name of the file; unit.c runs them in their order. set_up gets `state` as cmocka's do; NULL:
 * nothing to do. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
/* One with fixtures of its own. */
#define TEST_WITH(name, set_up, tear_down)                                                              \
    static void name(void **state);                                                                     \
    UNIT_BEFORE_MAIN(name)                                                                              \
    {                                                                                                   \
        unit_add(__BASE_FILE__, &(struct CMUnitTest){#name, name, set_up, tear_down, NULL});            \
    }                                                                                                   \
    static void name(void **state)
/* Fixtures of each test of the file that has none, and of all of them together. */
#define EACH_TEST(set_up, tear_down) UNIT_BEFORE_MAIN(each) { unit_each(__BASE_FILE__, set_up, tear_down); }
#define ALL_TESTS(set_up, tear_down) UNIT_BEFORE_MAIN(all) { unit_all(__BASE_FILE__, set_up, tear_down); }
/* The tests of the file are skipped where this function finds nothing. */
#define ONLY_WHERE(is_found) UNIT_BEFORE_MAIN(only) { unit_only_where(__BASE_FILE__, is_found); }
/* A function that runs as a process of its own, which tests start: this program with the function's name as
 * argument. */
#define PROCESS(name)                                                   \
    static int name(void);                                              \
    UNIT_BEFORE_MAIN(name) { unit_process(#name, name); }               \
    static int name(void)

/* An object that the test needs no longer than it lasts: keep() returns it, and it is released when the test ends,
 * also where it fails, the last one first (of the fixture of all tests: behind the last test); drop() releases it
 * now. NULL is nothing to release. */
#define keep(object, release) unit_keep(object, (void (*)(void *))(release))
#define drop(object) unit_drop(object)
/* A new one of that type, of zeros, which is kept: release() finishes it, and its memory is freed behind that. */
#define keep_new(type, release) ((type *)unit_keep_new(sizeof(type), (void (*)(void *))(release)))

/* The path of a folder of the test's own, which is removed with all in it as what is kept. */
const char *own_folder(void);

/* For the last argument of calls: what one of them left behind. */
extern struct hn_error said;
/* Fails the test, with &said where it has a message, when a call did not end well. */
void assert_ok(enum hn_status status);
/* A call with &said is to end with this status, and to say this or something with this in it. */
void assert_error(enum hn_status status, enum hn_status expected, const char *message);
void assert_mentions(enum hn_status status, enum hn_status expected, const char *part);

/* The text with the first such part, which it has, replaced: kept. */
char *replaced(const char *text, const char *part, const char *with);

/* The next of a list of texts, which "; " separates: kept, NULL behind the last one. */
char *next_text(const char **list);

#define UNIT_BEFORE_MAIN(name) static void __attribute__((constructor)) unit_register_##name(void)
void unit_add(const char *file, const struct CMUnitTest *test);
void unit_each(const char *file, CMFixtureFunction set_up, CMFixtureFunction tear_down);
void unit_all(const char *file, CMFixtureFunction set_up, CMFixtureFunction tear_down);
void unit_only_where(const char *file, int (*is_found)(void));
void unit_process(const char *name, int (*run)(void));
void *unit_keep(void *object, void (*release)(void *));
void *unit_keep_new(size_t size, void (*release)(void *));
void unit_drop(void *object);

#endif
