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
    json_t *plan = json_loads(stored->json, 0, NULL);
    json_t *files = json_array();
    if (plan == NULL || files == NULL) {
        json_decref(plan);
        json_decref(files);
        return NULL;
    }
    strip_folder(plan, "template");
    strip_folder(json_object_get(plan, "reference"), "template");
    (void)json_object_del(plan, "config");
    for (size_t i = 0; i < stored->file_count; i++) {
        const char *name = stored->files[i].name;
        (void)json_array_append_new(files,
                                    json_pack("{s:s, s:s}", "name", i == 0 ? base_name(name) : name,
                                              "text", stored->files[i].text));
    }
    return json_pack("{s:o, s:o}", "plan", plan, "files", files);
}

static enum hn_status read_file(const json_t *json, struct hn_stored_plan *stored,
                                struct hn_error *err)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *text = json_string_value(json_object_get(json, "text"));
    if (name == NULL || text == NULL)
        return hn_fail(err, HN_EFORMAT, "'files' holds something without a name or a text");
    enum hn_status status = hn_gate_line("the name of a template", name, HN_NAME_MOST, err);
    if (status != HN_OK)
        return status;
    struct hn_stored_file *file = &stored->files[stored->file_count++];
    file->name = strdup(name);
    file->text = strdup(text);
    return file->name == NULL || file->text == NULL ? hn_fail_memory(err) : HN_OK;
}

enum hn_status hn_recording_plan_read(const json_t *source, struct hn_stored_plan *stored,
                                      struct hn_error *err)
{
    *stored = (struct hn_stored_plan){.json = NULL};
    if (source == NULL)
        return HN_OK;
    const json_t *plan = json_object_get(source, "plan");
    const json_t *files = json_object_get(source, "files");
    if (!json_is_object(plan) || !json_is_array(files))
        return hn_fail(err, HN_EFORMAT, "'source' has no 'plan' or no 'files'");
    stored->json = json_dumps(plan, JSON_COMPACT | JSON_SORT_KEYS);
    stored->files = calloc(json_array_size(files) + 1, sizeof *stored->files);
    enum hn_status status =
        stored->json == NULL || stored->files == NULL ? hn_fail_memory(err) : HN_OK;
    for (size_t i = 0; status == HN_OK && i < json_array_size(files); i++)
        status = read_file(json_array_get(files, i), stored, err);
    if (status != HN_OK)
        hn_stored_plan_free(stored);
    return status;
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
