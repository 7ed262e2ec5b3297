/* SPDX-License-Identifier: MIT */
#include "runtime/compile/image.h"

#include <stdlib.h>
#include <string.h>

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

static char *copy_text(const char *text, bool *failed)
{
    char *copy = text != NULL ? strdup(text) : NULL;
    *failed = *failed || (text != NULL && copy == NULL);
    return copy;
}

enum hn_status hn_image_copy(struct hn_image *to, const struct hn_image *from, struct hn_error *err)
{
    bool failed = false;
    *to = *from;
    to->message = copy_text(from->message, &failed);
    to->log = copy_text(from->log, &failed);
    to->cubin = from->cubin != NULL ? malloc(from->size) : NULL;
    failed = failed || (from->cubin != NULL && to->cubin == NULL);
    if (to->cubin != NULL)
        memcpy(to->cubin, from->cubin, from->size);
    to->entries = calloc(from->entry_count + 1, sizeof *to->entries);
    to->entry_count = to->entries != NULL ? from->entry_count : 0;
    failed = failed || to->entries == NULL;
    for (size_t i = 0; i < to->entry_count; i++)
        to->entries[i] = copy_text(from->entries[i], &failed);
    return failed ? hn_fail_memory(err) : HN_OK;
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
    struct hn_text text;
    hn_text_init(&text);
    for (size_t i = 0; i < image->entry_count; i++)
        hn_text_printf(&text, "%s%s", i > 0 ? "\n" : "", image->entries[i]);
    return hn_text_take(&text);
}
