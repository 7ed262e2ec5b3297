/* SPDX-License-Identifier: MIT */
#include "runtime/process/message.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/run.h"
#include "base/schema.h"
#include "base/text.h"
#include "cache/record/gate.h"
#include "cache/record/record.h"
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
    HN_FREE_EACH(blob, message->blobs, message->blob_count, free(blob->data));
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
    struct hn_error own;
    err = hn_error_begin(err, &own);
    *to = (struct hn_message){.json = json_incref(from->json)};
    for (size_t i = 0; i < from->blob_count && !hn_failed(err); i++)
        hn_message_add_blob(to, from->blobs[i].data, from->blobs[i].size, NULL, err);
    if (hn_failed(err))
        hn_message_finish(to);
    return err->status;
}

enum hn_status hn_message_add_blob(struct hn_message *message, const void *data, size_t size,
                                   size_t *index, struct hn_error *err)
{
    struct hn_blob *blobs = realloc(message->blobs, (message->blob_count + 1) * sizeof *blobs);
    message->blobs = blobs != NULL ? blobs : message->blobs;
    void *copy = blobs != NULL ? malloc(size + 1) : NULL;
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
    char *text HN_FREED = json_dumps(message->json, JSON_COMPACT);
    size_t length = text != NULL ? strlen(text) : 0;
    size_t body = 4 + length;
    for (size_t i = 0; i < message->blob_count; i++)
        body += 4 + message->blobs[i].size;
    char *data = text != NULL && body <= HN_MESSAGE_LIMIT ? malloc(4 + body) : NULL;
    char *at = data != NULL ? put_bytes(put_u32(data, body), text, length) : NULL;
    for (size_t i = 0; i < message->blob_count && data != NULL; i++)
        at = put_bytes(at, message->blobs[i].data, message->blobs[i].size);
    if (body > HN_MESSAGE_LIMIT)
        return hn_fail(err, HN_EFORMAT, "a message of %zu bytes is beyond the limit of %u", body,
                       HN_MESSAGE_LIMIT);
    *frame = data;
    *size = 4 + body;
    return data != NULL ? HN_OK : hn_fail_memory(err);
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
    size_t length = 0;
    json_error_t problem;
    *message = (struct hn_message){0};
    hn_error_init(err);
    const char *text = (const char *)take_bytes(&at, &left, &length);
    if (text == NULL)
        hn_fail(err, HN_EFORMAT, "truncated message of %zu bytes", size);
    hn_gate_json(text, length, err);
    if (!hn_failed(err)) {
        message->json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
        if (message->json == NULL)
            hn_fail(err, HN_EFORMAT, "message is not JSON: %s", problem.text);
        else if (!json_is_object(message->json))
            hn_fail(err, HN_EFORMAT, "message is not a JSON object");
    }
    while (!hn_failed(err) && left > 0) {
        const unsigned char *blob = take_bytes(&at, &left, &length);
        if (blob == NULL)
            hn_fail(err, HN_EFORMAT, "truncated attachment of a message");
        else if (message->blob_count == MOST_BLOBS)
            hn_fail(err, HN_EFORMAT, "a message of more than %d attachments", MOST_BLOBS);
        else
            hn_message_add_blob(message, blob, length, NULL, err);
    }
    if (hn_failed(err))
        hn_message_finish(message);
    return err->status;
}

/* false when out of memory. */
static bool clean(json_t *json)
{
    const char *key;
    json_t *item;
    size_t i;
    bool done = true;
    if (json_is_string(json)) {
        char *text HN_FREED = hn_gate_escape(json_string_value(json));
        done = text != NULL &&
               (strcmp(text, json_string_value(json)) == 0 || json_string_set(json, text) == 0);
    } else if (json_is_object(json))
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
    hn_error_init(err);
    hn_gate_amount(key, number, err);
    if (!hn_failed(err))
        *amount = number;
    return err->status;
}

static const struct hn_field string_fields[] = {{HN_NEEDED(""), .kind = HN_FIELD_STRING}};
static const struct hn_structure string_list = {sizeof(char *), string_fields, 1, NULL};

/* What a compile worker is asked for, self-contained and free of any plan. */
struct compile_request {
    struct hn_source source;
    char *name; /* of the template, whose text is in that of the source */
    struct hn_text_file *includes;
    size_t include_count;
    char *architecture;          /* "sm_90" */
    struct hn_template template; /* these once more, as the source of a request that was read has
                                    them */
};

#define TEXT(name, member) HN_NEEDED(name), .kind = HN_FIELD_TEXT, HN_AT(compile_request, member)
#define LIST(name, member, count, structure)                                                       \
    HN_NEEDED(name), HN_LIST(compile_request, member, count, structure)

static const struct hn_field request_fields[] = {
    {HN_NEEDED("compiler"), HN_CHOICE(compile_request, source.compiler, hn_compiler_names)},
    {TEXT("name", name)},
    {TEXT("text", source.text)},
    {LIST("includes", includes, include_count, hn_text_file_structure)},
    {LIST("entries", source.entries, source.entry_count, string_list)},
    {LIST("options", source.options, source.option_count, string_list)},
    {TEXT("architecture", architecture)},
};
static const struct hn_structure request_structure =
    HN_STRUCTURE(compile_request, request_fields, NULL);

json_t *hn_message_of_source(const struct hn_source *source, const char *architecture,
                             struct hn_error *err)
{
    char name[HN_ARCHITECTURE_SIZE];
    const struct hn_template *template = source->template;
    const struct compile_request request = {.source = *source,
                                            .name = template->files->name,
                                            .includes = template->files + 1,
                                            .include_count = template->file_count - 1,
                                            .architecture = name};
    struct hn_message message;
    hn_message_init(&message, "compile");
    hn_architecture_name(architecture, source->arch_specific, name);
    json_auto_t *fields = hn_fields_to_json(&request_structure, &request);
    if (fields == NULL || json_object_update(message.json, fields) != 0) {
        hn_message_finish(&message);
        hn_fail(err, HN_ECONFIG, "the template %s is not UTF-8", template->files->name);
    }
    return message.json;
}

enum hn_status hn_message_compile(const struct hn_message *message, const struct hn_nvrtc *nvrtc,
                                  struct hn_image *image, struct hn_error *err)
{
    struct compile_request request = {.source.template = &request.template};
    struct hn_template *template = &request.template;
    hn_error_init(err);
    hn_fields_read("compile request", &request_structure, message->json, &request, err);
    template->files = hn_allocate(1 + request.include_count, sizeof *template->files, err);
    if (!hn_failed(err)) {
        template->files[template->file_count++] =
            (struct hn_text_file){request.name, request.source.text};
        for (size_t i = 0; i < request.include_count; i++)
            template->files[template->file_count++] = request.includes[i];
        hn_compile(nvrtc, &request.source, request.architecture, image, err);
    }
    free(template->files);
    hn_fields_finish(&request_structure, &request);
    return err->status;
}

/* The most names of kernels, and bytes of one, which C++ makes long. */
enum { ENTRIES_MOST = 1024, ENTRY_MOST = 1 << 16 };

static bool is_compiled(const void *image)
{
    return ((const struct hn_image *)image)->resources.known;
}

static void check_image(struct hn_json_reader *reader, void *owner)
{
    const struct hn_image *image = owner;
    for (size_t i = 0; i < image->entry_count; i++)
        hn_gate_line("an image's entry", image->entries[i], ENTRY_MOST, reader->err);
}

/* All but the cubin, which goes beside it. */
static const struct hn_field image_fields[] = {
    {HN_NEEDED("outcome"), HN_CHOICE(hn_image, outcome, hn_outcome_names)},
    {.key = "message", .kind = HN_FIELD_STRING, HN_AT(hn_image, message)},
    {.key = "log", .kind = HN_FIELD_STRING, HN_AT(hn_image, log)},
    {HN_NEEDED("entries"), .most = ENTRIES_MOST,
     HN_LIST(hn_image, entries, entry_count, string_list)},
    {.key = "resources",
     HN_STRUCT(hn_image, resources, hn_resources_structure),
     .told = is_compiled},
    {.key = "max_threads", .kind = HN_FIELD_COUNT, HN_AT(hn_image, resources.max_threads)},
    {HN_NEEDED("code_hash"), .kind = HN_FIELD_HASH, HN_AT(hn_image, code_hash)},
    {HN_NEEDED("compile_ms"), .kind = HN_FIELD_AMOUNT, HN_AT(hn_image, compile_ms)},
};
static const struct hn_structure image_structure =
    HN_STRUCTURE(hn_image, image_fields, check_image);

enum hn_status hn_message_add_image(struct hn_message *message, json_t *object,
                                    const struct hn_image *image, struct hn_error *err)
{
    size_t blob = 0;
    json_auto_t *json = hn_fields_to_json(&image_structure, image);
    bool made = image->cubin == NULL ||
                (hn_message_add_blob(message, image->cubin, image->size, &blob, NULL) == HN_OK &&
                 json_object_set_new(json, "cubin", json_integer((json_int_t)blob)) == 0);
    made = made && json_object_set(object, "image", json) == 0;
    return made ? HN_OK : hn_fail_memory(err);
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
    image->cubin = hn_allocate(blob->size + 1, 1, reader->err);
    if (image->cubin == NULL)
        return;
    memcpy(image->cubin, blob->data, blob->size);
    image->size = blob->size;
}

enum hn_status hn_message_get_image(const struct hn_message *message, const json_t *json,
                                    struct hn_image *image, struct hn_error *err)
{
    struct hn_json_reader reader = {"image", err, NULL};
    hn_error_init(err);
    *image = HN_NO_IMAGE;
    hn_fields_read("image", &image_structure, json, image, err);
    read_cubin(&reader, message, json_object_get(json, "cubin"), image);
    /* What can be launched has code and says where; only what comes of compiling is an image. */
    bool fine = image->outcome == HN_OUTCOME_OK;
    bool failed = image->outcome == HN_OUTCOME_COMPILE_ERROR ||
                  image->outcome == HN_OUTCOME_COMPILE_TIMEOUT ||
                  image->outcome == HN_OUTCOME_COMPILE_CRASH ||
                  image->outcome == HN_OUTCOME_INVALID_LAUNCH;
    bool consistent = failed || (fine && image->cubin != NULL && image->entry_count > 0);
    if (!hn_failed(err) && !consistent)
        hn_fail(err, HN_EFORMAT, "an image is %s, %s", hn_outcome_names[image->outcome],
                fine ? "and has no code" : "which compiling does not give");
    if (hn_failed(err))
        hn_image_finish(image);
    return err->status;
}

void hn_channel_finish(struct hn_channel *channel)
{
    hn_close(&channel->fd);
    free(channel->input);
    *channel = (struct hn_channel){.fd = -1};
}

enum hn_status hn_channel_send(struct hn_channel *channel, const struct hn_message *message,
                               struct hn_error *err)
{
    char *frame HN_FREED = NULL;
    size_t size;
    size_t sent = 0;
    enum hn_status status = hn_message_encode(message, &frame, &size, err);
    if (status != HN_OK)
        return status;
    while (status == HN_OK && sent < size) {
        ssize_t n = send(channel->fd, frame + sent, size - sent, MSG_NOSIGNAL);
        if (n >= 0)
            sent += (size_t)n;
        else if (errno != EINTR || hn_interrupted() != 0)
            status = hn_fail(err, HN_ERUN, "a worker does not take messages: %s", strerror(errno));
    }
    return status;
}

/* The size of the frame at the start of the input, 0 when it is not known yet. */
static size_t frame_size(const struct hn_channel *channel)
{
    const unsigned char *at = (const unsigned char *)channel->input;
    return channel->input_size < 4 ? 0 : 4 + get_u32(at);
}

/* Reads once; the buffer has room for what is known to come, else for a small message. */
static enum hn_received read_more(struct hn_channel *channel, bool wait, struct hn_error *err)
{
    size_t size = frame_size(channel);
    size_t capacity = size > 65536 ? size : 65536;
    if (size > HN_MESSAGE_LIMIT + (size_t)4) {
        hn_fail(err, HN_EFORMAT, "a worker announced a message of %zu bytes", size - 4);
        return HN_RECEIVED_CLOSED;
    }
    if (capacity > channel->input_capacity) {
        char *input = realloc(channel->input, capacity);
        if (input == NULL) {
            hn_fail_memory(err);
            return HN_RECEIVED_CLOSED;
        }
        channel->input = input;
        channel->input_capacity = capacity;
    }
    ssize_t n = recv(channel->fd, channel->input + channel->input_size,
                     channel->input_capacity - channel->input_size, wait ? 0 : MSG_DONTWAIT);
    if (n > 0) {
        channel->input_size += (size_t)n;
        return HN_RECEIVED_MESSAGE;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return HN_RECEIVED_NOTHING;
    hn_fail(err, HN_ERUN, "a worker ended");
    return HN_RECEIVED_CLOSED;
}

enum hn_received hn_channel_receive(struct hn_channel *channel, bool wait,
                                    struct hn_message *message, struct hn_error *err)
{
    for (;;) {
        size_t size = frame_size(channel);
        if (size > 0 && channel->input_size >= size) {
            enum hn_status status = hn_message_decode(channel->input + 4, size - 4, message, err);
            channel->input_size -= size;
            memmove(channel->input, channel->input + size, channel->input_size);
            return status == HN_OK ? HN_RECEIVED_MESSAGE : HN_RECEIVED_CLOSED;
        }
        enum hn_received received = read_more(channel, wait, err);
        if (received == HN_RECEIVED_CLOSED || (received == HN_RECEIVED_NOTHING && !wait))
            return received;
    }
}
