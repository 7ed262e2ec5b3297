/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/export/export_cases_part.h"
#include "tuner/export/export_images.h"
#include "tuner/export/export_parts.h"
#include "tuner/export/export_skeleton_parts.h"

/* The header with machine code: a program that includes it needs the driver and nothing else. */

static enum hn_status append_kernel(const struct hn_export *export, struct hn_text *text,
                                    struct hn_error *err)
{
    (void)err;
    hn_text_append(text, export->kernel);
    return HN_OK;
}

static enum hn_status append_architectures(const struct hn_export *export, struct hn_text *text,
                                           struct hn_error *err)
{
    const struct hn_export_images *images = export->images;
    (void)err;
    for (size_t i = 0; i < images->count && images->items[i].config == 0; i++)
        hn_text_printf(text, "%s%s", i > 0 ? ", " : "", images->items[i].architecture);
    return HN_OK;
}

/* Words of 8 bytes: shorter than bytes, and quicker to compile. */
static void append_words(const struct hn_image *image, struct hn_text *text)
{
    const unsigned char *bytes = image->cubin;
    for (size_t at = 0; at < image->size; at += 8) {
        uint64_t word = 0;
        for (size_t i = 0; i < 8 && at + i < image->size; i++)
            word |= (uint64_t)bytes[at + i] << (8 * i);
        hn_text_printf(text, "%s0x%llxu,", at % 48 == 0 ? "\n    " : " ", (unsigned long long)word);
    }
}

static enum hn_status append_images(const struct hn_export *export, struct hn_text *text,
                                    struct hn_error *err)
{
    const struct hn_export_images *images = export->images;
    (void)err;
    for (size_t i = 0; i < images->count; i++) {
        hn_text_printf(text, "static const uint64_t %s_image_%zu[] = { /* configuration %zu, %s */",
                       export->lower, i, images->items[i].config, images->items[i].architecture);
        append_words(&images->items[i].image, text);
        hn_text_append(text, "\n};\n");
    }
    return HN_OK;
}

static enum hn_status append_row(const struct hn_export *export, size_t number,
                                 const char **entries, struct hn_text *text, struct hn_error *err)
{
    const struct hn_export_image *item = &export->images->items[number];
    enum hn_status status =
        hn_export_find_entries(export, item->config, item->image.entries, entries, err);
    bool exact = strpbrk(item->architecture + 3, "af") != NULL;
    hn_text_printf(text, "    {%zu, %d, %d, %s_image_%zu, {", item->config, item->capability, exact,
                   export->lower, number);
    for (size_t i = 0; i < export->plan->step_count && status == HN_OK; i++) {
        hn_text_append(text, i > 0 ? ", " : "");
        hn_export_append_literal(text, entries[i]);
    }
    hn_text_append(text, "}},\n");
    return status;
}

static enum hn_status append_rows(const struct hn_export *export, struct hn_text *text,
                                  struct hn_error *err)
{
    enum hn_status status = HN_OK;
    const char **entries = calloc(export->plan->step_count, sizeof *entries);
    if (entries == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < export->images->count && status == HN_OK; i++)
        status = append_row(export, i, entries, text, err);
    free(entries);
    return status;
}

const struct hn_export_part hn_export_image_parts[] = {
    {"kernel", NULL, append_kernel},    {"architectures", NULL, append_architectures},
    {"header", NULL, hn_export_header}, {"images", NULL, append_images},
    {"image_rows", NULL, append_rows},  {NULL, NULL, NULL},
};

enum hn_status hn_export_embedded(const struct hn_export *export,
                                  const struct hn_export_images *images, struct hn_text *text,
                                  struct hn_error *err)
{
    struct hn_export with_images = *export;
    with_images.images = images;
    with_images.driver = true;
    enum hn_status status = hn_export_refuse_pipeline(export, err);
    if (status == HN_OK)
        status = hn_export_fill(&with_images, hn_export_embedded_skeleton, text, err);
    return status == HN_OK && text->failed ? hn_fail_memory(err) : status;
}
