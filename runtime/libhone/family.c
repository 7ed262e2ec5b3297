/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/family.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "runtime/libhone/choice.h"

static void finish_rule(struct hn_lib_rule *rule)
{
    size_t count = rule->configurations == NULL ? 0 : rule->stored->rule.configuration_count;
    for (size_t i = 0; i < count; i++) {
        struct hn_lib_module *module = rule->configurations[i].modules;
        while (module != NULL) {
            struct hn_lib_module *next = module->next;
            hn_lib_module_destroy(module);
            module = next;
        }
    }
    free(rule->configurations);
    hn_bindings_finish(&rule->names);
    hn_rule_program_finish(&rule->program);
    hn_known_problems_finish(&rule->known);
}

void hn_lib_family_finish(struct hn_lib_family *family)
{
    for (size_t i = 0; family->rules != NULL && i < family->stored.count; i++)
        finish_rule(&family->rules[i]);
    free(family->rules);
    free(family->kernel);
    hn_stored_rules_free(&family->stored);
    free(family);
}

static enum hn_status fill_rule(struct hn_lib_family *family, size_t index, struct hn_error *err)
{
    const struct hn_value zero = hn_integer(0);
    const struct hn_stored_rule *stored = &family->stored.items[index];
    struct hn_lib_rule *rule = &family->rules[index];
    enum hn_status status = HN_OK;
    rule->stored = stored;
    rule->kernel = family->kernel;
    rule->configurations = calloc(stored->rule.configuration_count, sizeof *rule->configurations);
    if (rule->configurations == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < stored->rule.configuration_count; i++)
        rule->configurations[i].tuned = (struct hn_tuned){
            .identity = stored->identity,
            .version = stored->version,
            .best = {.point = stored->rule.configurations[i], .time = stored->learnt},
            .origin = stored->origin,
            .simulated = stored->simulated,
            .stale = stored->stale,
        };
    rule->has_program = hn_rule_program_make(&rule->program, &stored->rule);
    for (size_t i = 0; status == HN_OK && i < stored->rule.value_count; i++)
        status = hn_bindings_set(&rule->names, stored->rule.values[i].name, &zero, err);
    for (size_t i = 0; i < HN_DEVICE_LIMITS; i++)
        rule->names_limits =
            rule->names_limits || hn_bindings_get(&rule->names, hn_device_limit_names[i]) != NULL;
    return status;
}

static enum hn_status fill(struct hone_cache *cache, const char *kernel,
                           struct hn_lib_family *family, struct hn_error *err)
{
    family->kernel = strdup(kernel);
    if (family->kernel == NULL)
        return hn_fail_memory(err);
    enum hn_status status = cache->store == NULL
                                ? HN_OK
                                : hn_store_get_rules(cache->store, kernel, &family->stored, err);
    family->rules = calloc(family->stored.count + 1, sizeof *family->rules);
    if (status == HN_OK && family->rules == NULL)
        status = hn_fail_memory(err);
    for (size_t i = 0; status == HN_OK && i < family->stored.count; i++)
        status = fill_rule(family, i, err);
    return status;
}

enum hone_status hn_lib_family_get(struct hone_cache *cache, const char *kernel,
                                   struct hn_lib_family **family, struct hone_error *err)
{
    for (*family = cache->families; *family != NULL; *family = (*family)->next)
        if (strcmp((*family)->kernel, kernel) == 0)
            return HONE_OK;
    struct hn_error reason = {0};
    struct hn_lib_family *made = calloc(1, sizeof *made);
    enum hn_status status =
        made == NULL ? hn_fail_memory(&reason) : fill(cache, kernel, made, &reason);
    if (status != HN_OK) {
        if (made != NULL)
            hn_lib_family_finish(made);
        return hn_lib_take(err, status, &reason);
    }
    made->next = cache->families;
    cache->families = made;
    *family = made;
    return HONE_OK;
}

static bool is_other(const char *asked, const char *own)
{
    return asked != NULL && strcmp(asked, own) != 0;
}

/* 0: it does not count. The regimes stand in order: cold comes before the others. */
static int rank_rule(const struct hn_identity *identity, const struct hn_device *device,
                     const struct hone_options *options)
{
    if (is_other(options->regime, identity->regime) ||
        !hn_lookup_is_objective(options->objective, identity->objective))
        return 0;
    int rank = hn_device_identity_equal(&identity->device, &device->identity) ? 6
               : identity->device.capability == device->identity.capability   ? 4
                                                                              : 2;
    return rank + (strcmp(identity->objective, "time") == 0);
}

struct hn_lib_rule *hn_lib_family_find(const struct hn_lib_family *family,
                                       const struct hn_device *device,
                                       const struct hone_options *options, bool *own)
{
    struct hn_lib_rule *found = NULL;
    int best = 0;
    for (size_t i = 0; i < family->stored.count; i++) {
        int rank = rank_rule(&family->stored.items[i].identity, device, options);
        if (rank > best) {
            best = rank;
            found = &family->rules[i];
        }
    }
    *own = best >= 6;
    return found;
}

static enum hone_status read_known(struct hone_cache *cache, struct hn_lib_rule *rule,
                                   struct hone_error *err)
{
    struct hn_error reason = {0};
    const struct hn_identity *identity = &rule->stored->identity;
    enum hn_status status = hn_known_problems_read(cache->store, identity->kernel,
                                                   identity->signature, &rule->known, &reason);
    rule->has_known = status == HN_OK;
    return hn_lib_take(err, status, &reason);
}

enum hone_status hn_lib_rule_may_be_tuned(struct hone_cache *cache, struct hn_lib_rule *rule,
                                          const struct hn_bindings *problem, bool *may_be,
                                          struct hone_error *err)
{
    enum hone_status status = rule->has_known ? HONE_OK : read_known(cache, rule, err);
    *may_be = status != HONE_OK || hn_known_problems_may_have(&rule->known, problem);
    return status;
}

void hn_lib_family_forget_known(struct hone_cache *cache, const char *kernel)
{
    for (struct hn_lib_family *family = cache->families; family != NULL; family = family->next)
        for (size_t i = 0; strcmp(family->kernel, kernel) == 0 && i < family->stored.count; i++) {
            hn_known_problems_finish(&family->rules[i].known);
            family->rules[i].has_known = false;
        }
}

/* The steps that are launched are the same for all problems. */
static bool steps_are_fixed(const struct hn_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++)
        for (size_t slot = 0; slot < plan->name_count; slot++)
            for (size_t p = 0; plan->steps[i].condition != NULL && p < plan->problem_count; p++)
                if (strcmp(plan->names[slot], plan->problem[p]) == 0 &&
                    hn_plan_uses(plan, plan->steps[i].condition, slot))
                    return false;
    return true;
}

enum hn_status hn_lib_corner_make(const struct hn_lib_choice *choice, bool high, int beyond,
                                  struct hn_bindings *corner, struct hn_error *err)
{
    const struct hn_rule *rule = &choice->rule->stored->rule;
    enum hn_status status = hn_bindings_copy(corner, choice->problem, err);
    for (size_t i = 0; status == HN_OK && i < rule->value_count; i++) {
        const struct hn_rule_value *value = &rule->values[i];
        double end = high ? value->high + beyond : value->low;
        struct hn_value number =
            hn_rule_value_is_whole(value) ? hn_integer((int64_t)end) : hn_real(end);
        if (value->word_count == 0 &&
            !hn_plan_is_frozen(choice->plan->plan, choice->point, value->name, &number))
            status = hn_bindings_set(corner, value->name, &number, err);
    }
    return status;
}

static bool is_same_at_the_ends(const struct hn_lib_choice *choice)
{
    struct hn_bindings low, high;
    bool same = hn_lib_corner_make(choice, false, 0, &low, NULL) == HN_OK;
    same = hn_lib_corner_make(choice, true, 1, &high, NULL) == HN_OK && same &&
           hn_lib_program_is_same(choice, &low, &high);
    hn_bindings_finish(&low);
    hn_bindings_finish(&high);
    return same;
}

bool hn_lib_program_is_shared(const struct hn_lib_choice *choice)
{
    struct hn_lib_configuration *configuration = choice->configuration;
    if (configuration == NULL)
        return false;
    if (configuration->program == HN_PROGRAM_UNKNOWN) {
        const struct hn_plan *plan = choice->plan->plan;
        bool shared = (hn_lib_names_are_plain(plan) || steps_are_fixed(plan)) &&
                      !hn_plan_has_role(plan, HN_ROLE_SYMBOL) && is_same_at_the_ends(choice);
        configuration->program = shared ? HN_PROGRAM_SHARED : HN_PROGRAM_OWN;
    }
    return configuration->program == HN_PROGRAM_SHARED;
}
