/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "cache/record/record_json.h"
#include "cache/store/store.h"
#include "tuner/commands/cache_command.h"
#include "tuner/commands/output.h"
#include "tuner/config/config_files.h"
#include "tuner/report/format.h"
#include "tuner/report/outcomes.h"
#include "tuner/report/table.h"

char *hn_cache_problem_text(const struct hn_bindings *problem)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_bindings_append(&text, problem);
    if (problem->count == 0)
        hn_text_append(&text, "-");
    return hn_text_take(&text);
}

bool hn_cache_is_kernel_tuners(const struct hn_tuned *tuned)
{
    return tuned->version.protocol == HN_KERNEL_TUNER_PROTOCOL;
}

void hn_cache_remarks(struct hn_text *text, const struct hn_tuned *tuned,
                      const struct hn_record *record)
{
    const struct {
        bool holds;
        const char *remark;
    } remarks[] = {
        {tuned->simulated, "simulated"},
        {record->verdict.kind == HN_UNVERIFIED, "UNVERIFIED"},
        {record->verdict.kind == HN_NOT_RECORDED, "verification not recorded"},
        {record->verdict.kind == HN_SELF_VERIFIED, "self-verified"},
        {record->timing.unstable, "unstable"},
        {hn_cache_is_kernel_tuners(tuned), "by Kernel Tuner"},
        {tuned->stale, "stale"},
    };
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++) {
        if (remarks[i].holds)
            hn_text_printf(text, "%s%s", text->length == 0 ? "" : ", ", remarks[i].remark);
    }
}

static bool problem_fits(const struct hn_bindings *problem, const struct hn_bindings *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const struct hn_value *value = hn_bindings_get(problem, wanted->names[i]);
        if (value == NULL || !hn_value_equal(value, &wanted->values[i]))
            return false;
    }
    return true;
}

bool hn_cache_fits(const struct hn_cache_command *command, const struct hn_identity *identity)
{
    return problem_fits(&identity->problem, &command->problem) &&
           (command->device_name == NULL ||
            strcmp(command->device_name, identity->device.name) == 0);
}

void hn_cache_filter(const struct hn_cache_command *command, struct hn_tuned_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct hn_tuned *tuned = &list->items[i];
        if (hn_cache_fits(command, &tuned->identity)) {
            list->items[kept++] = *tuned;
        } else {
            hn_identity_finish(&tuned->identity);
            hn_record_finish(&tuned->best);
        }
    }
    list->count = kept;
}

static enum hn_status fail_not_found(const struct hn_cache_command *command, const char *kernel,
                                     struct hn_error *err)
{
    struct hn_tuned_list all;
    struct hn_text known;
    enum hn_status status = hn_store_list(command->store, NULL, &all, err);
    if (status != HN_OK)
        return status;
    hn_text_init(&known);
    for (size_t i = 0; i < all.count; i++) {
        const char *name = all.items[i].identity.kernel;
        if (i == 0 || strcmp(all.items[i - 1].identity.kernel, name) != 0)
            hn_text_printf(&known, "%s%s", i == 0 ? "" : ", ", name);
    }
    if (all.count == 0)
        status =
            hn_fail(err, HN_ENOTFOUND,
                    "cache '%s' has no tunings yet; `hone tune CONFIG` makes them", command->path);
    else
        status = hn_fail(err, HN_ENOTFOUND, "cache '%s' has no tuning of '%s'; it has: %s",
                         command->path, kernel, known.failed ? "" : known.data);
    hn_text_finish(&known);
    hn_tuned_list_free(&all);
    return status;
}

enum hn_status hn_cache_select(const struct hn_cache_command *command, const char *kernel,
                               struct hn_tuned_list *list, struct hn_error *err)
{
    enum hn_status status = command->versions
                                ? hn_store_list_versions(command->store, kernel, list, err)
                                : hn_store_list(command->store, kernel, list, err);
    if (status != HN_OK)
        return status;
    size_t all = list->count;
    hn_cache_filter(command, list);
    if (list->count > 0)
        return HN_OK;
    hn_tuned_list_free(list);
    if (all == 0)
        return fail_not_found(command, kernel, err);
    char line[HN_FOLLOW_UP_SIZE];
    return hn_fail(err, HN_ENOTFOUND, "none of the tunings%s%s%s fits; `%s` shows them",
                   kernel == NULL ? "" : " of '", kernel == NULL ? "" : kernel,
                   kernel == NULL ? "" : "'",
                   hn_follow_up(&command->options, "cache list", NULL, line));
}

json_t *hn_cache_device_to_json(const struct hn_device_identity *device)
{
    return json_pack("{s:s, s:i, s:i, s:s}", "name", device->name, "capability", device->capability,
                     "sm_count", device->sm_count, "mig_profile", device->mig_profile);
}

json_t *hn_cache_version_to_json(const struct hn_version *version)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i}", "template_hash", version->template_hash,
                     "options_hash", version->options_hash, "plan_hash", version->plan_hash,
                     "driver", version->driver, "nvrtc", version->nvrtc, "protocol",
                     version->protocol);
}

json_t *hn_cache_tuned_to_json(const struct hn_tuned *tuned)
{
    const struct hn_identity *identity = &tuned->identity;
    return json_pack("{s:s, s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:I, s:b, s:b, s:b, s:o}", "kernel",
                     identity->kernel, "signature", identity->signature, "problem",
                     hn_bindings_to_json(&identity->problem), "regime", identity->regime,
                     "objective", identity->objective, "device",
                     hn_cache_device_to_json(&identity->device), "version",
                     hn_cache_version_to_json(&tuned->version), "best",
                     hn_record_to_json(&tuned->best), "points", (json_int_t)tuned->points,
                     "simulated", tuned->simulated, "stale", tuned->stale, "kernel_tuner",
                     hn_cache_is_kernel_tuners(tuned), "origin", hn_origin_to_json(&tuned->origin));
}

enum hn_status hn_cache_print_json(json_t *document, struct hn_error *err)
{
    enum hn_status status = hn_output_json(document, err);
    json_decref(document);
    return status;
}

static enum hn_status print_list_json(const struct hn_cache_command *command,
                                      const struct hn_tuned_list *list, struct hn_error *err)
{
    json_t *families = NULL;
    enum hn_status status = hn_cache_families_to_json(command, NULL, &families, err);
    struct hn_builder tunings = hn_build_array();
    for (size_t i = 0; i < list->count; i++)
        hn_build_append(&tunings, hn_cache_tuned_to_json(&list->items[i]));
    struct hn_builder document = hn_build_object();
    hn_build_set(&document, "cache", json_string(command->path));
    hn_build_set(&document, "tunings", hn_build_finish(&tunings));
    hn_build_set(&document, "families", families);
    json_t *built = hn_build_finish(&document);
    if (status == HN_OK)
        return hn_cache_print_json(built, err);
    json_decref(built);
    return status;
}

static void add_row(struct hn_table *table, const struct hn_tuned *tuned)
{
    char time_text[HN_FORMAT_SIZE];
    char spread[HN_FORMAT_SIZE];
    char date[32] = "-";
    struct tm parts;
    time_t seconds = (time_t)tuned->best.time;
    struct hn_text remarks;
    char *problem = hn_cache_problem_text(&tuned->identity.problem);
    hn_text_init(&remarks);
    if (hn_origin_is_foreign(&tuned->origin))
        hn_text_append(&remarks, "imported");
    hn_cache_remarks(&remarks, tuned, &tuned->best);
    hn_format_time(tuned->best.timing.median_us, time_text);
    hn_format_spread(&tuned->best.timing, spread);
    if (tuned->best.time > 0 && gmtime_r(&seconds, &parts) != NULL)
        (void)strftime(date, sizeof date, "%Y-%m-%d", &parts);
    hn_table_cell(table, "%s", tuned->identity.kernel);
    hn_table_cell(table, "%s", problem == NULL ? "" : problem);
    hn_table_cell(table, "%s", tuned->identity.device.name);
    hn_table_cell(table, "%s", tuned->identity.regime);
    hn_table_cell(table, "%s", time_text);
    hn_table_cell(table, "±%s", spread);
    hn_table_cell(table, "%lld", (long long)tuned->points);
    hn_table_cell(table, "%s", date);
    hn_table_cell(table, "%s", remarks.data == NULL ? "verified" : remarks.data);
    hn_text_finish(&remarks);
    free(problem);
}

enum hn_status hn_cache_list(const struct hn_cache_command *command, struct hn_error *err)
{
    static const char *const headings[] = {"kernel",  "~problem", "=device", "=L2",       ">best",
                                           ">spread", ">points",  "date",    "=~remarks", NULL};
    struct hn_tuned_list list;
    enum hn_status status = hn_store_list(command->store, NULL, &list, err);
    if (status != HN_OK)
        return status;
    hn_cache_filter(command, &list);
    hn_config_mark_changed(command->store, &list);
    if (command->options.json) {
        status = print_list_json(command, &list, err);
    } else if (list.count == 0) {
        fprintf(stderr, "cache '%s' has no tunings%s\n", command->path,
                command->problem.count > 0 || command->device_name != NULL ? " that fit" : " yet");
    } else {
        struct hn_table *table = hn_table_create(headings);
        for (size_t i = 0; i < list.count; i++)
            add_row(table, &list.items[i]);
        hn_table_print(table, stdout, 0);
        hn_table_destroy(table);
        hn_regimes_explain(stdout);
    }
    if (status == HN_OK && !command->options.json)
        status = hn_cache_print_families(command, NULL, err);
    hn_tuned_list_free(&list);
    return status;
}

enum hn_status hn_cache_check(const struct hn_cache_command *command, struct hn_error *err)
{
    struct hn_text report;
    struct hn_tuned_list list = {.count = 0};
    hn_text_init(&report);
    enum hn_status status = hn_store_check(command->store, &report, err);
    if (status == HN_OK)
        status = hn_store_list(command->store, NULL, &list, err);
    if (command->options.json && (status == HN_OK || status == HN_EFORMAT)) {
        enum hn_status printed = hn_cache_print_json(
            json_pack("{s:s, s:b, s:s, s:I}", "cache", command->path, "whole", status == HN_OK,
                      "findings", report.data == NULL ? "" : report.data, "tunings",
                      (json_int_t)list.count),
            err);
        status = printed == HN_OK ? status : printed;
    } else if (status == HN_OK) {
        printf("cache '%s' is whole: %zu tuning%s\n", command->path, list.count,
               list.count == 1 ? "" : "s");
    } else if (report.data != NULL) {
        fputs(report.data, stdout);
    }
    hn_tuned_list_free(&list);
    hn_text_finish(&report);
    return status;
}
