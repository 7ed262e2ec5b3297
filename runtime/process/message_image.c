/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/record/gate.h"
#include "runtime/process/message.h"

/* Of the names of kernels, which C++ makes long. */
enum { ENTRIES_MOST = 1024, ENTRY_MOST = 1 << 16 };

static json_t *strings_to_json(char *const *strings, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_string(strings[i]));
    return array;
}

static json_t *resources_to_json(const struct hn_resources *resources)
{
    return json_pack("{sb si si si si si si si sf}", "known", resources->known, "registers",
                     resources->registers, "shared", resources->shared_bytes, "local",
                     resources->local_bytes, "stack", resources->stack_bytes, "spill_stores",
                     resources->spill_store_bytes, "spill_loads", resources->spill_load_bytes,
                     "max_threads", resources->max_threads, "occupancy", resources->occupancy);
}

json_t *hn_message_image_json(struct hn_message *message, const struct hn_image *image)
{
    size_t blob = 0;
    if (image->cubin != NULL &&
        hn_message_add_blob(message, image->cubin, image->size, &blob, NULL) != HN_OK)
        return NULL;
    json_t *json = json_pack("{ss ss* ss* so so ss sf}", "outcome", hn_outcome_name(image->outcome),
                             "message", image->message, "log", image->log, "entries",
                             strings_to_json(image->entries, image->entry_count), "resources",
                             resources_to_json(&image->resources), "code_hash", image->code_hash,
                             "compile_ms", image->compile_ms);
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

static enum hn_status read_entries(const json_t *json, struct hn_image *image, struct hn_error *err)
{
    size_t count = json_array_size(json);
    if (!json_is_array(json) || count > ENTRIES_MOST)
        return hn_fail(err, HN_EFORMAT, "an image's entries are no list of at most %d",
                       ENTRIES_MOST);
    image->entries = calloc(count + 1, sizeof *image->entries);
    if (image->entries == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *entry = json_string_value(json_array_get(json, i));
        if (entry == NULL)
            return hn_fail(err, HN_EFORMAT, "an image's entry is not a string");
        enum hn_status status = hn_gate_line("an image's entry", entry, ENTRY_MOST, err);
        if (status != HN_OK)
            return status;
        image->entries[i] = strdup(entry);
        if (image->entries[i] == NULL)
            return hn_fail_memory(err);
        image->entry_count++;
    }
    return HN_OK;
}

static enum hn_status read_resources(json_t *json, struct hn_resources *resources,
                                     struct hn_error *err)
{
    int known;
    if (json_unpack(json, "{sb si si si si si si si sF}", "known", &known, "registers",
                    &resources->registers, "shared", &resources->shared_bytes, "local",
                    &resources->local_bytes, "stack", &resources->stack_bytes, "spill_stores",
                    &resources->spill_store_bytes, "spill_loads", &resources->spill_load_bytes,
                    "max_threads", &resources->max_threads, "occupancy",
                    &resources->occupancy) != 0)
        return hn_fail(err, HN_EFORMAT, "an image's resources are incomplete");
    resources->known = known != 0;
    const int counts[] = {resources->registers,         resources->shared_bytes,
                          resources->local_bytes,       resources->stack_bytes,
                          resources->spill_store_bytes, resources->spill_load_bytes,
                          resources->max_threads};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] < 0)
            return hn_fail(err, HN_EFORMAT, "an image's resources are negative");
    return resources->occupancy >= 0 && resources->occupancy <= 1
               ? HN_OK
               : hn_fail(err, HN_EFORMAT, "an image's occupancy is %g, expected 0 to 1",
                         resources->occupancy);
}

static enum hn_status read_cubin(const struct hn_message *message, const json_t *number,
                                 struct hn_image *image, struct hn_error *err)
{
    if (number == NULL)
        return HN_OK;
    json_int_t index = json_integer_value(number);
    if (!json_is_integer(number) || index < 0 || (size_t)index >= message->blob_count)
        return hn_fail(err, HN_EFORMAT, "an image's cubin is not attached");
    const struct hn_blob *blob = &message->blobs[index];
    image->cubin = malloc(blob->size + 1);
    if (image->cubin == NULL)
        return hn_fail_memory(err);
    memcpy(image->cubin, blob->data, blob->size);
    image->size = blob->size;
    return HN_OK;
}

static char *copy_string(const char *string)
{
    return string != NULL ? strdup(string) : NULL;
}

/* What can be launched has code and says where; and only what comes of compiling is an image. */
static enum hn_status gate_outcome(const struct hn_image *image, struct hn_error *err)
{
    bool fine = image->outcome == HN_OUTCOME_OK;
    bool failed = image->outcome == HN_OUTCOME_COMPILE_ERROR ||
                  image->outcome == HN_OUTCOME_COMPILE_TIMEOUT ||
                  image->outcome == HN_OUTCOME_COMPILE_CRASH ||
                  image->outcome == HN_OUTCOME_INVALID_LAUNCH;
    if (failed || (fine && image->cubin != NULL && image->entry_count > 0))
        return HN_OK;
    return hn_fail(err, HN_EFORMAT, "an image is %s, %s", hn_outcome_name(image->outcome),
                   fine ? "and has no code" : "which compiling does not give");
}

enum hn_status hn_message_get_image(const struct hn_message *message, const json_t *json,
                                    struct hn_image *image, struct hn_error *err)
{
    const char *outcome = NULL;
    const char *text = NULL;
    const char *log = NULL;
    const char *hash = NULL;
    json_t *entries = NULL;
    json_t *resources = NULL;
    hn_image_init(image);
    if (json_unpack((json_t *)json, "{ss s?s s?s so so ss sF}", "outcome", &outcome, "message",
                    &text, "log", &log, "entries", &entries, "resources", &resources, "code_hash",
                    &hash, "compile_ms", &image->compile_ms) != 0 ||
        !hn_outcome_parse(outcome, &image->outcome))
        return hn_fail(err, HN_EFORMAT, "an image is incomplete");
    enum hn_status status = hn_gate_hash("image", hash, err);
    if (status != HN_OK)
        return status;
    strcpy(image->code_hash, hash);
    image->message = copy_string(text);
    image->log = copy_string(log);
    status = hn_gate_amount("compile_ms", image->compile_ms, err);
    if (status == HN_OK)
        status = read_entries(entries, image, err);
    if (status == HN_OK)
        status = read_resources(resources, &image->resources, err);
    if (status == HN_OK)
        status = read_cubin(message, json_object_get(json, "cubin"), image, err);
    if (status == HN_OK)
        status = gate_outcome(image, err);
    if (status != HN_OK)
        hn_image_finish(image);
    return status;
}
