/* SPDX-License-Identifier: MIT */
#include "runtime/compile/image.h"

#include <stdlib.h>
#include <string.h>

void hn_image_init(struct hn_image *image)
{
    *image = (struct hn_image){.outcome = HN_OUTCOME_COMPILE_ERROR};
}

void hn_image_finish(struct hn_image *image)
{
    if (image == NULL)
        return;
    for (size_t i = 0; i < image->entry_count; i++)
        free(image->entries[i]);
    free(image->entries);
    free(image->cubin);
    free(image->log);
    free(image->message);
    hn_image_init(image);
}

enum hn_status hn_image_set_entries(struct hn_image *image, const char *lines, struct hn_error *err)
{
    size_t count = 1;
    for (const char *c = lines; *c != '\0'; c++)
        count += *c == '\n';
    image->entries = calloc(count, sizeof *image->entries);
    while (image->entries != NULL && image->entry_count < count) {
        size_t length = strcspn(lines, "\n");
        char *entry = strndup(lines, length);
        if (entry == NULL)
            return hn_fail_memory(err);
        image->entries[image->entry_count++] = entry;
        lines += length + (lines[length] == '\n');
    }
    return image->entries != NULL ? HN_OK : hn_fail_memory(err);
}
