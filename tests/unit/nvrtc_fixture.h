/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_NVRTC_FIXTURE_H
#define HONE_TESTS_NVRTC_FIXTURE_H

#include "runtime/compile/compile.h"
#include "tests/unit/unit.h"

/* Open for one test, or all of a file; what is compiled by it is kept as long. */
static struct hn_nvrtc nvrtc;

static inline int open_nvrtc(void **state)
{
    (void)state;
    assert_ok(hn_nvrtc_open(&nvrtc, &said));
    keep(&nvrtc, hn_nvrtc_close);
    return 0;
}

static inline struct hn_image *compile_request(const struct hn_compile_request *request)
{
    struct hn_image *image = keep_new(struct hn_image, hn_image_finish);
    assert_ok(hn_compile(&nvrtc, request, image, &said));
    return image;
}

/* A program with one kernel; NULL stands behind the options, or for none. */
static inline struct hn_image *compile_text(const char *architecture, const char *name, const char *text,
                                            const char *entry, const char *const *options)
{
    struct hn_compile_request request = {.name = name, .text = text, .entries = &entry, .entry_count = 1,
                                         .options = options, .architecture = architecture};
    while (options != NULL && options[request.option_count] != NULL)
        request.option_count++;
    return compile_request(&request);
}

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
