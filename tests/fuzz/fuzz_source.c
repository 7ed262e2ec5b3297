/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tuner/init/draft.h"

/* A CUDA source, whole or torn, as `hone init` reads it. */

static void draft_kernel(const struct hn_source_text *source, const struct hn_kernel *kernel)
{
    struct hn_macros macros;
    struct hn_draft draft;
    struct hn_error err = {""};
    fuzz_require(kernel->body <= kernel->end && kernel->end <= source->length,
                 "a body is part of its source");
    fuzz_require(hn_macros_find(source, &macros, &err) == HN_OK, "there is memory");
    fuzz_require(hn_macros_add_undefined(source, &macros, &err) == HN_OK, "there is memory");
    if (hn_draft_make(source, kernel, &macros, &draft, &err) == HN_OK) {
        char *text = hn_draft_write(&draft, "kernel.cu", "kernel.cu");
        fuzz_require(text != NULL, "a draft has a text");
        free(text);
        hn_draft_finish(&draft);
    } else {
        fuzz_require(err.message[0] != '\0', "a failure has a message");
    }
    hn_macros_finish(&macros);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hn_source_text source;
    struct hn_kernels kernels;
    struct hn_error err = {""};
    char *text = strndup((const char *)data, size);
    fuzz_require(text != NULL, "there is memory");
    fuzz_require(hn_source_text_make("kernel.cu", text, &source, &err) == HN_OK, "there is memory");
    fuzz_require(strlen(source.code) == source.length && strlen(source.directives) == source.length,
                 "offsets are the same in all texts");
    fuzz_require(hn_kernels_find(&source, &kernels, &err) == HN_OK, "there is memory");
    for (size_t i = 0; i < kernels.count && i < 8; i++)
        draft_kernel(&source, &kernels.items[i]);
    hn_kernels_finish(&kernels);
    hn_source_text_finish(&source);
    return 0;
}
