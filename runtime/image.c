/* SPDX-License-Identifier: MIT */
#include "runtime/image.h"

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
