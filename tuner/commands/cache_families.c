/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cache/store/store.h"
#include "tuner/commands/cache_command.h"
#include "tuner/report/format.h"

/* A rule is for many problems, so that -p asks for none. */
static bool fits(const struct hn_cache_command *command, const struct hn_stored_rule *stored)
{
    return command->problem.count == 0 && hn_cache_fits(command, &stored->identity);
}

static void print_rule(const struct hn_stored_rule *stored)
{
    char regime[HN_FORMAT_SIZE], date[32] = "-";
    struct tm parts;
    time_t seconds = (time_t)stored->learnt;
    struct hn_text text = {0};
    hn_format_regime(stored->identity.regime, regime);
    if (gmtime_r(&seconds, &parts) != NULL)
        (void)strftime(date, sizeof date, "%Y-%m-%d", &parts);
    hn_text_printf(&text, "family of %s on %s, %s: %zu configuration%s for ",
                   stored->identity.kernel, stored->identity.device.name, regime,
                   stored->rule.configuration_count, hn_plural(stored->rule.configuration_count));
    hn_rule_append_values(&text, &stored->rule);
    hn_text_printf(&text, ", learnt %s%s%s\n  ", date, stored->simulated ? ", simulated" : "",
                   stored->stale ? ", stale" : "");
    size_t before = text.length;
    hn_rule_append_loss(&text, &stored->rule);
    hn_text_append(&text, text.length == before ? "what it loses is not known\n" : "\n");
    fputs(text.failed ? "" : text.data, stdout);
    hn_text_finish(&text);
}

enum hn_status hn_cache_print_families(const struct hn_cache_command *command, const char *kernel,
                                       struct hn_error *err)
{
    struct hn_stored_rules rules;
    enum hn_status status = hn_store_get_rules(command->store, kernel, &rules, err);
    for (size_t i = 0; status == HN_OK && i < rules.count; i++)
        if (fits(command, &rules.items[i]))
            print_rule(&rules.items[i]);
    if (status == HN_OK)
        hn_stored_rules_free(&rules);
    return status;
}

static json_t *stored_to_json(const struct hn_stored_rule *stored)
{
    const struct hn_identity *identity = &stored->identity;
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:f, s:b, s:b, s:o, s:o}", "kernel",
                     identity->kernel, "regime", identity->regime, "objective", identity->objective,
                     "device", hn_cache_device_to_json(&identity->device), "version",
                     hn_cache_version_to_json(&stored->version), "learnt", stored->learnt,
                     "simulated", stored->simulated, "stale", stored->stale, "origin",
                     hn_origin_to_json(&stored->origin), "rule", hn_rule_to_json(&stored->rule));
}

enum hn_status hn_cache_families_to_json(const struct hn_cache_command *command, const char *kernel,
                                         json_t **json, struct hn_error *err)
{
    struct hn_stored_rules rules;
    struct hn_builder families = hn_build_array();
    *json = NULL;
    enum hn_status status = hn_store_get_rules(command->store, kernel, &rules, err);
    for (size_t i = 0; status == HN_OK && i < rules.count; i++)
        if (fits(command, &rules.items[i]))
            hn_build_append(&families, stored_to_json(&rules.items[i]));
    *json = hn_build_finish(&families);
    if (status != HN_OK) {
        json_decref(*json);
        *json = NULL;
        return status;
    }
    hn_stored_rules_free(&rules);
    return *json == NULL ? hn_fail_memory(err) : HN_OK;
}
