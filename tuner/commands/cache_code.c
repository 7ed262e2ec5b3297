/* SPDX-License-Identifier: MIT */
#include "base/run.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan.h"
#include "tuner/commands/command.h"
#include "tuner/session/rule_code.h"
#include "tuner/workers/workers.h"

/* The machine code of the rules of families, compiled before a program asks for it. */

static const struct hn_view views[] = {
    {.at = "families",
     .line = "family of {kernel} on {device.name}, {regime:regime}: {programs} program{programs:s} "
             "for sm_{capability}, {bytes:bytes}; {compiled} compiled now"},
    {NULL},
};

/* identity: the rule's, for the architecture that is asked for. */
static void compile_rule(const struct hn_given *given, const struct hn_tuned *rule,
                         const struct hn_identity *identity, struct hn_compile_pool *pool,
                         struct hn_rule_programs *programs, struct hn_error *err)
{
    struct hn_stored_plan stored HN_ENDED_BY(hn_stored_plan_free) = {.json = NULL};
    struct hn_plan *plan = NULL;
    if (!hn_failed(err) &&
        hn_store_get_plan(given->store, identity->kernel, &rule->version, &stored, err) == HN_OK)
        (void)hn_plan_from_json(stored.json, &plan, err);
    const struct hn_template template = {.files = stored.files, .file_count = stored.file_count};
    const struct hn_rule_code code = {.store = given->store,
                                      .pool = pool,
                                      .plan = plan,
                                      .template = &template,
                                      .session = {.identity = identity,
                                                  .version = &rule->version,
                                                  .command = given->options->search.command},
                                      .rule = rule->rule};
    hn_rule_code_make(&code, programs, err);
    hn_plan_destroy(plan);
}

static void compile_rules(const struct hn_given *given, const struct hn_tuned_list *rules,
                          const struct hn_device *device, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    struct hn_compile_pool *pool = hn_compile_pool_create(
        hn_workers_of(options, 0).jobs, options->compile_timeout_s, HN_COMPILE_START_S);
    struct hn_rule_programs first = {.failed = 0};
    json_t *families = json_array();
    size_t failed = 0;
    for (size_t i = 0; i < rules->count && !hn_failed(err); i++) {
        struct hn_rule_programs programs;
        struct hn_identity identity = rules->items[i].identity;
        if (!hn_cache_fits(given, &identity))
            continue;
        if (device != NULL)
            identity.device.capability = device->identity.capability;
        compile_rule(given, &rules->items[i], &identity, pool, &programs, err);
        (void)json_array_append_new(
            families,
            hn_needed(json_pack("{ss so ss si sI sI sI sI}", "kernel", identity.kernel, "device",
                                hn_fields_to_json(&hn_device_identity_structure, &identity.device),
                                "regime", identity.regime, "capability", identity.device.capability,
                                "programs", (json_int_t)programs.count, "compiled",
                                (json_int_t)programs.compiled, "failed",
                                (json_int_t)programs.failed, "bytes", (json_int_t)programs.bytes)));
        first = failed == 0 ? programs : first;
        failed += programs.failed;
    }
    hn_compile_pool_destroy(pool);
    bool found = json_array_size(families) > 0;
    hn_show_alone(given, json_pack("{ss so}", "cache", given->cache, "families", families),
                  found && !hn_failed(err) && !options->quiet ? views : NULL, err);
    if (!hn_failed(err) && !found)
        hn_fail(err, HN_ENOTFOUND, "cache '%s' has no rule of a family%s", given->cache,
                given->path != NULL || options->device_name != NULL ? " that fits" : "");
    else if (!hn_failed(err) && failed > 0)
        hn_fail(err, HN_ERUN, "%zu program%s not compile: %s", failed,
                failed == 1 ? " does" : "s do", first.message);
}

static void run(struct hn_given *given, struct hn_error *err)
{
    const char *architecture = given->options->architecture;
    struct hn_device device;
    struct hn_tuned_list rules HN_ENDED_BY(hn_tuned_list_free) = {.count = 0};
    hn_interrupt_install();
    if (architecture != NULL)
        (void)hn_device_for_architecture(architecture, &device, err);
    if (!hn_failed(err))
        (void)hn_store_list(given->store, HN_STORE_RULES, given->path, NULL, &rules, err);
    if (!hn_failed(err))
        compile_rules(given, &rules, architecture != NULL ? &device : NULL, err);
}

HN_CACHE_PART(
    compile, HN_CACHE_COMPILE, .run = run, .cache = HN_CACHE_WRITE, .arguments = "[NAME]",
    .most = 1,
    .summary = "Compiles the configurations of the rules of families that lack machine code.",
    .details = "Rules that were imported need a compiler at the first launch of each "
               "configuration, unless this was run before.",
    .examples = "hone cache compile sgemm");
