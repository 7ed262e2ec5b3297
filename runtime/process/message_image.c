/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "cache/record/gate.h"
#include "cache/record/record_json.h"
#include "runtime/process/message.h"

/* Of the names of kernels, which C++ makes long. */
enum { ENTRIES_MOST = 1024, ENTRY_MOST = 1 << 16 };

static bool is_compiled(const void *image)
{
    return ((const struct hn_image *)image)->resources.known;
}

static void check_image(struct hn_json_reader *reader, void *owner)
{
    const struct hn_image *image = owner;
    hn_json_take(reader, hn_gate_resources(&image->resources, reader->err));
    for (size_t i = 0; reader->status == HN_OK && i < image->entry_count; i++)
        hn_json_take(reader,
                     hn_gate_line("an image's entry", image->entries[i], ENTRY_MOST, reader->err));
}

static const struct hn_field entry_fields[] = {
    {.key = "", .needed = true, .kind = HN_FIELD_STRING}};
static const struct hn_structure entry_list = {sizeof(char *), entry_fields, 1, NULL};

/* All but the cubin, which goes beside it. */
static const struct hn_field image_fields[] = {
    {.key = "outcome", .needed = true, HN_CHOICE(hn_image, outcome, hn_outcome_names)},
    {.key = "message", .kind = HN_FIELD_STRING, HN_AT(hn_image, message)},
    {.key = "log", .kind = HN_FIELD_STRING, HN_AT(hn_image, log)},
    {.key = "entries",
     .needed = true,
     .most = ENTRIES_MOST,
     HN_LIST(hn_image, entries, entry_count, entry_list)},
    {.key = "resources",
     HN_STRUCT(hn_image, resources, hn_resources_structure),
     .told = is_compiled},
    {.key = "max_threads", .kind = HN_FIELD_COUNT, HN_AT(hn_image, resources.max_threads)},
    {.key = "code_hash", .needed = true, .kind = HN_FIELD_HASH, HN_AT(hn_image, code_hash)},
    {.key = "compile_ms", .needed = true, .kind = HN_FIELD_AMOUNT, HN_AT(hn_image, compile_ms)},
};
static const struct hn_structure image_structure =
    HN_STRUCTURE(hn_image, image_fields, check_image);

json_t *hn_message_image_json(struct hn_message *message, const struct hn_image *image)
{
    size_t blob = 0;
    if (image->cubin != NULL &&
        hn_message_add_blob(message, image->cubin, image->size, &blob, NULL) != HN_OK)
        return NULL;
    json_t *json = hn_fields_to_json(&image_structure, image);
    if (json != NULL && image->cubin != NULL)
        json_object_set_new(json, "cubin", json_integer((json_int_t)blob));
    return json;
}

enum hn_status hn_message_add_image(struct hn_message *message, const char *key,
                                    const struct hn_image *image, struct hn_error *err)
{
    json_t *json = hn_message_image_json(message, image);
    if (json == NULL || json_object_set_new(message->json, key, json) != 0)
        return hn_fail_memory(err);
    return HN_OK;
}

static void read_cubin(struct hn_json_reader *reader, const struct hn_message *message,
                       const json_t *number, struct hn_image *image)
{
    json_int_t index = json_integer_value(number);
    if (number == NULL || !hn_json_expect(reader,
                                          json_is_integer(number) && index >= 0 &&
                                              (size_t)index < message->blob_count,
                                          "cubin", "one that is attached"))
        return;
    const struct hn_blob *blob = &message->blobs[index];
    image->cubin = malloc(blob->size + 1);
    if (image->cubin == NULL) {
        reader->status = hn_fail_memory(reader->err);
        return;
    }
    memcpy(image->cubin, blob->data, blob->size);
    image->size = blob->size;
}

/* What can be launched has code and says where; and only what comes of compiling is an image. */
static void expect_outcome(struct hn_json_reader *reader, const struct hn_image *image)
{
    bool fine = image->outcome == HN_OUTCOME_OK;
    bool failed = image->outcome == HN_OUTCOME_COMPILE_ERROR ||
                  image->outcome == HN_OUTCOME_COMPILE_TIMEOUT ||
                  image->outcome == HN_OUTCOME_COMPILE_CRASH ||
                  image->outcome == HN_OUTCOME_INVALID_LAUNCH;
    bool consistent = failed || (fine && image->cubin != NULL && image->entry_count > 0);
    if (reader->status == HN_OK && !consistent)
        reader->status =
            hn_fail(reader->err, HN_EFORMAT, "an image is %s, %s", hn_outcome_name(image->outcome),
                    fine ? "and has no code" : "which compiling does not give");
}

enum hn_status hn_message_get_image(const struct hn_message *message, const json_t *json,
                                    struct hn_image *image, struct hn_error *err)
{
    struct hn_json_reader reader = {"image", HN_OK, err, NULL};
    hn_image_init(image);
    hn_fields_read(&reader, &image_structure, json, image);
    read_cubin(&reader, message, json_object_get(json, "cubin"), image);
    expect_outcome(&reader, image);
    if (reader.status != HN_OK)
        hn_image_finish(image);
    return reader.status;
}
