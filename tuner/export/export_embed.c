/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/export/export_cases_part.h"
#include "tuner/export/export_images.h"
#include "tuner/export/export_parts.h"
#include "tuner/export/export_skeleton_parts.h"

/* The header with machine code: a program that includes it needs the driver and nothing else. */

static void write_architectures(struct hn_export_writer *writer)
{
    const struct hn_export_images *images = writer->export->images;
    for (size_t i = 0; i < images->count && images->items[i].config == 0; i++)
        hn_text_printf(writer->text, "%s%s", i > 0 ? ", " : "", images->items[i].architecture);
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

static void write_images(struct hn_export_writer *writer)
{
    const struct hn_export_images *images = writer->export->images;
    for (size_t i = 0; i < images->count; i++) {
        hn_text_printf(
            writer->text, "static const uint64_t %s_image_%zu[] = { /* configuration %zu, %s */",
            writer->export->lower, i, images->items[i].config, images->items[i].architecture);
        append_words(&images->items[i].image, writer->text);
        hn_text_append(writer->text, "\n};\n");
    }
}

static void write_row(struct hn_export_writer *writer, size_t number, const char **entries)
{
    const struct hn_export *export = writer->export;
    const struct hn_export_image *item = &export->images->items[number];
    bool exact = strpbrk(item->architecture + 3, "af") != NULL;
    hn_export_note(writer, hn_export_find_entries(export, item->config, item->image.entries,
                                                  entries, writer->err));
    hn_text_printf(writer->text, "    {%zu, %d, %d, %s_image_%zu, {", item->config,
                   item->capability, exact, export->lower, number);
    for (size_t i = 0; i < export->plan->step_count && writer->status == HN_OK; i++) {
        hn_text_append(writer->text, i > 0 ? ", " : "");
        hn_export_append_literal(writer->text, entries[i]);
    }
    hn_text_append(writer->text, "}},\n");
}

static void write_rows(struct hn_export_writer *writer)
{
    const char **entries = calloc(writer->export->plan->step_count, sizeof *entries);
    if (entries == NULL)
        hn_export_note(writer, hn_fail_memory(writer->err));
    for (size_t i = 0; entries != NULL && i < writer->export->images->count; i++)
        write_row(writer, i, entries);
    free(entries);
}

static void write_header(struct hn_export_writer *writer)
{
    hn_export_note(writer, hn_export_header(writer->export, writer->text, writer->err));
}

const struct hn_export_part hn_export_image_parts[] = {
    {"architectures", .write = write_architectures},
    {"header", .write = write_header},
    {"images", .write = write_images},
    {"image_rows", .write = write_rows},
    {0},
};

enum hn_status hn_export_embedded(const struct hn_export *export,
                                  const struct hn_export_images *images, struct hn_text *text,
                                  struct hn_error *err)
{
    struct hn_export with_images = *export;
    with_images.images = images;
    enum hn_status status = hn_export_refuse_pipeline(export, err);
    if (status != HN_OK)
        return status;
    return hn_export_write(&with_images, hn_export_embedded_skeleton, text, err);
}
