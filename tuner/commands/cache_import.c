/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "cache/record_json.h"
#include "cache/recording.h"
#include "tuner/commands/cache_command.h"

static char *record_text(const struct hn_record *record)
{
    json_t *json = hn_record_to_json(record);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    return text;
}

/* The name under which this recording is imported once: a hash of all that it says. */
static enum hn_status name_origin(const struct hn_recording *recording, struct hn_hash *origin,
                                  struct hn_error *err)
{
    struct hn_text all;
    hn_text_init(&all);
    hn_text_append(&all, recording->identity.kernel);
    hn_bindings_append(&all, &recording->identity.problem);
    hn_text_append(&all, recording->identity.device.name);
    for (size_t i = 0; i < recording->records.count; i++) {
        char *text = record_text(&recording->records.items[i]);
        if (text == NULL)
            all.failed = true;
        else
            hn_text_append(&all, text);
        free(text);
    }
    if (!all.failed)
        *origin = hn_hash_bytes(all.data, all.length);
    enum hn_status status = all.failed ? hn_fail_memory(err) : HN_OK;
    hn_text_finish(&all);
    return status;
}

static bool records_equal(const struct hn_record *a, const struct hn_record *b)
{
    char *first = record_text(a);
    char *second = record_text(b);
    bool equal = first != NULL && second != NULL && strcmp(first, second) == 0;
    free(first);
    free(second);
    return equal;
}

static int compare_points(const void *a, const void *b)
{
    const struct hn_bindings *x = &((const struct hn_record *)a)->point;
    const struct hn_bindings *y = &((const struct hn_record *)b)->point;
    int order = 0;
    for (size_t i = 0; order == 0 && i < x->count && i < y->count; i++) {
        order = strcmp(x->names[i], y->names[i]);
        if (order == 0)
            order = hn_value_compare(&x->values[i], &y->values[i]);
    }
    return order != 0 ? order : (x->count > y->count) - (x->count < y->count);
}

/* Whether the cache holds every record of the recording: it was exported from here. */
static enum hn_status is_known(const struct hn_cache_command *command,
                               const struct hn_recording *recording, bool *known,
                               struct hn_error *err)
{
    struct hn_records there;
    *known = false;
    enum hn_status status = hn_store_load(command->store, &recording->identity, &recording->version,
                                          false, &there, err);
    if (status != HN_OK || there.count < recording->records.count) {
        hn_records_free(&there);
        return status;
    }
    if (there.count > 0)
        qsort(there.items, there.count, sizeof *there.items, compare_points);
    *known = true;
    for (size_t i = 0; *known && i < recording->records.count; i++) {
        const struct hn_record *record = &recording->records.items[i];
        const struct hn_record *found =
            bsearch(record, there.items, there.count, sizeof *there.items, compare_points);
        *known = found != NULL && records_equal(found, record);
    }
    hn_records_free(&there);
    return HN_OK;
}

static enum hn_status add_recording(const struct hn_cache_command *command,
                                    const struct hn_recording *recording, bool *added,
                                    struct hn_error *err)
{
    struct hn_hash origin;
    bool known = false;
    double newest = 0;
    for (size_t i = 0; i < recording->records.count; i++) {
        if (recording->records.items[i].time > newest)
            newest = recording->records.items[i].time;
    }
    *added = false;
    enum hn_status status = is_known(command, recording, &known, err);
    if (status != HN_OK || known)
        return status;
    status = name_origin(recording, &origin, err);
    if (status != HN_OK)
        return status;
    struct hn_store_file *files = calloc(recording->plan.file_count + 1, sizeof *files);
    if (files == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < recording->plan.file_count; i++)
        files[i] =
            (struct hn_store_file){recording->plan.files[i].name, recording->plan.files[i].text};
    const struct hn_store_plan plan = {recording->plan.json, files, recording->plan.file_count};
    const struct hn_store_session session = {.identity = &recording->identity,
                                             .version = &recording->version,
                                             .plan = plan.json == NULL ? NULL : &plan,
                                             .command = recording->command,
                                             .origin = origin.hex,
                                             .started = newest};
    status = hn_store_import(command->store, &session, &recording->records, added, err);
    free(files);
    return status;
}

/* What came of one file. */
/* Kernel Tuner does not say what the arguments are. What it does say tells its tunings apart from
 * each other and from Hone's: "Kernel Tuner: block_size_x,tile_size_x". */
static enum hn_status name_signature(struct hn_recording *recording, struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_text_append(&text, "Kernel Tuner: ");
    for (size_t i = 0; i < recording->parameter_count; i++)
        hn_text_printf(&text, "%s%s", i > 0 ? "," : "", recording->parameters[i]);
    free(recording->identity.signature);
    recording->identity.signature = hn_text_take(&text);
    return recording->identity.signature != NULL ? HN_OK : hn_fail_memory(err);
}

/* What a store needs to know of a cache file of Kernel Tuner beyond what the file says. */
static enum hn_status complete(const struct hn_cache_command *command, const char *path,
                               struct hn_recording *recording, struct hn_error *err)
{
    struct hn_device_identity *device = &recording->identity.device;
    if (command->device_name != NULL) {
        if (strlen(command->device_name) >= sizeof device->name)
            return hn_fail(err, HN_EUSAGE,
                           "--device-name: found %zu bytes, expected fewer than %zu",
                           strlen(command->device_name), sizeof device->name);
        snprintf(device->name, sizeof device->name, "%s", command->device_name);
    }
    if (device->name[0] == '\0')
        return hn_fail(err, HN_EFORMAT,
                       "'%s' does not say which device it is of: name it with --device-name", path);
    recording->command = strdup("Kernel Tuner");
    return recording->command != NULL ? name_signature(recording, err) : hn_fail_memory(err);
}

static enum hn_status import_recording(const struct hn_cache_command *command, const char *path,
                                       struct hn_cache_imported *imported, struct hn_error *err)
{
    struct hn_recording recording;
    bool added = false;
    enum hn_status status = hn_recording_load(path, &recording, err);
    if (status != HN_OK)
        return status;
    if (!recording.from_hone)
        status = complete(command, path, &recording, err);
    if (status == HN_OK)
        status = add_recording(command, &recording, &added, err);
    imported->known = !added;
    imported->kernel_tuner = !recording.from_hone;
    imported->records = added ? (int64_t)recording.records.count : 0;
    hn_recording_finish(&recording);
    return status;
}

static enum hn_status import_cache(const struct hn_cache_command *command, const char *path,
                                   struct hn_cache_imported *imported, struct hn_error *err)
{
    struct hn_store *from;
    struct hn_store_merged merged = {.sessions = 0};
    enum hn_status status = hn_store_open(path, HN_STORE_READ, &from, err);
    if (status != HN_OK)
        return status;
    status = hn_store_merge(command->store, from, command->images, &merged, err);
    imported->known = merged.sessions == 0;
    imported->records = merged.records;
    imported->images = merged.images;
    hn_store_close(from);
    return status;
}

bool hn_cache_is_database(const char *path)
{
    char start[16] = "";
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    size_t size = fread(start, 1, sizeof start, file);
    fclose(file);
    return size == sizeof start && memcmp(start, "SQLite format 3", sizeof start) == 0;
}

enum hn_status hn_cache_import_file(const struct hn_cache_command *command, const char *path,
                                    struct hn_cache_imported *imported, struct hn_error *err)
{
    *imported = (struct hn_cache_imported){.known = false};
    return hn_cache_is_database(path) ? import_cache(command, path, imported, err)
                                      : import_recording(command, path, imported, err);
}

void hn_cache_print_imported(const char *path, const struct hn_cache_imported *imported)
{
    if (imported->known)
        printf("%s: all of it was there already\n", path);
    else if (imported->kernel_tuner)
        printf("%s: %lld records of Kernel Tuner\n", path, (long long)imported->records);
    else
        printf("%s: %lld records, %lld images\n", path, (long long)imported->records,
               (long long)imported->images);
}

static enum hn_status report(const struct hn_cache_command *command, const char *path,
                             const struct hn_cache_imported *imported, json_t *files,
                             struct hn_error *err)
{
    if (command->options.json) {
        json_t *file =
            json_pack("{s:s, s:I, s:I, s:b, s:b}", "file", path, "records",
                      (json_int_t)imported->records, "images", (json_int_t)imported->images,
                      "known", imported->known, "kernel_tuner", imported->kernel_tuner);
        return json_array_append_new(files, file) == 0 ? HN_OK : hn_fail_memory(err);
    }
    if (!command->options.quiet)
        hn_cache_print_imported(path, imported);
    return HN_OK;
}

enum hn_status hn_cache_import(const struct hn_cache_command *command, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    json_t *files = json_array();
    for (size_t i = 0; status == HN_OK && i < command->argument_count; i++) {
        const char *path = command->arguments[i];
        struct hn_cache_imported imported;
        status = hn_cache_import_file(command, path, &imported, err);
        if (status == HN_OK)
            status = report(command, path, &imported, files, err);
    }
    if (status == HN_OK && command->options.json)
        return hn_cache_print_json(json_pack("{s:s, s:o}", "cache", command->path, "files", files),
                                   err);
    json_decref(files);
    return status;
}
