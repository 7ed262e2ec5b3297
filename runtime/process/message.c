/* SPDX-License-Identifier: MIT */
#include "runtime/process/message.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "base/text.h"
#include "cache/record/gate.h"
#include "cache/record/record_json.h"
#include "runtime/device/device.h"

/* Far more than any message has; empty ones would cost many times the memory of their frame. */
enum { MOST_BLOBS = 1024 };

void hn_message_init(struct hn_message *message, const char *type)
{
    message->json = json_pack("{ss}", "type", type);
    message->blobs = NULL;
    message->blob_count = 0;
}

void hn_message_finish(struct hn_message *message)
{
    for (size_t i = 0; i < message->blob_count; i++)
        free(message->blobs[i].data);
    free(message->blobs);
    json_decref(message->json);
    *message = (struct hn_message){0};
}

const char *hn_message_type(const struct hn_message *message)
{
    const char *type = json_string_value(json_object_get(message->json, "type"));
    return type != NULL ? type : "";
}

enum hn_status hn_message_copy(struct hn_message *to, const struct hn_message *from,
                               struct hn_error *err)
{
    *to = (struct hn_message){.json = json_incref(from->json)};
    for (size_t i = 0; i < from->blob_count; i++) {
        enum hn_status status =
            hn_message_add_blob(to, from->blobs[i].data, from->blobs[i].size, NULL, err);
        if (status != HN_OK) {
            hn_message_finish(to);
            return status;
        }
    }
    return HN_OK;
}

enum hn_status hn_message_add_blob(struct hn_message *message, const void *data, size_t size,
                                   size_t *index, struct hn_error *err)
{
    struct hn_blob *blobs =
        realloc(message->blobs, (message->blob_count + 1) * sizeof *message->blobs);
    if (blobs == NULL)
        return hn_fail_memory(err);
    message->blobs = blobs;
    void *copy = malloc(size + 1);
    if (copy == NULL)
        return hn_fail_memory(err);
    if (size > 0)
        memcpy(copy, data, size);
    if (index != NULL)
        *index = message->blob_count;
    blobs[message->blob_count++] = (struct hn_blob){copy, size};
    return HN_OK;
}

static char *put_u32(char *at, size_t number)
{
    for (int i = 0; i < 4; i++)
        *at++ = (char)(unsigned char)(number >> (8 * i));
    return at;
}

static size_t get_u32(const unsigned char *at)
{
    return (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

static char *put_bytes(char *at, const void *bytes, size_t size)
{
    at = put_u32(at, size);
    if (size > 0)
        memcpy(at, bytes, size);
    return at + size;
}

enum hn_status hn_message_encode(const struct hn_message *message, char **frame, size_t *size,
                                 struct hn_error *err)
{
    char *text = message->json != NULL ? json_dumps(message->json, JSON_COMPACT) : NULL;
    if (text == NULL)
        return hn_fail_memory(err);
    size_t length = strlen(text);
    size_t body = 4 + length;
    for (size_t i = 0; i < message->blob_count; i++)
        body += 4 + message->blobs[i].size;
    if (body > HN_MESSAGE_LIMIT) {
        free(text);
        return hn_fail(err, HN_EFORMAT, "a message of %zu bytes is beyond the limit of %u", body,
                       HN_MESSAGE_LIMIT);
    }
    char *data = malloc(4 + body);
    if (data == NULL) {
        free(text);
        return hn_fail_memory(err);
    }
    char *at = put_bytes(put_u32(data, body), text, length);
    for (size_t i = 0; i < message->blob_count; i++)
        at = put_bytes(at, message->blobs[i].data, message->blobs[i].size);
    free(text);
    *frame = data;
    *size = 4 + body;
    return HN_OK;
}

/* Takes the next u32-sized string of the body; NULL when the body is too short for it. */
static const unsigned char *take_bytes(const unsigned char **at, size_t *left, size_t *size)
{
    if (*left < 4)
        return NULL;
    *size = get_u32(*at);
    if (*size > *left - 4)
        return NULL;
    const unsigned char *bytes = *at + 4;
    *at = bytes + *size;
    *left -= 4 + *size;
    return bytes;
}

enum hn_status hn_message_decode(const void *body, size_t size, struct hn_message *message,
                                 struct hn_error *err)
{
    const unsigned char *at = body;
    size_t left = size;
    size_t length;
    *message = (struct hn_message){0};
    const unsigned char *text = take_bytes(&at, &left, &length);
    if (text == NULL)
        return hn_fail(err, HN_EFORMAT, "truncated message of %zu bytes", size);

    json_error_t problem;
    enum hn_status weighed = hn_gate_json((const char *)text, length, err);
    if (weighed != HN_OK)
        return weighed;
    message->json = json_loadb((const char *)text, length, JSON_REJECT_DUPLICATES, &problem);
    if (message->json == NULL)
        return hn_fail(err, HN_EFORMAT, "message is not JSON: %s", problem.text);
    if (!json_is_object(message->json)) {
        hn_message_finish(message);
        return hn_fail(err, HN_EFORMAT, "message is not a JSON object");
    }
    while (left > 0) {
        const unsigned char *blob = take_bytes(&at, &left, &length);
        enum hn_status status;
        if (blob == NULL)
            status = hn_fail(err, HN_EFORMAT, "truncated attachment of a message");
        else if (message->blob_count == MOST_BLOBS)
            status = hn_fail(err, HN_EFORMAT, "a message of more than %d attachments", MOST_BLOBS);
        else
            status = hn_message_add_blob(message, blob, length, NULL, err);
        if (status != HN_OK) {
            hn_message_finish(message);
            return status;
        }
    }
    return HN_OK;
}

/* false when out of memory. */
static bool clean_string(json_t *json)
{
    char *text = hn_gate_escape(json_string_value(json));
    if (text == NULL)
        return false;
    bool done = strcmp(text, json_string_value(json)) == 0 || json_string_set(json, text) == 0;
    free(text);
    return done;
}

static bool clean(json_t *json)
{
    const char *key;
    json_t *item;
    size_t i;
    bool done = true;
    if (json_is_string(json))
        return clean_string(json);
    if (json_is_object(json))
        json_object_foreach(json, key, item) done = done && clean(item);
    else
        json_array_foreach(json, i, item) done = done && clean(item);
    return done;
}

enum hn_status hn_message_gate(struct hn_message *message, struct hn_error *err)
{
    if (!hn_text_is_word(hn_message_type(message)))
        return hn_fail(err, HN_EFORMAT, "a worker sent a message of no type");
    return clean(message->json) ? HN_OK : hn_fail_memory(err);
}

enum hn_status hn_message_amount(const struct hn_message *message, const char *key, double *amount,
                                 struct hn_error *err)
{
    const json_t *json = json_object_get(message->json, key);
    double number = json_is_number(json) ? json_number_value(json) : NAN;
    enum hn_status status = hn_gate_amount(key, number, err);
    if (status == HN_OK)
        *amount = number;
    return status;
}

static json_t *strings(char *const *items, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_string(items[i]));
    return array;
}

json_t *hn_message_of_source(const struct hn_source *source, const char *architecture)
{
    json_t *includes = json_array();
    char name[HN_ARCHITECTURE_SIZE];
    hn_architecture_name(architecture, source->arch_specific, name);
    const struct hn_template *template = source->template;
    for (size_t i = 0; i < template->include_count; i++)
        json_array_append_new(
            includes, json_pack("[ss]", template->includes[i].name, template->includes[i].text));
    return json_pack("{ss ss ss ss so so so ss}", "type", "compile", "compiler",
                     hn_compiler_names[source->compiler], "name", template->path, "text",
                     source->text, "includes", includes, "entries",
                     strings(source->entries, source->entry_count), "options",
                     strings(source->options, source->option_count), "architecture", name);
}

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
static const struct hn_structure entry_list = {sizeof(char *), entry_fields, 1, NULL, NULL};

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
