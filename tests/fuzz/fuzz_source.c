/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/source.h"

/* A CUDA source, whole or torn, as a template: its kernels' parameters are read, and its program is
 * to be known again. `hone init` reads sources with libclang. */

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
    struct hn_declared declared;
    char *text FREED = strndup((const char *)data, size);
    fuzz_require(text != NULL, "there is memory");
    for (const char *at = strstr(text, "void "); at != NULL; at = strstr(at + 1, "void "))
        if (hn_declared_find(text, at + 5, hn_word_length(at + 5), &declared))
            fuzz_require(declared.count <= HN_DECLARED_MOST, "there is room for all");
    find_key(text);
    return 0;
}
