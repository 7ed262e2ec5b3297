/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "cache/record/record_json.h"
#include "cache/recording/recording.h"
#include "cache/store/store.h"
#include "tuner/commands/cache_command.h"
#include "tuner/commands/open_cache.h"
#include "tuner/config/config_files.h"

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
    json_t *rule = recording->rule != NULL ? hn_rule_to_json(recording->rule) : NULL;
    char *text = rule != NULL ? json_dumps(rule, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    hn_text_append(&all, text != NULL ? text : "");
    free(text);
    json_decref(rule);
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

static enum hn_status import_records(const struct hn_cache_command *command, const char *path,
                                     const struct hn_recording *recording,
                                     const struct hn_store_plan *plan, bool *added,
                                     struct hn_error *err)
{
    struct hn_hash origin;
    bool known = false;
    double newest = recording->learnt;
    for (size_t i = 0; i < recording->records.count; i++) {
        if (recording->records.items[i].time > newest)
            newest = recording->records.items[i].time;
    }
    *added = false;
    enum hn_status status =
        recording->rule == NULL ? is_known(command, recording, &known, err) : HN_OK;
    if (status != HN_OK || known)
        return status;
    status = name_origin(recording, &origin, err);
    if (status != HN_OK)
        return status;
    struct hn_origin from;
    hn_origin_of_file(path, &from);
    const struct hn_store_session session = {.identity = &recording->identity,
                                             .version = &recording->version,
                                             .plan = plan,
                                             .command = recording->command,
                                             .from = command->own ? NULL : &from,
                                             .origin = origin.hex,
                                             .started = newest,
                                             .rule = recording->rule};
    return hn_store_import(command->store, &session, &recording->records, added, err);
}

static bool has_plan(const struct hn_cache_command *command, const struct hn_recording *recording)
{
    struct hn_stored_plan plan;
    bool found = hn_store_get_plan(command->store, recording->identity.kernel, &recording->version,
                                   &plan, NULL) == HN_OK;
    if (found)
        hn_stored_plan_free(&plan);
    return found;
}

/* The plan is that of the config where it was asked for, else the recording's own, which does not
 * replace one that is there. */
static enum hn_status add_recording(const struct hn_cache_command *command, const char *path,
                                    const struct hn_recording *recording,
                                    const struct hn_config_kept *kept,
                                    struct hn_cache_imported *imported, struct hn_error *err)
{
    bool added = false;
    const struct hn_stored_plan *source = imported->completed ? &kept->plan : &recording->plan;
    struct hn_store_file *files = calloc(source->file_count + 1, sizeof *files);
    if (files == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < source->file_count; i++)
        files[i] = (struct hn_store_file){source->files[i].name, source->files[i].text};
    const struct hn_store_plan plan = {source->json, files, source->file_count};
    enum hn_status status =
        import_records(command, path, recording, plan.json == NULL ? NULL : &plan, &added, err);
    if (status == HN_OK && !added && plan.json != NULL &&
        hn_version_knows_template(&recording->version) &&
        (imported->completed || !has_plan(command, recording)))
        status = hn_store_put_plan(command->store, recording->identity.kernel, &recording->version,
                                   &plan, err);
    free(files);
    imported->known = !added;
    imported->rules = added && recording->rule != NULL;
    imported->records = added ? (int64_t)recording->records.count : 0;
    return status;
}

/* Whether the recording was tuned with the config; where not, says what differs. */
static bool fits_config(const struct hn_cache_command *command, const char *path,
                        const struct hn_recording *recording, const struct hn_config_kept *kept)
{
    struct hn_text reason;
    struct hn_version version = kept->version;
    memcpy(version.driver, recording->version.driver, sizeof version.driver);
    memcpy(version.nvrtc, recording->version.nvrtc, sizeof version.nvrtc);
    bool same_kernel = strcmp(recording->identity.kernel, kept->kernel) == 0;
    bool fits = same_kernel && hn_version_equal(&recording->version, &version);
    if (fits || command->options.quiet)
        return fits;
    hn_text_init(&reason);
    if (!recording->from_hone)
        hn_text_append(&reason, "Kernel Tuner measured it");
    else if (!same_kernel)
        hn_text_printf(&reason, "it is of kernel '%s', not '%s'", recording->identity.kernel,
                       kept->kernel);
    else {
        hn_text_append(&reason, "it was tuned with another state of ");
        hn_version_append_difference(&reason, &recording->version, &version);
    }
    fprintf(stderr, "hone: warning: '%s' takes no plan and template of '%s': %s\n", path,
            command->config, reason.failed ? "" : reason.data);
    hn_text_finish(&reason);
    return false;
}

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

/* What the config has for a recording: where it is of another kernel, as for its own first problem.
 */
static enum hn_status keep_config(const struct hn_config *config,
                                  const struct hn_identity *identity, struct hn_config_kept *kept,
                                  struct hn_error *err)
{
    bool own = strcmp(identity->kernel, config->plan->kernel) == 0;
    return hn_config_keep(config, own ? &identity->problem : &config->problems[0], kept, err);
}

static enum hn_status import_recording(const struct hn_cache_command *command, const char *path,
                                       struct hn_cache_imported *imported, struct hn_error *err)
{
    struct hn_recording recording;
    struct hn_config_kept kept = {.kernel = NULL};
    enum hn_status status = hn_recording_load(path, &recording, err);
    if (status != HN_OK)
        return status;
    if (command->read != NULL)
        status = keep_config(command->read, &recording.identity, &kept, err);
    if (status == HN_OK && !recording.from_hone)
        status = complete(command, path, &recording, err);
    imported->kernel_tuner = !recording.from_hone;
    imported->completed =
        status == HN_OK && command->read != NULL && fits_config(command, path, &recording, &kept);
    struct hn_error reason = {0};
    if (status == HN_OK) {
        status = add_recording(command, path, &recording, &kept, imported, &reason);
        if (status == HN_EFORMAT)
            (void)hn_fail(err, status, "'%s': %.3000s", path, reason.message);
        else if (status != HN_OK)
            (void)hn_fail(err, status, "%s", reason.message);
    }
    hn_config_kept_finish(&kept);
    hn_recording_finish(&recording);
    return status;
}

static enum hn_status import_cache(const struct hn_cache_command *command, const char *path,
                                   struct hn_cache_imported *imported, struct hn_error *err)
{
    struct hn_store *from;
    struct hn_store_merged merged = {.sessions = 0};
    const struct hn_cache_place place = {
        .path = path, .images = command->images, .quiet = command->options.quiet};
    enum hn_status status = hn_cache_open_place(&place, HN_STORE_READ, &from, NULL, err);
    if (status != HN_OK)
        return status;
    status = hn_store_merge(command->store, from, command->images, &merged, err);
    imported->known = merged.sessions == 0;
    imported->records = merged.records;
    imported->images = merged.images;
    imported->rules = merged.rules;
    hn_store_close(from);
    return status;
}

bool hn_cache_is_database(const char *path)
{
    char start[16] = "";
    const char *reason = NULL;
    if (hn_store_is_server(path))
        return true;
    FILE *file = hn_file_stream(path, &reason);
    if (file == NULL)
        return false;
    size_t size = fread(start, 1, sizeof start, file);
    fclose(file);
    return size == sizeof start && memcmp(start, "SQLite format 3", sizeof start) == 0;
}

enum hn_status hn_cache_import_file(const struct hn_cache_command *command, const char *path,
                                    struct hn_cache_imported *imported, struct hn_error *err)
{
    char *shown = hn_cache_shown(path);
    *imported = (struct hn_cache_imported){.known = false};
    snprintf(imported->shown, sizeof imported->shown, "%s", shown == NULL ? "" : shown);
    free(shown);
    if (!hn_cache_is_database(path))
        return import_recording(command, path, imported, err);
    if (command->read != NULL)
        return hn_fail(err, HN_EUSAGE,
                       "--config: '%s' is a cache, which brings its plans along; expected "
                       "recordings",
                       imported->shown);
    return import_cache(command, path, imported, err);
}

void hn_cache_print_imported(const struct hn_cache_imported *imported)
{
    const char *taken = imported->completed ? "; plan and template taken from the config" : "";
    if (imported->known)
        printf("%s: all of it was there already%s\n", imported->shown, taken);
    else if (imported->kernel_tuner)
        printf("%s: %lld records of Kernel Tuner\n", imported->shown, (long long)imported->records);
    else
        printf("%s: %lld records, %lld images%s%s\n", imported->shown, (long long)imported->records,
               (long long)imported->images,
               imported->rules > 0 ? ", with the rules of families" : "", taken);
}

static enum hn_status report(const struct hn_cache_command *command,
                             const struct hn_cache_imported *imported, json_t *files,
                             struct hn_error *err)
{
    if (command->options.json) {
        json_t *file =
            json_pack("{s:s, s:I, s:I, s:b, s:b, s:b}", "file", imported->shown, "records",
                      (json_int_t)imported->records, "images", (json_int_t)imported->images,
                      "known", imported->known, "kernel_tuner", imported->kernel_tuner, "completed",
                      imported->completed);
        return json_array_append_new(files, file) == 0 ? HN_OK : hn_fail_memory(err);
    }
    if (!command->options.quiet)
        hn_cache_print_imported(imported);
    return HN_OK;
}

static enum hn_status import_files(const struct hn_cache_command *command, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    json_t *files = json_array();
    for (size_t i = 0; status == HN_OK && i < command->argument_count; i++) {
        const char *path = command->arguments[i];
        struct hn_cache_imported imported;
        status = hn_cache_import_file(command, path, &imported, err);
        if (status == HN_OK)
            status = report(command, &imported, files, err);
    }
    if (status == HN_OK && command->options.json)
        return hn_cache_print_json(json_pack("{s:s, s:o}", "cache", command->path, "files", files),
                                   err);
    json_decref(files);
    return status;
}

enum hn_status hn_cache_import(const struct hn_cache_command *command, struct hn_error *err)
{
    if (command->config == NULL)
        return import_files(command, err);
    struct hn_config *config;
    struct hn_cache_command completing = *command;
    enum hn_status status = hn_config_load(command->config, &config, err);
    if (status != HN_OK)
        return status;
    completing.read = config;
    status = hn_config_check_files(config, err);
    if (status == HN_OK)
        status = import_files(&completing, err);
    hn_config_destroy(config);
    return status;
}
