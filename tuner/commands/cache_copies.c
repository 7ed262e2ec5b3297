/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "cache/record/record_json.h"
#include "cache/recording/recording.h"
#include "tuner/commands/cache_command.h"
#include "tuner/commands/open_cache.h"
#include "tuner/config/config_files.h"

/* Copies of tunings: into the cache from recordings and other caches, and out of it into
 * recordings. */

static char *record_text(const struct hn_record *record)
{
    json_t *json = hn_needed(hn_record_to_json(record));
    char *text = hn_needed(json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS));
    json_decref(json);
    return text;
}

/* The name under which this recording is imported once: a hash of all that it says. */
static struct hn_hash name_origin(const struct hn_recording *recording)
{
    struct hn_text all;
    hn_text_init(&all);
    hn_text_append(&all, recording->identity.kernel);
    hn_bindings_append(&all, &recording->identity.problem);
    hn_text_append(&all, recording->identity.device.name);
    for (size_t i = 0; i < recording->records.count; i++) {
        char *text = record_text(&recording->records.items[i]);
        hn_text_append(&all, text);
        free(text);
    }
    if (recording->rule != NULL) {
        json_t *rule = hn_needed(hn_rule_to_json(recording->rule));
        char *text = hn_needed(json_dumps(rule, JSON_COMPACT | JSON_SORT_KEYS));
        hn_text_append(&all, text);
        free(text);
        json_decref(rule);
    }
    char *text = hn_needed(hn_text_take(&all));
    struct hn_hash origin = hn_hash_string(text);
    free(text);
    return origin;
}

static bool records_equal(const struct hn_record *a, const struct hn_record *b)
{
    char *first = record_text(a);
    char *second = record_text(b);
    bool equal = strcmp(first, second) == 0;
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
static bool is_known(const struct hn_cache *cache, const struct hn_recording *recording,
                     struct hn_error *err)
{
    struct hn_records there;
    if (recording->rule != NULL || hn_store_load(cache->store, &recording->identity,
                                                 &recording->version, false, &there, err) != HN_OK)
        return false;
    bool known = there.count >= recording->records.count;
    if (there.count > 0)
        qsort(there.items, there.count, sizeof *there.items, compare_points);
    for (size_t i = 0; known && i < recording->records.count; i++) {
        const struct hn_record *record = &recording->records.items[i];
        const struct hn_record *found =
            bsearch(record, there.items, there.count, sizeof *there.items, compare_points);
        known = found != NULL && records_equal(found, record);
    }
    hn_records_free(&there);
    return known;
}

/* False where it is there already. */
static bool import_records(const struct hn_cache *cache, const char *path,
                           const struct hn_recording *recording, const struct hn_stored_plan *plan,
                           struct hn_error *err)
{
    bool added = false;
    struct hn_origin from;
    double newest = recording->learnt;
    if (is_known(cache, recording, err) || hn_failed(err))
        return false;
    for (size_t i = 0; i < recording->records.count; i++) {
        if (recording->records.items[i].time > newest)
            newest = recording->records.items[i].time;
    }
    const struct hn_hash origin = name_origin(recording);
    hn_origin_of_file(path, &from);
    const struct hn_store_session session = {.identity = &recording->identity,
                                             .version = &recording->version,
                                             .plan = plan,
                                             .command = recording->command,
                                             .from = cache->options->own ? NULL : &from,
                                             .origin = origin.hex,
                                             .started = newest,
                                             .rule = recording->rule};
    (void)hn_store_import(cache->store, &session, &recording->records, &added, err);
    return added;
}

static bool has_plan(const struct hn_cache *cache, const struct hn_recording *recording)
{
    struct hn_stored_plan plan;
    bool found = hn_store_get_plan(cache->store, recording->identity.kernel, &recording->version,
                                   &plan, NULL) == HN_OK;
    if (found)
        hn_stored_plan_free(&plan);
    return found;
}

/* The plan is that of the config where it was asked for, else the recording's own, which does not
 * replace one that is there. */
static void add_recording(const struct hn_cache *cache, const char *path,
                          const struct hn_recording *recording, const struct hn_config_kept *kept,
                          struct hn_cache_imported *imported, struct hn_error *err)
{
    const struct hn_stored_plan *plan = imported->completed ? &kept->plan : &recording->plan;
    bool added = import_records(cache, path, recording, plan->json == NULL ? NULL : plan, err);
    if (!hn_failed(err) && !added && plan->json != NULL &&
        hn_version_knows_template(&recording->version) &&
        (imported->completed || !has_plan(cache, recording)))
        (void)hn_store_put_plan(cache->store, recording->identity.kernel, &recording->version, plan,
                                err);
    imported->known = !added;
    imported->rules = added && recording->rule != NULL;
    imported->records = added ? (int64_t)recording->records.count : 0;
}

/* Whether the recording was tuned with the config; where not, says what differs. */
static bool fits_config(const struct hn_cache *cache, const char *path,
                        const struct hn_recording *recording, const struct hn_config_kept *kept)
{
    struct hn_text reason;
    struct hn_version version = kept->version;
    memcpy(version.driver, recording->version.driver, sizeof version.driver);
    memcpy(version.nvrtc, recording->version.nvrtc, sizeof version.nvrtc);
    bool same_kernel = strcmp(recording->identity.kernel, kept->kernel) == 0;
    bool fits = same_kernel && hn_version_equal(&recording->version, &version);
    if (fits || cache->options->quiet)
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
            cache->options->configs.items[cache->options->configs.count - 1],
            reason.failed ? "" : reason.data);
    hn_text_finish(&reason);
    return false;
}

/* What a store needs to know of a cache file of Kernel Tuner beyond what the file says. */
static void complete(const struct hn_cache *cache, const char *path, struct hn_recording *recording,
                     struct hn_error *err)
{
    struct hn_text signature;
    struct hn_device_identity *device = &recording->identity.device;
    const char *name = cache->options->device_name;
    if (name != NULL && strlen(name) >= sizeof device->name)
        hn_fail(err, HN_EUSAGE, "--device-name: found %zu bytes, expected fewer than %zu",
                strlen(name), sizeof device->name);
    else if (name != NULL)
        snprintf(device->name, sizeof device->name, "%s", name);
    if (!hn_failed(err) && device->name[0] == '\0')
        hn_fail(err, HN_EFORMAT,
                "'%s' does not say which device it is of: name it with --device-name", path);
    recording->command = hn_need_copy("Kernel Tuner");
    /* It does not say what the arguments are. What it does say tells its tunings apart from each
     * other and from Hone's: "Kernel Tuner: block_size_x,tile_size_x". */
    hn_text_init(&signature);
    hn_text_append(&signature, "Kernel Tuner: ");
    for (size_t i = 0; i < recording->parameter_count; i++)
        hn_text_printf(&signature, "%s%s", i > 0 ? "," : "", recording->parameters[i]);
    free(recording->identity.signature);
    recording->identity.signature = hn_needed(hn_text_take(&signature));
}

/* What the config has for a recording: where it is of another kernel, as for its own first problem.
 */
static void keep_config(const struct hn_config *config, const struct hn_identity *identity,
                        struct hn_config_kept *kept, struct hn_error *err)
{
    bool own = strcmp(identity->kernel, config->plan->kernel) == 0;
    (void)hn_config_keep(config, own ? &identity->problem : &config->problems[0], kept, err);
}

static void import_recording(const struct hn_cache *cache, const char *path,
                             struct hn_cache_imported *imported, struct hn_error *err)
{
    struct hn_recording recording;
    struct hn_config_kept kept = {.kernel = NULL};
    if (hn_recording_load(path, &recording, err) != HN_OK)
        return;
    if (cache->config != NULL)
        keep_config(cache->config, &recording.identity, &kept, err);
    imported->kernel_tuner = !recording.from_hone;
    if (!hn_failed(err) && !recording.from_hone)
        complete(cache, path, &recording, err);
    if (!hn_failed(err)) {
        imported->completed = cache->config != NULL && fits_config(cache, path, &recording, &kept);
        add_recording(cache, path, &recording, &kept, imported, err);
        const struct hn_error reason = *err;
        if (reason.status == HN_EFORMAT)
            hn_fail(err, HN_EFORMAT, "'%s': %.3000s", path, reason.message);
    }
    hn_config_kept_finish(&kept);
    hn_recording_finish(&recording);
}

static void import_cache(const struct hn_cache *cache, const char *path,
                         struct hn_cache_imported *imported, struct hn_error *err)
{
    struct hn_store *from;
    struct hn_store_merged merged = {.sessions = 0};
    const struct hn_options *options = cache->options;
    const struct hn_cache_place place = {
        .path = path, .images = options->images, .quiet = options->quiet};
    if (hn_cache_open_place(&place, HN_STORE_READ, &from, NULL, err) != HN_OK)
        return;
    (void)hn_store_merge(cache->store, from, options->images, &merged, err);
    imported->known = merged.sessions == 0;
    imported->records = merged.records;
    imported->images = merged.images;
    imported->rules = merged.rules;
    hn_store_close(from);
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

void hn_cache_import_file(const struct hn_cache *cache, const char *path,
                          struct hn_cache_imported *imported, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    char *shown = hn_needed(hn_cache_shown(path));
    *imported = (struct hn_cache_imported){.known = false};
    snprintf(imported->shown, sizeof imported->shown, "%s", shown);
    free(shown);
    if (!hn_cache_is_database(path))
        import_recording(cache, path, imported, err);
    else if (cache->config != NULL)
        hn_fail(err, HN_EUSAGE,
                "--config: '%s' is a cache, which brings its plans along; expected recordings",
                imported->shown);
    else
        import_cache(cache, path, imported, err);
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

static void import_files(const struct hn_cache *cache, struct hn_error *err)
{
    const struct hn_options *options = cache->options;
    json_t *files = json_array();
    for (size_t i = 0; i < options->arguments.count && !hn_failed(err); i++) {
        struct hn_cache_imported imported;
        hn_cache_import_file(cache, options->arguments.items[i], &imported, err);
        if (!hn_failed(err) && options->json)
            (void)json_array_append_new(
                files, hn_needed(json_pack("{s:s, s:I, s:I, s:b, s:b, s:b}", "file", imported.shown,
                                           "records", (json_int_t)imported.records, "images",
                                           (json_int_t)imported.images, "known", imported.known,
                                           "kernel_tuner", imported.kernel_tuner, "completed",
                                           imported.completed)));
        else if (!hn_failed(err) && !options->quiet)
            hn_cache_print_imported(&imported);
    }
    if (options->json)
        hn_cache_print(cache, json_pack("{s:s, s:O}", "cache", cache->path, "files", files), NULL,
                       err);
    json_decref(files);
}

void hn_cache_import(struct hn_cache *cache, struct hn_error *err)
{
    const struct hn_texts *configs = &cache->options->configs;
    struct hn_config *config = NULL;
    if (!hn_failed(err) && configs->count > 0 &&
        hn_config_load(configs->items[configs->count - 1], &config, err) == HN_OK)
        (void)hn_config_check_files(config, err);
    cache->config = config;
    import_files(cache, err);
    hn_config_destroy(config);
}

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
        if (!hn_is_letter_or_digit(*c) && *c != '_') {
            gap = true;
            continue;
        }
        char letter = hn_lower(*c);
        if (gap && c != string)
            hn_text_append(text, "-");
        hn_text_append_bytes(text, &letter, 1);
        gap = false;
    }
}

/* "FOLDER/matmul-k-32-m-4096-nvidia-h200-cold" */
static void append_file(struct hn_text *text, const char *folder,
                        const struct hn_identity *identity)
{
    char *problem = hn_cache_problem_text(&identity->problem);
    hn_text_printf(text, "%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/");
    append_slug(text, identity->kernel);
    hn_text_append(text, "-");
    if (identity->problem.count > 0) {
        append_slug(text, problem);
        hn_text_append(text, "-");
    }
    append_slug(text, identity->device.name);
    hn_text_append(text, "-");
    append_slug(text, identity->regime);
    free(problem);
}

/* With ".json.gz" or "-t4.json" behind. */
static char *file_in_folder(const char *folder, const struct hn_tuned *tuned, bool t4)
{
    struct hn_text text;
    hn_text_init(&text);
    append_file(&text, folder, &tuned->identity);
    if (hn_cache_is_kernel_tuners(tuned)) {
        /* which is not the only one of that name when it had other parameters */
        struct hn_hash hash = hn_hash_string(tuned->identity.signature);
        hn_text_printf(&text, "-kernel-tuner-%.6s", hash.hex);
    }
    hn_text_append(&text, t4 ? "-t4.json" : ".json.gz");
    return hn_needed(hn_text_take(&text));
}

/* The parameters in declared order, as far as that is known: from the plan, or for tunings of
 * Kernel Tuner from the signature. NULL when it is not. */
static json_t *declared_parameters(const struct hn_cache *cache, const struct hn_tuned *tuned)
{
    if (hn_cache_is_kernel_tuners(tuned)) {
        const char *colon = strchr(tuned->identity.signature, ':');
        char *names = colon != NULL ? hn_need_copy(colon + 1) : NULL;
        json_t *declared = json_array();
        char *rest = names;
        for (char *name = strsep(&rest, " ,"); name != NULL; name = strsep(&rest, " ,"))
            if (name[0] != '\0')
                (void)json_array_append_new(declared, json_string(name));
        free(names);
        return declared;
    }
    struct hn_stored_plan plan;
    json_t *json = NULL;
    if (hn_store_get_plan(cache->store, tuned->identity.kernel, &tuned->version, &plan, NULL) ==
        HN_OK)
        json = json_loads(plan.json, 0, NULL);
    hn_stored_plan_free(&plan);
    json_t *declared = json_incref(json_object_get(json, "parameters"));
    json_decref(json);
    return declared;
}

/* In the point's order where no other is known: `declared` may be NULL. */
static void set_parameters(const json_t *declared, const struct hn_bindings *point,
                           struct hn_recording *recording)
{
    bool usable = json_array_size(declared) == point->count;
    for (size_t i = 0; usable && i < point->count; i++) {
        const char *name = json_string_value(json_array_get(declared, i));
        usable = name != NULL && hn_bindings_get(point, name) != NULL;
    }
    recording->parameters = hn_need(point->count, sizeof *recording->parameters);
    for (size_t i = 0; i < point->count; i++)
        recording->parameters[recording->parameter_count++] =
            hn_need_copy(usable ? json_string_value(json_array_get(declared, i)) : point->names[i]);
}

static char *date_now(void)
{
    char date[32] = "";
    struct tm parts;
    time_t now = time(NULL);
    if (gmtime_r(&now, &parts) != NULL)
        (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return hn_need_copy(date);
}

/* Writes it with the plan; what was imported without one is exported without one. */
static void save(const struct hn_cache *cache, const char *path, struct hn_recording *recording,
                 struct hn_error *err)
{
    (void)hn_store_get_plan(cache->store, recording->identity.kernel, &recording->version,
                            &recording->plan, NULL);
    recording->command = hn_need_copy("hone cache export");
    recording->date = date_now();
    if (!hn_failed(err))
        (void)(cache->options->format == 1 ? hn_recording_save_t4(path, recording, err)
                                           : hn_recording_save(path, recording, err));
}

static void export_one(const struct hn_cache *cache, const struct hn_tuned *tuned, const char *path,
                       struct hn_error *err)
{
    struct hn_recording recording = {.from_hone = true, .version = tuned->version};
    if (hn_failed(err) || hn_identity_copy(&recording.identity, &tuned->identity, err) != HN_OK)
        return;
    (void)hn_store_load(cache->store, &tuned->identity, &tuned->version, tuned->simulated,
                        &recording.records, err);
    json_t *declared = declared_parameters(cache, tuned);
    set_parameters(declared, &tuned->best.point, &recording);
    json_decref(declared);
    save(cache, path, &recording, err);
    if (!hn_failed(err) && !cache->options->quiet)
        printf("%s: %zu point%s of %s on %s\n", path, recording.records.count,
               hn_plural(recording.records.count), tuned->identity.kernel,
               tuned->identity.device.name);
    hn_recording_finish(&recording);
}

/* A recording tells measurements; the results of a simulation must not come back as such. */
static void drop_simulated(struct hn_tuned_list *list, struct hn_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i].simulated) {
            list->items[kept++] = list->items[i];
            continue;
        }
        hn_identity_finish(&list->items[i].identity);
        hn_record_finish(&list->items[i].best);
    }
    list->count = kept;
    if (kept == 0 && !hn_failed(err))
        hn_fail(err, HN_ENOTFOUND,
                "the tunings that fit are simulated: only measured ones are exported");
}

static void fail_several(const struct hn_tuned_list *list, const char *file, struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    for (size_t i = 0; i < list->count && i < 20; i++) {
        char *problem = hn_cache_problem_text(&list->items[i].identity.problem);
        hn_text_printf(&text, "\n  %s  %s  %s", problem, list->items[i].identity.device.name,
                       list->items[i].identity.regime);
        free(problem);
    }
    hn_fail(err, HN_EUSAGE,
            "%zu tunings fit, but '%s' is one file: name a folder (with a / at the end), or "
            "choose with -p and --device-name:%s",
            list->count, file, text.data);
    hn_text_finish(&text);
}

/* Whether a newer tuning goes to the same file: of a config with other arguments or another
 * objective since. */
static bool is_superseded(const struct hn_tuned_list *list, char *const *paths, size_t index)
{
    for (size_t i = 0; i < list->count; i++) {
        double newer_by = list->items[i].best.time - list->items[index].best.time;
        if (i != index && strcmp(paths[i], paths[index]) == 0 &&
            (newer_by > 0 || (newer_by == 0 && i > index)))
            return true;
    }
    return false;
}

static void export_to_folder(const struct hn_cache *cache, const struct hn_tuned_list *list,
                             const char *folder, struct hn_error *err)
{
    char **paths = hn_need(list->count, sizeof *paths);
    (void)mkdir(folder, 0777);
    for (size_t i = 0; i < list->count; i++)
        paths[i] = file_in_folder(folder, &list->items[i], cache->options->format == 1);
    for (size_t i = 0; i < list->count; i++)
        if (!is_superseded(list, paths, i))
            export_one(cache, &list->items[i], paths[i], err);
    for (size_t i = 0; i < list->count; i++)
        free(paths[i]);
    free(paths);
}

static void export_family(const struct hn_cache *cache, const struct hn_stored_rule *stored,
                          const char *folder, struct hn_error *err)
{
    struct hn_text text;
    struct hn_rule rule = stored->rule; /* borrowed */
    struct hn_recording recording = {
        .from_hone = true, .version = stored->version, .rule = &rule, .learnt = stored->learnt};
    if (hn_failed(err) || hn_identity_copy(&recording.identity, &stored->identity, err) != HN_OK)
        return;
    (void)mkdir(folder, 0777);
    hn_text_init(&text);
    append_file(&text, folder, &stored->identity);
    hn_text_append(&text, ".family.gz");
    char *path = hn_needed(hn_text_take(&text));
    set_parameters(NULL, &stored->rule.configurations[0], &recording);
    save(cache, path, &recording, err);
    if (!hn_failed(err) && !cache->options->quiet)
        printf("%s: the rule of %s's family on %s\n", path, stored->identity.kernel,
               stored->identity.device.name);
    recording.rule = NULL;
    hn_recording_finish(&recording);
    free(path);
}

/* The rules of families that fit go beside the tunings; where there are none of these, too. Returns
 * how many. */
static size_t export_families(const struct hn_cache *cache, const char *folder,
                              struct hn_error *err)
{
    struct hn_stored_rules rules;
    size_t count = 0;
    const struct hn_options *options = cache->options;
    if (hn_failed(err) ||
        hn_store_get_rules(cache->store, options->arguments.items[0], &rules, err) != HN_OK)
        return 0;
    for (size_t i = 0; i < rules.count; i++) {
        if (rules.items[i].simulated || options->problem.count > 0 ||
            !hn_cache_fits(cache, &rules.items[i].identity))
            continue;
        export_family(cache, &rules.items[i], folder, err);
        count++;
    }
    hn_stored_rules_free(&rules);
    return count;
}

void hn_cache_export(struct hn_cache *cache, struct hn_error *err)
{
    struct hn_tuned_list list = {.items = NULL};
    const struct hn_options *options = cache->options;
    const char *file = options->arguments.items[1];
    bool folder = is_folder(file);
    size_t families = folder && options->format != 1 ? export_families(cache, file, err) : 0;
    if (!hn_failed(err))
        (void)hn_cache_select(cache, options->arguments.items[0], &list, err);
    if (!hn_failed(err))
        drop_simulated(&list, err);
    if (err->status == HN_ENOTFOUND && families > 0)
        hn_error_init(err);
    else if (!hn_failed(err) && list.count > 1 && !folder)
        fail_several(&list, file, err);
    else if (!hn_failed(err) && folder)
        export_to_folder(cache, &list, file, err);
    else if (!hn_failed(err))
        export_one(cache, &list.items[0], file, err);
    hn_tuned_list_free(&list);
}
