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

/* A program, by what there is of it. */
struct request {
    enum hn_compiler compiler;
    const char *name, *text, *architecture;
    const struct hn_text_file *includes;
    size_t include_count;
    const char *const *entries;
    size_t entry_count;
    const char *const *options;
    size_t option_count;
};

static inline enum hn_status compile_into(const struct request *request, struct hn_image *image)
{
    struct hn_text_file files[8] = {{(char *)request->name, (char *)request->text}};
    const struct hn_template template = {.files = files, .file_count = 1 + request->include_count};
    const struct hn_source source = {.template = &template,
                                     .compiler = request->compiler,
                                     .text = (char *)request->text,
                                     .entries = (char **)request->entries,
                                     .entry_count = request->entry_count,
                                     .options = (char **)request->options,
                                     .option_count = request->option_count};
    for (size_t i = 0; i < request->include_count; i++)
        files[i + 1] = request->includes[i];
    return hn_compile(&nvrtc, &source, request->architecture, image, &said);
}

static inline struct hn_image *compile_request(const struct request *request)
{
    struct hn_image *image = keep_new(struct hn_image, hn_image_finish);
    assert_ok(compile_into(request, image));
    return image;
}

/* A program with one kernel; NULL stands behind the options, or for none. */
static inline struct hn_image *compile_text(const char *architecture, const char *name, const char *text,
                                            const char *entry, const char *const *options)
{
    struct request request = {.name = name, .text = text, .entries = &entry, .entry_count = 1,
                                         .options = options, .architecture = architecture};
    while (options != NULL && options[request.option_count] != NULL)
        request.option_count++;
    return compile_request(&request);
}

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
