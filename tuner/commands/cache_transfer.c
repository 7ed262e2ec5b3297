/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/hash.h"
#include "base/text.h"
#include "cache/record_json.h"
#include "cache/recording.h"
#include "tuner/commands/cache_command.h"

static bool is_folder(const char *path)
{
    struct stat info;
    size_t length = strlen(path);
    return (length > 0 && path[length - 1] == '/') ||
           (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

/* Letters and digits in small, everything else as one '-': "nvidia-h200". */
static void append_slug(struct hn_text *text, const char *string)
{
    bool gap = false;
    for (const char *c = string; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c) && *c != '_') {
            gap = true;
            continue;
        }
        char letter = (char)tolower((unsigned char)*c);
        if (gap && c != string)
            hn_text_append(text, "-");
        hn_text_append_bytes(text, &letter, 1);
        gap = false;
    }
}

/* "FOLDER/matmul-k-32-m-4096-nvidia-h200-cold.json.gz"; NULL when out of memory. */
static char *file_in_folder(const char *folder, const struct hn_tuned *tuned)
{
    struct hn_text text;
    const struct hn_identity *identity = &tuned->identity;
    char *problem = hn_cache_problem_text(&identity->problem);
    hn_text_init(&text);
    hn_text_printf(&text, "%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/");
    append_slug(&text, identity->kernel);
    hn_text_append(&text, "-");
    if (problem != NULL && identity->problem.count > 0) {
        append_slug(&text, problem);
        hn_text_append(&text, "-");
    }
    append_slug(&text, identity->device.name);
    hn_text_append(&text, "-");
    append_slug(&text, identity->regime);
    hn_text_append(&text, ".json.gz");
    free(problem);
    return hn_text_take(&text);
}

/* The parameters in declared order, where the plan is kept; else in the point's order. */
static enum hn_status set_parameters(const struct hn_cache_command *command,
                                     const struct hn_tuned *tuned, struct hn_recording *recording,
                                     struct hn_error *err)
{
    struct hn_stored_plan plan;
    const struct hn_bindings *point = &tuned->best.point;
    json_t *json = NULL;
    if (hn_store_get_plan(command->store, &tuned->version, &plan, NULL) == HN_OK)
        json = json_loads(plan.json, 0, NULL);
    hn_stored_plan_free(&plan);
    const json_t *declared = json_object_get(json, "parameters");
    bool usable = json_array_size(declared) == point->count;
    for (size_t i = 0; usable && i < point->count; i++) {
        const char *name = json_string_value(json_array_get(declared, i));
        usable = name != NULL && hn_bindings_get(point, name) != NULL;
    }
    recording->parameters = calloc(point->count + 1, sizeof *recording->parameters);
    enum hn_status status = recording->parameters == NULL ? hn_fail_memory(err) : HN_OK;
    for (size_t i = 0; status == HN_OK && i < point->count; i++) {
        recording->parameters[i] =
            strdup(usable ? json_string_value(json_array_get(declared, i)) : point->names[i]);
        recording->parameter_count += recording->parameters[i] != NULL;
        if (recording->parameters[i] == NULL)
            status = hn_fail_memory(err);
    }
    json_decref(json);
    return status;
}

static char *date_now(void)
{
    char date[32];
    struct tm parts;
    time_t now = time(NULL);
    if (gmtime_r(&now, &parts) == NULL ||
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        return NULL;
    return strdup(date);
}

static enum hn_status make_recording(const struct hn_cache_command *command,
                                     const struct hn_tuned *tuned, struct hn_recording *recording,
                                     struct hn_error *err)
{
    *recording = (struct hn_recording){.from_hone = true, .version = tuned->version};
    enum hn_status status = hn_identity_copy(&recording->identity, &tuned->identity, err);
    if (status == HN_OK)
        status = hn_store_load(command->store, &tuned->identity, &tuned->version, tuned->simulated,
                               &recording->records, err);
    if (status == HN_OK)
        status = set_parameters(command, tuned, recording, err);
    recording->command = strdup("hone cache export");
    recording->date = date_now();
    return status;
}

static enum hn_status export_one(const struct hn_cache_command *command,
                                 const struct hn_tuned *tuned, const char *path,
                                 struct hn_error *err)
{
    struct hn_recording recording;
    enum hn_status status = make_recording(command, tuned, &recording, err);
    if (status == HN_OK)
        status = hn_recording_save(path, &recording, err);
    if (status == HN_OK && !command->options.quiet)
        printf("%s: %zu points of %s on %s\n", path, recording.records.count,
               tuned->identity.kernel, tuned->identity.device.name);
    hn_recording_finish(&recording);
    return status;
}

/* A recording tells measurements; the results of a simulation must not come back as such. */
static enum hn_status drop_simulated(struct hn_tuned_list *list, struct hn_error *err)
{
    size_t kept = 0;
    size_t all = list->count;
    for (size_t i = 0; i < all; i++) {
        if (!list->items[i].simulated) {
            list->items[kept++] = list->items[i];
            continue;
        }
        hn_identity_finish(&list->items[i].identity);
        hn_record_finish(&list->items[i].best);
    }
    list->count = kept;
    if (kept > 0)
        return HN_OK;
    return hn_fail(err, HN_ENOTFOUND,
                   "the tunings that fit are simulated: only measured ones are exported");
}

static enum hn_status fail_several(const struct hn_tuned_list *list, const char *file,
                                   struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    for (size_t i = 0; i < list->count && i < 20; i++) {
        char *problem = hn_cache_problem_text(&list->items[i].identity.problem);
        hn_text_printf(&text, "\n  %s  %s  %s", problem == NULL ? "" : problem,
                       list->items[i].identity.device.name, list->items[i].identity.regime);
        free(problem);
    }
    enum hn_status status =
        hn_fail(err, HN_EUSAGE,
                "%zu tunings fit, but '%s' is one file: name a folder (with a / at the end), or "
                "choose with -p and --device-name:%s",
                list->count, file, text.failed ? "" : text.data);
    hn_text_finish(&text);
    return status;
}

enum hn_status hn_cache_export(const struct hn_cache_command *command, struct hn_error *err)
{
    struct hn_tuned_list list;
    const char *file = command->arguments[1];
    enum hn_status status = hn_cache_select(command, command->arguments[0], &list, err);
    if (status != HN_OK)
        return status;
    status = drop_simulated(&list, err);
    bool folder = is_folder(file);
    if (status == HN_OK && list.count > 1 && !folder)
        status = fail_several(&list, file, err);
    if (status == HN_OK && folder)
        (void)mkdir(file, 0777);
    for (size_t i = 0; status == HN_OK && i < list.count; i++) {
        char *path = folder ? file_in_folder(file, &list.items[i]) : strdup(file);
        status =
            path == NULL ? hn_fail_memory(err) : export_one(command, &list.items[i], path, err);
        free(path);
    }
    hn_tuned_list_free(&list);
    return status;
}

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
    const struct hn_store_session session = {.identity = &recording->identity,
                                             .version = &recording->version,
                                             .command = recording->command,
                                             .origin = origin.hex,
                                             .started = newest};
    return hn_store_import(command->store, &session, &recording->records, added, err);
}

/* What came of one file. */
struct imported {
    int64_t records;
    int64_t images;
    bool known; /* all of it was there already */
};

static enum hn_status import_recording(const struct hn_cache_command *command, const char *path,
                                       struct imported *imported, struct hn_error *err)
{
    struct hn_recording recording;
    bool added = false;
    enum hn_status status = hn_recording_load(path, &recording, err);
    if (status != HN_OK)
        return status;
    if (!recording.from_hone)
        status = hn_fail(err, HN_EFORMAT,
                         "'%s' is a cache file of Kernel Tuner, which does not say what was "
                         "measured nor how; `hone simulate` and --simulate read it",
                         path);
    if (status == HN_OK)
        status = add_recording(command, &recording, &added, err);
    imported->known = !added;
    imported->records = added ? (int64_t)recording.records.count : 0;
    hn_recording_finish(&recording);
    return status;
}

static enum hn_status import_cache(const struct hn_cache_command *command, const char *path,
                                   struct imported *imported, struct hn_error *err)
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

static bool is_database(const char *path)
{
    char start[16] = "";
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    size_t size = fread(start, 1, sizeof start, file);
    fclose(file);
    return size == sizeof start && memcmp(start, "SQLite format 3", sizeof start) == 0;
}

static enum hn_status report(const struct hn_cache_command *command, const char *path,
                             const struct imported *imported, json_t *files, struct hn_error *err)
{
    if (command->options.json) {
        json_t *file = json_pack("{s:s, s:I, s:I, s:b}", "file", path, "records",
                                 (json_int_t)imported->records, "images",
                                 (json_int_t)imported->images, "known", imported->known);
        return json_array_append_new(files, file) == 0 ? HN_OK : hn_fail_memory(err);
    }
    if (command->options.quiet)
        return HN_OK;
    if (imported->known)
        printf("%s: all of it was there already\n", path);
    else
        printf("%s: %lld records, %lld images\n", path, (long long)imported->records,
               (long long)imported->images);
    return HN_OK;
}

enum hn_status hn_cache_import(const struct hn_cache_command *command, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    json_t *files = json_array();
    for (size_t i = 0; status == HN_OK && i < command->argument_count; i++) {
        const char *path = command->arguments[i];
        struct imported imported = {.known = false};
        status = is_database(path) ? import_cache(command, path, &imported, err)
                                   : import_recording(command, path, &imported, err);
        if (status == HN_OK)
            status = report(command, path, &imported, files, err);
    }
    if (status == HN_OK && command->options.json)
        return hn_cache_print_json(json_pack("{s:s, s:o}", "cache", command->path, "files", files),
                                   err);
    json_decref(files);
    return status;
}
