/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "cache/record/record.h"
#include "cache/recording/recording.h"
#include "tuner/commands/command.h"
#include "tuner/config/config_files.h"
#include "tuner/session/rule_code.h"

/* Copies of tunings: into the cache from recordings and other caches, and out of it into
 * recordings; and how those of two caches differ. */

struct imported {
    char *shown; /* the path, without a password */
    struct hn_store_merged merged;
    bool known;         /* all of it was there already */
    size_t left_images; /* machine code that was not asked for */
    bool kernel_tuner;
    bool completed; /* took plan and template of the config */
};

enum { COMPARED = JSON_COMPACT | JSON_SORT_KEYS };

/* Takes the document. */
static void append_json(struct hn_text *all, json_t *json)
{
    char *text HN_FREED = hn_needed(hn_json_text(json, COMPARED));
    hn_text_append(all, text);
}

/* The name under which this recording is imported once: a hash of all that it says. */
static struct hn_hash name_origin(const struct hn_recording *recording)
{
    struct hn_text all = {0};
    hn_text_append(&all, recording->identity.kernel);
    hn_bindings_append(&all, &recording->identity.problem);
    hn_text_append(&all, recording->identity.device.name);
    for (size_t i = 0; i < recording->records.count; i++)
        append_json(&all, hn_record_to_json(&recording->records.items[i]));
    if (recording->rule != NULL)
        append_json(&all, hn_fields_to_json(&hn_rule_structure, recording->rule));
    char *text HN_FREED = hn_needed(hn_text_take(&all));
    return hn_hash_string(text);
}

/* Whether the cache holds every record of the recording: it was exported from here. */
static bool is_known(const struct hn_given *given, const struct hn_recording *recording,
                     struct hn_error *err)
{
    struct hn_records there HN_ENDED_BY(hn_records_free) = {0};
    if (recording->rule != NULL || hn_store_load(given->store, &recording->identity,
                                                 &recording->version, false, &there, err) != HN_OK)
        return false;
    json_auto_t *texts = hn_needed(json_object());
    for (size_t i = 0; i < there.count; i++) {
        char *text HN_FREED = hn_needed(hn_json_text(hn_record_to_json(&there.items[i]), COMPARED));
        (void)json_object_set_new(texts, text, json_true());
    }
    bool known = true;
    for (size_t i = 0; known && i < recording->records.count; i++) {
        char *text HN_FREED =
            hn_needed(hn_json_text(hn_record_to_json(&recording->records.items[i]), COMPARED));
        known = json_object_get(texts, text) != NULL;
    }
    return known;
}

/* The machine code of a rule that was imported as that session; how many the store had not. */
static int64_t import_code(struct hn_store *store, const struct hn_recording *recording,
                           const struct hn_store_session *rule, struct hn_error *err)
{
    int64_t count = 0;
    for (size_t i = 0; i < recording->image_count && !hn_failed(err); i++) {
        const struct hn_recording_image *image = &recording->images[i];
        struct hn_identity identity = *rule->identity;
        identity.problem = image->problem;
        void *cubin HN_FREED = NULL;
        char *entry HN_FREED = NULL;
        size_t size = 0;
        if (hn_store_get_image(store, &identity, rule->version, &image->point, &cubin, &size,
                               &entry, NULL) == HN_OK)
            continue;
        hn_rule_code_put(store, rule, &image->problem, &image->point, image->cubin.bytes,
                         image->cubin.size, image->entry, err);
        count++;
    }
    if (!hn_failed(err) && count > 0)
        hn_store_commit(store, err);
    return count;
}

/* The plan is that of the config where it was asked for, else the recording's own, which does not
 * replace one that is there. */
static void add_recording(const struct hn_given *given, const char *path,
                          const struct hn_recording *recording, const struct hn_config_kept *kept,
                          struct imported *imported, struct hn_error *err)
{
    const struct hn_stored_plan *plan = imported->completed ? &kept->plan : &recording->plan;
    const char *kernel = recording->identity.kernel;
    struct hn_stored_plan there HN_ENDED_BY(hn_stored_plan_free) = {.json = NULL};
    struct hn_origin from;
    int64_t id = 0;
    double newest = recording->learnt;
    for (size_t i = 0; i < recording->records.count; i++)
        newest = fmax(newest, recording->records.items[i].time);
    const struct hn_hash origin = name_origin(recording);
    hn_origin_of_file(path, &from);
    const struct hn_store_session session = {.identity = &recording->identity,
                                             .version = &recording->version,
                                             .plan = plan->json == NULL ? NULL : plan,
                                             .command = recording->command,
                                             .from = given->options->own ? NULL : &from,
                                             .origin = origin.hex,
                                             .started = newest,
                                             .rule = recording->rule};
    if (!is_known(given, recording, err) && !hn_failed(err))
        hn_store_begin(given->store, &session, &recording->records, &id, err);
    const bool added = id != 0;
    if (!hn_failed(err) && !added && plan->json != NULL &&
        hn_version_knows_template(&recording->version) &&
        (imported->completed ||
         hn_store_get_plan(given->store, kernel, &recording->version, &there, NULL) != HN_OK))
        hn_store_put_plan(given->store, kernel, &recording->version, plan, err);
    if (given->options->images && !hn_failed(err))
        imported->merged.images = import_code(given->store, recording, &session, err);
    else
        imported->left_images = recording->image_count;
    imported->known = !added && imported->merged.images == 0;
    imported->merged.rules = added && recording->rule != NULL;
    imported->merged.records = added ? (int64_t)recording->records.count : 0;
}

/* Whether the recording was tuned with the config; where not, says what differs. */
static bool fits_config(const struct hn_given *given, const char *path,
                        const struct hn_recording *recording, const struct hn_config_kept *kept)
{
    struct hn_text reason HN_ENDED_BY(hn_text_finish) = {0};
    struct hn_version version = kept->version;
    memcpy(version.driver, recording->version.driver, sizeof version.driver);
    memcpy(version.nvrtc, recording->version.nvrtc, sizeof version.nvrtc);
    const char *kernel = given->config->plan->kernel;
    bool same_kernel = strcmp(recording->identity.kernel, kernel) == 0;
    bool fits = same_kernel && hn_version_equal(&recording->version, &version);
    if (fits || given->options->quiet)
        return fits;
    if (!recording->from_hone)
        hn_text_append(&reason, "Kernel Tuner measured it");
    else if (!same_kernel)
        hn_text_printf(&reason, "it is of kernel '%s', not '%s'", recording->identity.kernel,
                       kernel);
    else {
        hn_text_append(&reason, "it was tuned with another state of ");
        hn_version_append_difference(&reason, &recording->version, &version);
    }
    fprintf(stderr, "hone: warning: '%s' takes no plan and template of '%s': %s\n", path,
            given->options->configs.items[given->options->configs.count - 1], reason.data);
    return false;
}

/* Adds to a cache file of Kernel Tuner all that a store needs and the file does not say. */
static void complete(const struct hn_given *given, const char *path, struct hn_recording *recording,
                     struct hn_error *err)
{
    struct hn_text signature = {0};
    struct hn_device_identity *device = &recording->identity.device;
    const char *name = given->options->device_name;
    if (name != NULL && strlen(name) >= sizeof device->name)
        hn_fail(err, HN_EUSAGE, "--device-name: found %zu bytes, expected fewer than %zu",
                strlen(name), sizeof device->name);
    else if (name != NULL)
        snprintf(device->name, sizeof device->name, "%s", name);
    if (!hn_failed(err) && device->name[0] == '\0')
        hn_fail(err, HN_EFORMAT,
                "'%s' does not say which device it is of: name it with --device-name", path);
    recording->command = hn_need_copy("Kernel Tuner");
    /* It does not say what the arguments are. Its parameters tell its tunings apart from each
     * other and from Hone's: "Kernel Tuner: block_size_x,tile_size_x". */
    hn_text_append(&signature, "Kernel Tuner: ");
    for (size_t i = 0; i < recording->parameter_count; i++)
        hn_text_printf(&signature, "%s%s", i > 0 ? "," : "", recording->parameters[i]);
    free(recording->identity.signature);
    recording->identity.signature = hn_needed(hn_text_take(&signature));
}

static void import_recording(const struct hn_given *given, const char *path,
                             struct imported *imported, struct hn_error *err)
{
    struct hn_recording recording HN_ENDED_BY(hn_recording_finish) = {0};
    struct hn_config_kept kept = {.plan.json = NULL};
    const struct hn_config *config = given->config;
    if (hn_recording_load(path, &recording, err) != HN_OK)
        return;
    if (config != NULL) {
        /* Nothing is taken for the recording of another kernel. */
        bool own = strcmp(recording.identity.kernel, config->plan->kernel) == 0;
        hn_config_keep(config, own ? &recording.identity.problem : &config->problems[0], &kept,
                       err);
    }
    imported->kernel_tuner = !recording.from_hone;
    if (!hn_failed(err) && !recording.from_hone)
        complete(given, path, &recording, err);
    if (!hn_failed(err)) {
        imported->completed = config != NULL && fits_config(given, path, &recording, &kept);
        add_recording(given, path, &recording, &kept, imported, err);
        const struct hn_error reason = *err;
        if (reason.status == HN_EFORMAT)
            hn_fail(err, HN_EFORMAT, "'%s': %.3000s", path, reason.message);
    }
    hn_stored_plan_free(&kept.plan);
}

/* A recording, a cache file of Kernel Tuner or a cache, as a whole or not at all. */
static void import_file(const struct hn_given *given, const char *path, struct imported *imported,
                        struct hn_error *err)
{
    const bool images = given->options->images;
    const struct hn_cache_place place = {
        .path = path, .images = images, .quiet = given->options->quiet};
    *imported = (struct imported){.shown = hn_cache_shown(path)};
    if (hn_failed(err))
        return;
    if (!hn_store_is_cache(path)) {
        import_recording(given, path, imported, err);
        return;
    }
    if (given->config != NULL || given->options->own)
        hn_fail(err, HN_EUSAGE,
                "--%s: '%s' is a cache, which brings plans and origins along; expected recordings",
                given->config != NULL ? "config" : "own", imported->shown);
    struct hn_store *from = hn_cache_open_place(&place, HN_STORE_READ, NULL, err);
    if (from != NULL)
        (void)hn_store_merge(given->store, from, images, &imported->merged, err);
    imported->known = imported->merged.sessions == 0 && imported->merged.images == 0;
    hn_store_close(from);
}

/* Letters and digits in small, everything else as one '-': "nvidia-h200"; the sign of a value is an
 * 'm', else -3 and 3 were one file. */
static void append_slug(struct hn_text *text, const char *string)
{
    bool gap = false;
    for (const char *c = string; *c != '\0'; c++) {
        bool sign = *c == '-' && c != string && c[-1] == '=';
        if (!hn_is_letter_or_digit(*c) && *c != '_' && !sign) {
            gap = true;
            continue;
        }
        char letter = sign ? 'm' : hn_lower(*c);
        if (gap && c != string)
            hn_text_append(text, "-");
        hn_text_append_bytes(text, &letter, 1);
        gap = false;
    }
}

/* "FOLDER/matmul-k-32-m-4096-nvidia-h200-cold.json.gz", with the objective where that is not the
 * time. */
static char *file_in_folder(const char *folder, const struct hn_identity *identity,
                            const char *ending)
{
    struct hn_text text = {0}, words HN_ENDED_BY(hn_text_finish) = {0};
    char *problem HN_FREED = hn_needed(hn_bindings_text(&identity->problem));
    const bool timed = strcmp(identity->objective, "time") == 0;
    hn_text_printf(&text, "%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/");
    const size_t start = text.length, most = start + 200; /* of the 255 bytes of file systems */
    hn_text_printf(&words, "%s %s %s %s %s", identity->kernel, problem, identity->device.name,
                   identity->regime, timed ? "" : identity->objective);
    append_slug(&text, hn_needed(words.data));
    if (text.length > most) {
        struct hn_hash hash = hn_hash_string(text.data + start);
        text.length = most;
        hn_text_printf(&text, "-%.8s", hash.hex);
    }
    hn_text_append(&text, ending);
    return hn_needed(hn_text_take(&text));
}

/* In the declared order, as far as that is known: from the plan, or for tunings of Kernel Tuner
 * from the signature; else in the point's. */
static void set_parameters(const struct hn_bindings *point, struct hn_recording *recording)
{
    const char *colon = strchr(recording->identity.signature, ':');
    bool is_kernel_tuners = recording->version.protocol == HN_KERNEL_TUNER_PROTOCOL;
    char *names HN_FREED = is_kernel_tuners && colon != NULL ? hn_need_copy(colon + 1) : NULL;
    char *rest = names;
    json_auto_t *declared = is_kernel_tuners
                                ? json_array()
                                : json_incref(json_object_get(recording->plan.json, "parameters"));
    for (char *name = strsep(&rest, " ,"); name != NULL; name = strsep(&rest, " ,"))
        if (name[0] != '\0')
            (void)json_array_append_new(declared, json_string(name));
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

/* What the store has of the machine code of a rule's configurations. */
static void add_code(struct hn_store *store, struct hn_recording *recording, struct hn_error *err)
{
    struct hn_rule_code_list list = {.count = 0};
    struct hn_plan *plan = NULL;
    if (!hn_failed(err) && recording->plan.json != NULL &&
        hn_plan_from_json(recording->plan.json, &plan, err) == HN_OK)
        hn_rule_code_list(plan, recording->rule, &list, err);
    recording->images = hn_need(list.count, sizeof *recording->images);
    for (size_t i = 0; i < list.count && !hn_failed(err); i++) {
        const struct hn_rule_code_item *item = &list.items[i];
        struct hn_recording_image *image = &recording->images[recording->image_count];
        struct hn_identity identity = recording->identity;
        identity.problem = item->values;
        if (hn_store_get_image(store, &identity, &recording->version, item->point,
                               &image->cubin.bytes, &image->cubin.size, &image->entry,
                               NULL) != HN_OK)
            continue;
        image->problem = hn_need_bindings(&item->values, NULL);
        image->point = hn_need_bindings(item->point, NULL);
        recording->image_count++;
    }
    HN_FREE_EACH(item, list.items, list.count, hn_bindings_finish(&item->values));
    hn_plan_destroy(plan);
}

/* A tuning, or the rule of a family, with its plan, unless it was imported without one. */
static void export_one(const struct hn_given *given, const struct hn_tuned *tuned, const char *path,
                       struct hn_error *err)
{
    struct hn_recording recording = {.from_hone = true,
                                     .version = tuned->version,
                                     .rule = tuned->rule,
                                     .learnt = tuned->rule != NULL ? tuned->begun : 0};
    const struct hn_rule *rule = tuned->rule;
    const char *kernel = tuned->identity.kernel, *device = tuned->identity.device.name;
    char date[32] = "";
    struct tm parts;
    time_t now = time(NULL);
    if (hn_failed(err) || hn_identity_copy(&recording.identity, &tuned->identity, err) != HN_OK)
        return;
    if (rule == NULL)
        (void)hn_store_load(given->store, &tuned->identity, &tuned->version, tuned->simulated,
                            &recording.records, err);
    if (gmtime_r(&now, &parts) != NULL)
        (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    (void)hn_store_get_plan(given->store, kernel, &recording.version, &recording.plan, NULL);
    set_parameters(rule != NULL ? &rule->configurations[0] : &tuned->best.point, &recording);
    if (rule != NULL && !hn_failed(err))
        add_code(given->store, &recording, err);
    recording.command = hn_need_copy("hone cache export");
    recording.date = hn_need_copy(date);
    if (!hn_failed(err))
        (void)(given->options->format == 1 ? hn_recording_save_t4(path, &recording, err)
                                           : hn_recording_save(path, &recording, err));
    if (!hn_failed(err) && !given->options->quiet && rule != NULL)
        printf("%s: the rule of %s's family on %s, %zu image%s\n", path, kernel, device,
               recording.image_count, hn_plural(recording.image_count));
    else if (!hn_failed(err) && !given->options->quiet)
        printf("%s: %zu point%s of %s on %s\n", path, recording.records.count,
               hn_plural(recording.records.count), kernel, device);
    recording.rule = NULL;
    hn_recording_finish(&recording);
}

static void fail_several(const struct hn_tuned_list *list, const char *file, struct hn_error *err)
{
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    for (size_t i = 0; i < list->count && i < 20; i++) {
        char *problem HN_FREED = hn_needed(hn_bindings_text(&list->items[i].identity.problem));
        hn_text_printf(&text, "\n  %s  %s  %s  %s", problem[0] != '\0' ? problem : "-",
                       list->items[i].identity.device.name, list->items[i].identity.regime,
                       list->items[i].identity.objective);
    }
    hn_fail(err, HN_EUSAGE,
            "%zu tunings fit, but '%s' is one file: name a folder (with a / at the end), or "
            "choose with -p and --device-name:%s",
            list->count, file, text.data);
}

static void export_to_folder(const struct hn_given *given, const struct hn_tuned_list *list,
                             const char *folder, struct hn_error *err)
{
    const char *ending = given->options->format == 1 ? "-t4.json" : ".json.gz";
    char **paths = hn_need(list->count, sizeof *paths);
    (void)mkdir(folder, 0777);
    for (size_t i = 0; i < list->count; i++) {
        const struct hn_tuned *tuned = &list->items[i];
        /* Kernel Tuner's is not the only one of that name when it had other parameters. */
        struct hn_hash hash = hn_hash_string(tuned->identity.signature);
        char own[64];
        snprintf(own, sizeof own, "-kernel-tuner-%.6s%s", hash.hex, ending);
        paths[i] =
            file_in_folder(folder, &tuned->identity,
                           tuned->version.protocol == HN_KERNEL_TUNER_PROTOCOL ? own : ending);
    }
    for (size_t i = 0; i < list->count; i++) {
        bool newest = true; /* of one path: of a config with other arguments since */
        for (size_t n = 0; n < list->count; n++) {
            double by = list->items[n].begun - list->items[i].begun;
            if (n != i && (by > 0 || (by == 0 && n > i)) && strcmp(paths[n], paths[i]) == 0)
                newest = false;
        }
        if (newest)
            export_one(given, &list->items[i], paths[i], err);
    }
    HN_FREE_EACH(path, paths, list->count, free(*path));
}

/* The rules of families that fit go beside the tunings; where there are none of these, too. Returns
 * how many. */
static size_t export_families(const struct hn_given *given, const char *folder,
                              struct hn_error *err)
{
    struct hn_tuned_list rules HN_ENDED_BY(hn_tuned_list_free) = {0};
    size_t count = 0;
    if (hn_store_list(given->store, HN_STORE_RULES, given->path, NULL, &rules, err) != HN_OK)
        return 0;
    for (size_t i = 0; i < rules.count; i++) {
        if (rules.items[i].simulated || given->options->problem.count > 0 ||
            !hn_cache_fits(given, &rules.items[i].identity))
            continue;
        char *path HN_FREED = file_in_folder(folder, &rules.items[i].identity, ".family.gz");
        (void)mkdir(folder, 0777);
        export_one(given, &rules.items[i], path, err);
        count++;
    }
    return count;
}

static void run_export(struct hn_given *given, struct hn_error *err)
{
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {0};
    const struct hn_options *options = given->options;
    const char *file = options->arguments.items[1];
    size_t length = strlen(file);
    bool folder = hn_is_folder(file) || (length > 0 && file[length - 1] == '/');
    size_t families = folder && options->format != 1 ? export_families(given, file, err) : 0;
    hn_cache_select(given, given->path, &list, err);
    /* A recording tells measurements; the results of a simulation must not come back as such. */
    hn_cache_filter(given, true, &list);
    if (!hn_failed(err) && list.count == 0)
        hn_fail(err, HN_ENOTFOUND,
                "the tunings that fit are simulated: only measured ones are exported");
    if (err->status == HN_ENOTFOUND && families > 0)
        hn_error_init(err);
    else if (!hn_failed(err) && folder)
        export_to_folder(given, &list, file, err);
    else if (!hn_failed(err) && list.count > 1)
        fail_several(&list, file, err);
    else if (!hn_failed(err))
        hn_spare_inputs(options, "FILE", file, NULL, err);
    if (!hn_failed(err) && !folder)
        export_one(given, &list.items[0], file, err);
}

enum change {
    SAME,   /* the same point, as fast */
    POINT,  /* another point, as fast */
    FASTER, /* theirs: the 95% intervals are apart, and the medians by the threshold */
    SLOWER,
    ADDED,   /* only theirs */
    REMOVED, /* only ours */
};
static const char *const change_names[] = {"same",   "other point", "faster",
                                           "slower", "added",       "removed"};
static const unsigned conflicts = 1U << POINT | 1U << FASTER | 1U << SLOWER;

struct pair {
    const struct hn_tuned *ours;   /* NULL: ADDED */
    const struct hn_tuned *theirs; /* NULL: REMOVED */
    enum change change;
    const char *remark; /* shown in a column of its own; NULL: none */
};

/* Borrows both lists. Functions below that take `changes`, a mask of 1 << change, look at these
 * pairs alone. */
struct pairs {
    struct pair *items;
    size_t count;
};

static enum change change_of(const struct hn_tuned *ours, const struct hn_tuned *theirs,
                             double threshold)
{
    if (theirs == NULL)
        return REMOVED;
    const struct hn_timing *a = &ours->best.timing;
    const struct hn_timing *b = &theirs->best.timing;
    if (b->high_us < a->low_us && b->median_us * (1 + threshold) < a->median_us)
        return FASTER;
    if (b->low_us > a->high_us && b->median_us > a->median_us * (1 + threshold))
        return SLOWER;
    return hn_bindings_equal(&ours->best.point, &theirs->best.point) ? SAME : POINT;
}

/* Finds the tuning of the other list that this one is compared with: of the same kind, or, across
 * kinds, where each list has it in one kind only. */
static const struct hn_tuned *partner(const struct hn_tuned_list *list,
                                      const struct hn_tuned_list *other,
                                      const struct hn_tuned *tuned, bool across)
{
    const struct hn_identity *identity = &tuned->identity;
    const struct hn_tuned *same = hn_tuned_list_find(other, identity, NULL, tuned->simulated);
    if (same != NULL || !across ||
        hn_tuned_list_find(list, identity, NULL, !tuned->simulated) != NULL)
        return same;
    return hn_tuned_list_find(other, identity, NULL, !tuned->simulated);
}

/* Pairs tunings of equal identity, measured with measured and simulated with simulated; `across`:
 * also one with the other, with a remark, where each list has it in one kind only. In the order of
 * ours, then what only theirs has. threshold: relative, 0.02 for 2%. Free the items. */
static struct pairs make_pairs(const struct hn_tuned_list *ours, const struct hn_tuned_list *theirs,
                               double threshold, bool across)
{
    struct pairs pairs = {hn_need(ours->count + theirs->count, sizeof *pairs.items), 0};
    HN_EACH(mine, *ours) {
        const struct hn_tuned *other = partner(ours, theirs, mine, across);
        const char *remark = other == NULL || mine->simulated == other->simulated ? NULL
                             : mine->simulated ? "simulated -> measured"
                                               : "measured -> simulated";
        pairs.items[pairs.count++] =
            (struct pair){mine, other, change_of(mine, other, threshold), remark};
    }
    for (size_t i = 0; i < theirs->count; i++)
        if (partner(theirs, ours, &theirs->items[i], across) == NULL)
            pairs.items[pairs.count++] = (struct pair){NULL, &theirs->items[i], ADDED, NULL};
    return pairs;
}

/* "PAD 0 -> 1, TILE 16 -> 32; driver 580.1 -> 590.2": what differs beside the time. */
static void append_differences(struct hn_text *text, const struct pair *pair)
{
    const struct hn_bindings *was = &pair->ours->best.point;
    const struct hn_bindings *is = &pair->theirs->best.point;
    for (size_t i = 0; i < was->count; i++) {
        const struct hn_value *value = hn_bindings_get(is, was->names[i]);
        if (value == NULL || hn_value_equal(value, &was->values[i]))
            continue;
        hn_text_printf(text, "%s%s ", text->length > 0 ? ", " : "", was->names[i]);
        hn_value_append(text, &was->values[i]);
        hn_text_append(text, " -> ");
        hn_value_append(text, value);
    }
    if (hn_version_equal(&pair->ours->version, &pair->theirs->version))
        return;
    hn_text_append(text, text->length > 0 ? "; " : "");
    hn_version_append_difference(text, &pair->ours->version, &pair->theirs->version);
}

/* For a comparison, and for a file that is merged. */
static const struct hn_column pair_columns[] = {
    {"change", "{change}"},
    {"kernel", "[{was.kernel}|{is.kernel}]"},
    {"~problem", "[{was.problem}|{is.problem}|-]"},
    {"=device", "[{was.device.name}|{is.device.name}]"},
    {"=L2", "[{was.regime}|{is.regime}]"},
    {"=objective", "[{was.objective}{?!was.objective=time}|{is.objective}{?!is.objective=time}]"},
    {"[here{?file}|was]", "[{was.best.timing:timing}|-]"},
    {"date", "[{was.best.time:date}{?was.best.time>0}|-]"},
    {"[file{?file}|is]", "[{is.best.timing:timing}|-]"},
    {"date", "[{is.best.time:date}{?is.best.time>0}|-]"},
    {">[file/here{?file}|is/was]", "[{is.best.timing.median_us/was.best.timing.median_us:.3f}|-]"},
    {"~what differs", "{differences}"},
    {"=~origin", "{origins}"},
    {"=~remark", "{remark}"},
    {NULL, NULL},
};
static const struct hn_view diff_views[] = {
    {.at = "tunings", .columns = pair_columns},
    {.line = HN_CACHE_REGIMES_LINE, .wraps = true},
    {.line = "{differing} of {compared} tunings differ; of the rest point and time are the same "
             "(95% intervals meet, or the medians differ by less than {threshold*100:g}%)"},
    {NULL},
};
static const struct hn_view taken_views[] = {
    {.line = "{file}: [all of it was there already{?known}|{records} records of Kernel Tuner"
             "{?kernel_tuner}|{records} records, {images} images[, with the rules of families"
             "{?rules}]][; plan and template taken from the config{?completed}]"
             "[; without its {left_images} image{left_images:s}, which --images "
             "takes{?left_images}][; `{compile}` compiles their configurations]{?!quiet}"},
    {.line = "{conflicts:.0f} tuning{conflicts:s} with another result here; own measurements "
             "count, else the newest verified session:{?conflicts}"},
    {.at = "conflicts", .columns = pair_columns},
    {NULL},
};

static json_t *pairs_to_json(const struct pairs *pairs, unsigned changes)
{
    json_t *array = json_array();
    HN_EACH(pair, *pairs) {
        struct hn_text differences = {0}, origins = {0};
        if ((changes & 1U << pair->change) == 0)
            continue;
        if (pair->ours != NULL && pair->theirs != NULL)
            append_differences(&differences, pair);
        /* "imported from a.json.gz on 2026-11-22 -> measured on node7"; once where it is the same,
         * or there is one only. */
        char *was HN_FREED = pair->ours == NULL ? NULL : hn_origin_text(&pair->ours->origin);
        char *is HN_FREED = pair->theirs == NULL ? NULL : hn_origin_text(&pair->theirs->origin);
        hn_text_append(&origins, was != NULL ? was : "");
        if (is != NULL && (was == NULL || strcmp(was, is) != 0))
            hn_text_printf(&origins, "%s%s", was != NULL ? " -> " : "", is);
        (void)json_array_append_new(
            array, hn_needed(json_pack(
                       "{ss so* so* so* so* ss*}", "change", change_names[pair->change], "was",
                       pair->ours == NULL ? NULL : hn_cache_tuned_to_json(pair->ours), "is",
                       pair->theirs == NULL ? NULL : hn_cache_tuned_to_json(pair->theirs),
                       "differences", hn_render_text(&differences), "origins",
                       hn_render_text(&origins), "remark", pair->remark)));
    }
    return array;
}

/* The tunings of another cache, a recording or a folder of them that fit. */
static void list_of(const struct hn_given *given, const char *path, struct hn_tuned_list *list,
                    struct hn_error *err)
{
    const struct hn_cache_place place = {.path = path, .quiet = given->options->quiet};
    *list = (struct hn_tuned_list){.items = NULL};
    if (hn_failed(err))
        return;
    if (hn_store_is_cache(path)) {
        struct hn_store *store = hn_cache_open_place(&place, HN_STORE_READ, NULL, err);
        if (store != NULL)
            (void)hn_store_list(store, HN_STORE_UNCOUNTED, NULL, NULL, list, err);
        hn_store_close(store);
    } else {
        (void)hn_recording_list(path, NULL, list, err);
    }
    hn_cache_filter(given, false, list);
}

static void run_diff(struct hn_given *given, struct hn_error *err)
{
    struct hn_tuned_list ours HN_ENDED_BY(hn_tuned_list_free) = {0};
    struct hn_tuned_list theirs HN_ENDED_BY(hn_tuned_list_free) = {0};
    json_int_t differing = 0;
    const struct hn_options *options = given->options;
    if (hn_store_list(given->store, HN_STORE_UNCOUNTED, NULL, NULL, &ours, err) != HN_OK)
        return;
    hn_cache_filter(given, false, &ours);
    list_of(given, given->path, &theirs, err);
    struct pairs pairs = make_pairs(&ours, &theirs, options->threshold, true);
    for (size_t i = 0; i < pairs.count; i++)
        differing += pairs.items[i].change != SAME;
    char *is HN_FREED = hn_cache_shown(given->path);
    if (!hn_failed(err))
        hn_show_alone(given,
                      json_pack("{ss ss sf sI sI so}", "was", given->cache, "is", is, "threshold",
                                options->threshold, "compared", (json_int_t)pairs.count,
                                "differing", differing, "tunings",
                                pairs_to_json(&pairs, options->all ? ~0U : ~(1U << SAME))),
                      diff_views, err);
    free(pairs.items);
}

/* Says of each conflict whose result counts now. */
static void add_remarks(const struct hn_tuned_list *now, struct pairs *pairs)
{
    HN_EACH(pair, *pairs) {
        const struct hn_tuned *own = pair->ours;
        if ((conflicts & 1U << pair->change) == 0)
            continue;
        const struct hn_tuned *tuned =
            hn_tuned_list_find(now, &own->identity, NULL, own->simulated);
        if (tuned == NULL)
            continue;
        bool kept = hn_version_equal(&tuned->version, &own->version) &&
                    hn_bindings_equal(&tuned->best.point, &own->best.point) &&
                    tuned->best.time == own->best.time;
        pair->remark = kept ? "here counts" : "file counts";
    }
}

/* Lists the cache's tunings of the problems of another: a merge asks for no more. */
static void list_same_problems(struct hn_store *store, const struct hn_tuned_list *theirs,
                               struct hn_tuned_list *list, struct hn_error *err)
{
    *list = (struct hn_tuned_list){.items = NULL};
    for (size_t i = 0; i < theirs->count && !hn_failed(err); i++) {
        struct hn_tuned_list part;
        const struct hn_identity *identity = &theirs->items[i].identity;
        size_t n = 0;
        while (strcmp(theirs->items[n].identity.kernel, identity->kernel) != 0 ||
               !hn_bindings_equal(&theirs->items[n].identity.problem, &identity->problem))
            n++;
        if (n < i || hn_store_list(store, HN_STORE_UNCOUNTED, identity->kernel, &identity->problem,
                                   &part, err) != HN_OK)
            continue;
        list->items = hn_need_more(list->items, list->count + part.count, sizeof *list->items);
        for (size_t k = 0; k < part.count; k++)
            list->items[list->count++] = part.items[k];
        free(part.items);
    }
}

static void take_file(const struct hn_given *given, const char *path, bool merges, json_t *files,
                      struct hn_error *err)
{
    const struct hn_options *options = given->options;
    struct hn_tuned_list theirs HN_ENDED_BY(hn_tuned_list_free) = {.count = 0};
    struct hn_tuned_list before HN_ENDED_BY(hn_tuned_list_free) = {.count = 0};
    struct hn_tuned_list after HN_ENDED_BY(hn_tuned_list_free) = {.count = 0};
    struct imported imported;
    if (merges)
        list_of(given, path, &theirs, err);
    list_same_problems(given->store, &theirs, &before, err);
    struct pairs pairs = make_pairs(&before, &theirs, options->threshold, false);
    import_file(given, path, &imported, err);
    const struct hn_store_merged *merged = &imported.merged;
    if (!imported.known)
        list_same_problems(given->store, &theirs, &after, err);
    if (!hn_failed(err)) {
        add_remarks(imported.known ? &before : &after, &pairs);
        json_t *json = hn_needed(json_pack("{ss sI sI sb}", "file", imported.shown, "records",
                                           (json_int_t)merged->records, "images",
                                           (json_int_t)merged->images, "known", imported.known));
        if (!merges || !options->json)
            json_object_update_new(json, json_pack("{sb sb}", "kernel_tuner", imported.kernel_tuner,
                                                   "completed", imported.completed));
        if (merges)
            json_object_set_new(json, "conflicts", pairs_to_json(&pairs, conflicts));
        if (!options->json) {
            bool lacks_code = merged->rules > 0 && merged->images == 0;
            json_object_update_new(
                json,
                json_pack("{sb sb sI ss*}", "rules", merged->rules > 0, "quiet", options->quiet,
                          "left_images", (json_int_t)imported.left_images, "compile",
                          lacks_code ? hn_follow_up(options, "cache compile", NULL) : NULL));
            hn_render(json, taken_views, stdout);
        }
        json_array_append_new(files, json);
    }
    free(imported.shown);
    free(pairs.items);
}

/* Takes over all files, which --json has in a list. A merge tells, too, where they have other
 * results than the cache. */
static void run_import(struct hn_given *given, struct hn_error *err)
{
    const bool merges = given->options->of == &hn_command_cache_merge;
    const struct hn_texts *paths = &given->options->arguments, *configs = &given->options->configs;
    json_t *files = json_array();
    if (configs->count > 0 &&
        hn_config_load(configs->items[configs->count - 1], NULL, &given->config, err) == HN_OK)
        (void)hn_config_check_files(given->config, err);
    for (size_t i = 0; i < paths->count && !hn_failed(err); i++)
        take_file(given, paths->items[i], merges, files, err);
    hn_show_alone(given, json_pack("{ss so}", "cache", given->cache, "files", files), NULL, err);
}

HN_CACHE_PART(
    export, HN_CACHE_EXPORT, .run = run_export, .cache = HN_CACHE_READ, .arguments = "NAME FILE",
    .least = 2, .most = 2, .missing = HN_TOO_FEW "NAME FILE",
    .summary = "Writes the tunings of a kernel as recordings.",
    .details =
        "A recording is Kernel Tuner's cache file with Hone's data added; a name that ends in "
        ".gz is compressed. Several tunings need a folder as FILE.",
    .examples = "hone cache export scale recorded/");
HN_CACHE_PART(
    import, HN_CACHE_IMPORT, .run = run_import, .cache = HN_CACHE_WRITE, .arguments = "FILE...",
    .least = 1, .most = SIZE_MAX, .missing = HN_TOO_FEW "FILE...",
    .summary = "Takes over recordings of Hone, cache files of Kernel Tuner and other caches.",
    .details = "Each file is taken over as a whole or not at all, and once only.",
    .examples = "hone cache import recorded/scale.json");
HN_CACHE_PART(merge, HN_CACHE_MERGE, .run = run_import, .cache = HN_CACHE_WRITE,
              .arguments = "FILE...", .least = 1, .most = SIZE_MAX, .missing = HN_TOO_FEW "FILE...",
              .summary = "Brings the caches of several machines together.",
              .details = "As import, and lists the tunings of which both had another result: own "
                         "measurements count, else the newest verified session.",
              .examples = "hone cache merge colleague.db");
HN_CACHE_PART(
    diff, HN_CACHE_DIFF, .run = run_diff, .cache = HN_CACHE_READ, .arguments = "FILE", .least = 1,
    .most = 1, .missing = HN_TOO_FEW "FILE",
    .summary = "Shows what is other in another cache, a recording or a folder of them.",
    .details = "A tuning is faster or slower when the 95% intervals of both medians are apart, and "
               "the medians by more than the threshold.",
    .examples = "hone cache diff before.db");
