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

static inline void close_cache(struct hone_cache *cache)
{
    hone_close(cache);
}

/* Until the test ends. */
static inline struct hone_cache *open_at(const char *path)
{
    struct hone_cache *cache = NULL;
    struct hone_error err = {.message = ""};
    expect_ok(hone_open(path, &cache, &err), &err);
    return keep(cache, close_cache);
}

static inline struct hone_cache *open_cache(void)
{
    return open_at(getenv("HONE_TEST_CACHE"));
}

static inline struct hone_kernel *get(struct hone_cache *cache, const char *name, const struct hone_value *problem,
                                      size_t count, const struct hone_options *options)
{
    struct hone_kernel *kernel = NULL;
    struct hone_error err = {.message = ""};
    expect_ok(hone_get(cache, name, problem, count, options, &kernel, &err), &err);
    assert_non_null(kernel);
    return kernel;
}

static inline struct hone_kernel *get_kernel(struct hone_cache *cache, const char *name, const char *size, int64_t n,
                                             const struct hone_options *options)
{
    return get(cache, name, (const struct hone_value[]){hone_integer(size, n)}, 1, options);
}

static inline void expect_no_kernel(struct hone_cache *cache, const char *name, const struct hone_value *problem,
                                    size_t count, const struct hone_options *options, enum hone_status expected,
                                    const char *part)
{
    struct hone_kernel *kernel = NULL;
    struct hone_error err = {.message = ""};
    expect_failure(hone_get(cache, name, problem, count, options, &kernel, &err), expected, &err, part);
    assert_null(kernel);
}

static inline void launch_ok(struct hone_kernel *kernel, CUstream stream, const struct hone_argument *arguments,
                             size_t count)
{
    struct hone_error err = {.message = ""};
    expect_ok(hone_launch(kernel, stream, arguments, count, &err), &err);
}

static inline void expect_no_launch(struct hone_kernel *kernel, CUstream stream, const struct hone_argument *arguments,
                                    size_t count, const char *part)
{
    struct hone_error err = {.message = ""};
    expect_failure(hone_launch(kernel, stream, arguments, count, &err), HONE_INVALID, &err, part);
}

static inline void free_buffer(void *buffer)
{
    CHECK_CUDA(cuMemFree((CUdeviceptr)(uintptr_t)buffer));
}

/* Until the test ends. */
static inline CUdeviceptr new_buffer(const void *contents, size_t bytes)
{
    CUdeviceptr buffer = 0;
    CHECK_CUDA(cuMemAlloc(&buffer, bytes));
    if (contents != NULL)
        CHECK_CUDA(cuMemcpyHtoD(buffer, contents, bytes));
    keep((void *)(uintptr_t)buffer, free_buffer);
    return buffer;
}

/* A program, whose own calls may be the ones that fail: two buffers, the first with these contents. */
static inline bool start_program(const void *contents, size_t bytes, CUdeviceptr *x, CUdeviceptr *y)
{
    CUcontext context;
    *x = *y = 0;
    return cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
           cuCtxSetCurrent(context) == CUDA_SUCCESS && cuMemAlloc(x, bytes) == CUDA_SUCCESS &&
           cuMemAlloc(y, bytes) == CUDA_SUCCESS && cuMemcpyHtoD(*x, contents, bytes) == CUDA_SUCCESS;
}

static inline void end_program(CUdeviceptr x, CUdeviceptr y)
{
    if (x != 0)
        cuMemFree(x);
    if (y != 0)
        cuMemFree(y);
    cuDevicePrimaryCtxRelease(0);
}

/* When all that was launched has ended. */
static inline void fetch(void *to, CUdeviceptr from, size_t bytes)
{
    CHECK_CUDA(cuCtxSynchronize());
    CHECK_CUDA(cuMemcpyDtoH(to, from, bytes));
}

#endif
