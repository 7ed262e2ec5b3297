/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/hash.h"
#include "base/text.h"
#include "cache/record/record_json.h"
#include "cache/recording/recording.h"
#include "cache/store/store.h"
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
    if (problem != NULL && identity->problem.count > 0) {
        append_slug(text, problem);
        hn_text_append(text, "-");
    }
    append_slug(text, identity->device.name);
    hn_text_append(text, "-");
    append_slug(text, identity->regime);
    free(problem);
}

/* With ".json.gz" or "-t4.json" behind; NULL when out of memory. */
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
    return hn_text_take(&text);
}

/* The parameters in declared order, as far as that is known: from the plan, or for tunings of
 * Kernel Tuner from the signature. NULL when it is not. */
static json_t *declared_parameters(const struct hn_cache_command *command,
                                   const struct hn_tuned *tuned)
{
    if (hn_cache_is_kernel_tuners(tuned)) {
        const char *colon = strchr(tuned->identity.signature, ':');
        char *names = colon != NULL ? strdup(colon + 1) : NULL;
        json_t *declared = names != NULL ? json_array() : NULL;
        char *rest = names;
        for (char *name = strsep(&rest, " ,"); name != NULL; name = strsep(&rest, " ,"))
            if (name[0] != '\0')
                (void)json_array_append_new(declared, json_string(name));
        free(names);
        return declared;
    }
    struct hn_stored_plan plan;
    json_t *json = NULL;
    if (hn_store_get_plan(command->store, tuned->identity.kernel, &tuned->version, &plan, NULL) ==
        HN_OK)
        json = json_loads(plan.json, 0, NULL);
    hn_stored_plan_free(&plan);
    json_t *declared = json_incref(json_object_get(json, "parameters"));
    json_decref(json);
    return declared;
}

/* In the point's order where no other is known: `declared` may be NULL. */
static enum hn_status set_parameters(const json_t *declared, const struct hn_bindings *point,
                                     struct hn_recording *recording, struct hn_error *err)
{
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

/* What was imported without a plan is exported without one. */
static void add_origin(const struct hn_cache_command *command, struct hn_recording *recording)
{
    (void)hn_store_get_plan(command->store, recording->identity.kernel, &recording->version,
                            &recording->plan, NULL);
    recording->command = strdup("hone cache export");
    recording->date = date_now();
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
    json_t *declared = declared_parameters(command, tuned);
    if (status == HN_OK)
        status = set_parameters(declared, &tuned->best.point, recording, err);
    json_decref(declared);
    if (status == HN_OK)
        add_origin(command, recording);
    return status;
}

static enum hn_status export_one(const struct hn_cache_command *command,
                                 const struct hn_tuned *tuned, const char *path,
                                 struct hn_error *err)
{
    struct hn_recording recording;
    enum hn_status status = make_recording(command, tuned, &recording, err);
    if (status == HN_OK)
        status = command->t4 ? hn_recording_save_t4(path, &recording, err)
                             : hn_recording_save(path, &recording, err);
    if (status == HN_OK && !command->options.quiet)
        printf("%s: %zu point%s of %s on %s\n", path, recording.records.count,
               hn_plural(recording.records.count), tuned->identity.kernel,
               tuned->identity.device.name);
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

static enum hn_status export_to_folder(const struct hn_cache_command *command,
                                       const struct hn_tuned_list *list, const char *folder,
                                       struct hn_error *err)
{
    char **paths = calloc(list->count + 1, sizeof *paths);
    enum hn_status status = paths == NULL ? hn_fail_memory(err) : HN_OK;
    (void)mkdir(folder, 0777);
    for (size_t i = 0; status == HN_OK && i < list->count; i++) {
        paths[i] = file_in_folder(folder, &list->items[i], command->t4);
        if (paths[i] == NULL)
            status = hn_fail_memory(err);
    }
    for (size_t i = 0; status == HN_OK && i < list->count; i++)
        if (!is_superseded(list, paths, i))
            status = export_one(command, &list->items[i], paths[i], err);
    for (size_t i = 0; paths != NULL && i < list->count; i++)
        free(paths[i]);
    free(paths);
    return status;
}

static enum hn_status make_family(const struct hn_cache_command *command,
                                  const struct hn_stored_rule *stored,
                                  struct hn_recording *recording, struct hn_error *err)
{
    *recording = (struct hn_recording){
        .from_hone = true, .version = stored->version, .learnt = stored->learnt};
    enum hn_status status = hn_identity_copy(&recording->identity, &stored->identity, err);
    recording->rule = malloc(sizeof *recording->rule);
    if (recording->rule == NULL)
        return hn_fail_memory(err);
    *recording->rule = stored->rule; /* borrowed */
    if (status == HN_OK)
        status = set_parameters(NULL, &stored->rule.configurations[0], recording, err);
    if (status == HN_OK)
        add_origin(command, recording);
    return status;
}

static enum hn_status export_family(const struct hn_cache_command *command,
                                    const struct hn_stored_rule *stored, const char *folder,
                                    struct hn_error *err)
{
    struct hn_recording recording;
    struct hn_text path;
    hn_text_init(&path);
    append_file(&path, folder, &stored->identity);
    hn_text_append(&path, ".family.gz");
    enum hn_status status =
        path.failed ? hn_fail_memory(err) : make_family(command, stored, &recording, err);
    if (status == HN_OK)
        status = hn_recording_save(path.data, &recording, err);
    if (status == HN_OK && !command->options.quiet)
        printf("%s: the rule of %s's family on %s\n", path.data, stored->identity.kernel,
               stored->identity.device.name);
    if (!path.failed) {
        free(recording.rule);
        recording.rule = NULL;
        hn_recording_finish(&recording);
    }
    hn_text_finish(&path);
    return status;
}

/* The rules of families that fit go beside the tunings; where there are none of these, too. */
static enum hn_status export_families(const struct hn_cache_command *command, const char *folder,
                                      size_t *count, struct hn_error *err)
{
    struct hn_stored_rules rules = {.items = NULL};
    enum hn_status status = hn_store_get_rules(command->store, command->arguments[0], &rules, err);
    *count = 0;
    for (size_t i = 0; status == HN_OK && i < rules.count; i++) {
        if (rules.items[i].simulated || command->problem.count > 0 ||
            !hn_cache_fits(command, &rules.items[i].identity))
            continue;
        (void)mkdir(folder, 0777);
        status = export_family(command, &rules.items[i], folder, err);
        ++*count;
    }
    hn_stored_rules_free(&rules);
    return status;
}

enum hn_status hn_cache_export(const struct hn_cache_command *command, struct hn_error *err)
{
    struct hn_tuned_list list = {.items = NULL};
    struct hn_error reason = {0};
    size_t families = 0;
    const char *file = command->arguments[1];
    bool folder = is_folder(file);
    enum hn_status status = HN_OK;
    if (folder && !command->t4)
        status = export_families(command, file, &families, err);
    if (status != HN_OK)
        return status;
    status = hn_cache_select(command, command->arguments[0], &list, &reason);
    if (status == HN_OK)
        status = drop_simulated(&list, &reason);
    if (status == HN_OK && list.count > 1 && !folder)
        status = fail_several(&list, file, &reason);
    if (status == HN_OK && folder)
        status = export_to_folder(command, &list, file, &reason);
    else if (status == HN_OK)
        status = export_one(command, &list.items[0], file, &reason);
    hn_tuned_list_free(&list);
    if (status == HN_ENOTFOUND && families > 0)
        return HN_OK;
    if (status != HN_OK)
        *err = reason;
    return status;
}
