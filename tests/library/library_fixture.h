/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_LIBRARY_FIXTURE_H
#define HONE_TESTS_LIBRARY_FIXTURE_H

#include <stdbool.h>

#include <hone.h>

#include "tests/unit/unit.h"

/* Tests of libhone as a program sees it: hone.h, the driver, and a cache that tests/library/test_library.py tuned from
 * the configs of tests/data/double.txt ($HONE_TEST_CACHE). */

#define CHECK_CUDA(call) assert_int_equal(call, CUDA_SUCCESS)

/* Shows the message of what was to go well. */
static inline void expect_ok(enum hone_status status, const struct hone_error *err)
{
    if (status != HONE_OK)
        print_error("%s: %s\n", hone_status_name(status), err->message);
    assert_int_equal(status, HONE_OK);
}

/* The status and a part of its message. */
static inline void expect_failure(enum hone_status status, enum hone_status expected, const struct hone_error *err,
                                  const char *part)
{
    if (status != expected)
        print_error("found %s: %s\n", hone_status_name(status), err->message);
    assert_string_equal(hone_status_name(status), hone_status_name(expected));
    if (strstr(err->message, part) == NULL)
        print_error("found \"%s\", expected a message with \"%s\"\n", err->message, part);
    assert_non_null(strstr(err->message, part));
}

static inline struct hone_cache *open_cache(void)
{
    struct hone_cache *cache = NULL;
    struct hone_error err = {.message = ""};
    expect_ok(hone_open(getenv("HONE_TEST_CACHE"), &cache, &err), &err);
    return cache;
}

static inline struct hone_kernel *get_kernel(struct hone_cache *cache, const char *name, const char *size, int64_t n,
                                             const struct hone_options *options)
{
    const struct hone_value problem[] = {hone_integer(size, n)};
    struct hone_kernel *kernel = NULL;
    struct hone_error err = {.message = ""};
    expect_ok(hone_get(cache, name, problem, 1, options, &kernel, &err), &err);
    assert_non_null(kernel);
    return kernel;
}

static inline CUdeviceptr new_buffer(const void *contents, size_t bytes)
{
    CUdeviceptr buffer = 0;
    CHECK_CUDA(cuMemAlloc(&buffer, bytes));
    if (contents != NULL)
        CHECK_CUDA(cuMemcpyHtoD(buffer, contents, bytes));
    return buffer;
}

#endif
