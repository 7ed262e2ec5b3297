/* SPDX-License-Identifier: MIT */
#include "runtime/compile/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

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

enum hn_status hn_image_copy(struct hn_image *to, const struct hn_image *from, struct hn_error *err)
{
    struct hn_error own;
    err = hn_error_begin(err, &own);
    *to = *from;
    to->message = from->message != NULL ? hn_copy_string(from->message, err) : NULL;
    to->log = from->log != NULL ? hn_copy_string(from->log, err) : NULL;
    to->cubin = from->cubin != NULL ? hn_allocate(from->size, 1, err) : NULL;
    if (to->cubin != NULL)
        memcpy(to->cubin, from->cubin, from->size);
    to->entries = hn_allocate(from->entry_count, sizeof *to->entries, err);
    to->entry_count = to->entries != NULL ? from->entry_count : 0;
    for (size_t i = 0; i < to->entry_count; i++)
        to->entries[i] = hn_copy_string(from->entries[i], err);
    return err->status;
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

char *hn_image_entry_lines(const struct hn_image *image)
{
    struct hn_text text = {0};
    for (size_t i = 0; i < image->entry_count; i++)
        hn_text_printf(&text, "%s%s", i > 0 ? "\n" : "", image->entries[i]);
    return hn_text_take(&text);
}
