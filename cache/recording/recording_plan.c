/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/record/gate.h"
#include "cache/record/record_json.h"
#include "cache/recording/recording_list.h"
#include "cache/recording/recording_parts.h"
#include "cache/recording/recording_plan.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Where files lay says nothing elsewhere. */
static void strip_folder(json_t *object, const char *key)
{
    const char *path = json_string_value(json_object_get(object, key));
    if (path != NULL)
        (void)json_object_set_new(object, key, json_string(base_name(path)));
}

json_t *hn_recording_plan_write(const struct hn_stored_plan *stored)
{
    json_t *source = hn_stored_plan_to_json(stored);
    json_t *template = json_array_get(json_object_get(source, "files"), 0);
    json_t *plan = json_object_get(source, "plan");
    strip_folder(template, "name");
    strip_folder(plan, "template");
    strip_folder(json_object_get(plan, "reference"), "template");
    (void)json_object_del(plan, "config");
    return source;
}

enum hn_status hn_recording_plan_read(const json_t *source, struct hn_stored_plan *stored,
                                      struct hn_error *err)
{
    *stored = (struct hn_stored_plan){.json = NULL};
    return source == NULL ? HN_OK : hn_stored_plan_from_json(source, stored, err);
}

/* The "hone" object alone, which Hone writes into a line of its own before the rows. */
static json_t *read_head(const char *path, struct hn_error *err)
{
    static const char key[] = "\n\"hone\": ";
    char *text = NULL;
    size_t size = 0;
    json_t *head = NULL;
    if (hn_gzip_read(path, &text, &size, err) != HN_OK)
        return NULL;
    const char *start = strstr(text, key);
    if (start != NULL && hn_gate_json(start, strlen(start), err) == HN_OK)
        head = json_loads(start + strlen(key), JSON_DISABLE_EOF_CHECK, NULL);
    free(text);
    return head;
}

/* Of the same plan, whatever protocol measured it. */
static bool is_version(const json_t *json, const struct hn_version *version)
{
    struct hn_version own = {.protocol = 0};
    struct hn_json_reader reader = {"version", HN_OK, NULL, NULL};
    hn_fields_read(&reader, &hn_version_structure, json, &own);
    own.protocol = version->protocol;
    return reader.status == HN_OK && hn_version_equal(&own, version);
}

static bool is_of_kernel(const json_t *source, const char *kernel)
{
    const char *own = json_string_value(json_object_get(json_object_get(source, "plan"), "kernel"));
    return own != NULL && strcmp(own, kernel) == 0;
}

struct wanted {
    const char *kernel;
    const struct hn_version *version;
    struct hn_stored_plan *stored;
};

static enum hn_status find_in_file(const char *path, void *data, struct hn_error *err)
{
    const struct wanted *wanted = data;
    if (wanted->stored->json != NULL)
        return HN_OK;
    json_t *head = read_head(path, err);
    const json_t *source = json_object_get(head, "source");
    enum hn_status status = HN_OK;
    if (is_version(json_object_get(head, "version"), wanted->version) &&
        is_of_kernel(source, wanted->kernel))
        status = hn_recording_plan_read(source, wanted->stored, err);
    json_decref(head);
    return status;
}

enum hn_status hn_recording_plan_find(const char *path, const char *kernel,
                                      const struct hn_version *version,
                                      struct hn_stored_plan *stored, struct hn_error *err)
{
    struct wanted wanted = {kernel, version, stored};
    *stored = (struct hn_stored_plan){.json = NULL};
    if (!hn_version_knows_template(version))
        return HN_OK;
    return hn_recordings_visit(path, find_in_file, &wanted, err);
}
