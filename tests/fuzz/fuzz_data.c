/* SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include "runtime/plan/contents.c"

/* A data file that a config names: plain bytes or a NumPy array, asked for as elements of each
 * type. */

static void use_type(const char *path, enum hn_element element, uint64_t count)
{
    FILE *file;
    struct hn_error err = {0};
    char bytes[8];
    if (!fuzz_fine(hn_data_file_open(path, element, count, &file, &err), &err))
        return;
    for (uint64_t i = 0; i < count && i < 1000; i++)
        fuzz_require(hn_data_file_read(file, bytes, hn_element_size(element), &err) == HN_OK,
                     "a file holds as many elements as were found");
    fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_write_file("data.npy", data, size);
    struct hn_error err = {0};
    for (int element = 0; element < HN_ELEMENT_COUNT; element++) {
        use_type(path, (enum hn_element)element, 6);
        use_type(path, (enum hn_element)element, size / hn_element_size((enum hn_element)element));
    }
    char header[256] = "";
    uint64_t count = 0;
    for (size_t i = 0; i + 1 < sizeof header && i < size; i++)
        header[i] = (char)data[i];
    (void)fuzz_fine(npy_check(header, HN_FLOAT32, &count, &err), &err);
    return 0;
}
