/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "runtime/compile/source.h"
#include "tuner/init/draft.h"

/* A CUDA source, whole or torn, as `hone init` reads it, and as a template whose program is to be
 * known again. */

static void draft_kernel(const struct hn_source_text *source, const struct hn_kernel *kernel)
{
    struct hn_macros macros ENDED_BY(hn_macros_finish);
    struct hn_draft draft;
    struct hn_error err = {0};
    fuzz_require(kernel->body <= kernel->end && kernel->end <= source->length,
                 "a body is part of its source");
    hn_macros_find(source, &macros);
    hn_macros_add_undefined(source, &macros);
    if (fuzz_fine(hn_draft_make(source, kernel, &macros, &draft, &err), &err)) {
        char *text FREED = hn_draft_write(&draft, "kernel.cu", "kernel.cu");
        fuzz_require(text != NULL, "a draft has a text");
        hn_draft_finish(&draft);
    }
}

/* As a program with some parameters, which it may include itself. */
static void find_key(char *text)
{
    char name[] = "kernel.cu";
    struct hn_text_file files[] = {{name, text}, {name, text}};
    struct hn_template template = {.files = files, .file_count = 2};
    struct hn_text all ENDED_BY(hn_text_finish) = {0};
    hn_text_printf(&all, "#define TILE 4\n#define UNROLL (-1)\n#line 1\n%s", text);
    fuzz_require(!all.failed, "there is memory");
    const struct hn_source source = {.template = &template, .text = all.data};
    struct hn_source_key keys[2];
    for (int i = 0; i < 2; i++)
        fuzz_require(hn_source_key(&source, "sm_90", &keys[i], NULL) == HN_OK, "there is memory");
    fuzz_require(strcmp(keys[0].hash.hex, keys[1].hash.hex) == 0, "a source has one key");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hn_source_text source ENDED_BY(hn_source_text_finish);
    struct hn_kernels kernels;
    char *text = strndup((const char *)data, size);
    fuzz_require(text != NULL, "there is memory");
    hn_source_text_make("kernel.cu", text, &source);
    fuzz_require(strlen(source.code) == source.length && strlen(source.directives) == source.length,
                 "offsets are the same in all texts");
    hn_kernels_find(&source, &kernels);
    for (size_t i = 0; i < kernels.count && i < 8; i++)
        draft_kernel(&source, &kernels.items[i]);
    hn_kernels_finish(&kernels);
    find_key(text);
    return 0;
}
