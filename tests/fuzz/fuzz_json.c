/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/family/rule.h"
#include "cache/record/record.h"
#include "fuzz.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan.h"

/* One JSON text as each of the things that a cache or a worker gives as JSON: a plan, a record, a
 * device, a rule. What was read and written twice is the same both times. */

static json_t *load(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    fuzz_require(json != NULL, "what was written is JSON");
    return json;
}

static char *dump(json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    fuzz_require(text != NULL, "what was read can be written");
    json_decref(json);
    return text;
}

static void use_plan(const json_t *json)
{
    struct hn_plan *plan = NULL;
    struct hn_plan *again = NULL;
    struct hn_value *values = NULL;
    struct hn_bindings problem = {0};
    struct hn_error err = {0};
    if (!fuzz_fine(hn_plan_from_json(json, &plan, &err), &err))
        return;
    char *text FREED = dump(hn_plan_to_json(plan));
    json_auto_t *stored = load(text);
    fuzz_require(hn_plan_from_json(stored, &again, &err) == HN_OK, err.message);
    char *text_again FREED = dump(hn_plan_to_json(again));
    fuzz_require(strcmp(text, text_again) == 0, "a stored plan is the plan");
    if (hn_plan_values(plan, &problem, &plan->defaults, &values, &err) == HN_OK)
        free(values);
    free(hn_plan_signature(plan));
    (void)hn_plan_hash(plan);
    (void)hn_plan_options_hash(plan);
    hn_plan_destroy(again);
    hn_plan_destroy(plan);
}

static void use_record(const json_t *json)
{
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    struct hn_record again;
    struct hn_error err = {0};
    if (fuzz_fine(hn_record_from_json(json, NULL, &record, &err), &err)) {
        json_auto_t *stored = hn_record_to_json(&record);
        again = (struct hn_record){0};
        fuzz_require(stored != NULL, "a record that was read can be written");
        fuzz_require(hn_record_from_json(stored, NULL, &again, &err) == HN_OK, err.message);
        fuzz_require(hn_bindings_equal(&record.point, &again.point), "a stored point is the point");
        hn_record_finish(&again);
    }
}

static void use_device(const json_t *json)
{
    struct hn_device device;
    struct hn_device again;
    struct hn_error err = {0};
    hn_fields_read("device", &hn_device_structure, json, &device, &err);
    if (!fuzz_fine(err.status, &err))
        return;
    json_auto_t *stored = hn_fields_to_json(&hn_device_structure, &device);
    hn_fields_read("device", &hn_device_structure, stored, &again, &err);
    fuzz_require(!hn_failed(&err), err.message);
}

/* A rule has an answer for whatever it was learnt for: here the lowest or highest of each value. */
static void ask_rule(const struct hn_rule *rule, bool highest)
{
    struct hn_bindings problem ENDED_BY(hn_bindings_finish) = {0};
    struct hn_error err = {0};
    bool sure;
    for (size_t i = 0; i < rule->value_count; i++) {
        const struct hn_rule_value *value = &rule->values[i];
        double number = highest ? value->high : value->low;
        struct hn_value own = {.type = HN_REAL, .real = number};
        if (value->word_count > 0)
            own = value->words[highest ? value->word_count - 1 : 0];
        else if (hn_rule_value_is_whole(value))
            own = (struct hn_value){.type = HN_INTEGER, .integer = (int64_t)number};
        fuzz_require(hn_bindings_set(&problem, value->name, &own, &err) == HN_OK, err.message);
    }
    int chosen = hn_rule_choose(rule, &problem, NULL, NULL, &sure);
    fuzz_require(chosen >= 0 && (size_t)chosen < rule->configuration_count, "a rule has an answer");
}

static enum hn_status rule_from_json(const json_t *json, struct hn_rule *rule, struct hn_error *err)
{
    hn_fields_read("rule", &hn_rule_structure, json, rule, err);
    return err->status;
}

static void use_rule(const json_t *json)
{
    struct hn_rule rule ENDED_BY(hn_rule_finish) = {0};
    struct hn_rule again ENDED_BY(hn_rule_finish) = {0};
    struct hn_error err = {0};
    if (fuzz_fine(rule_from_json(json, &rule, &err), &err)) {
        char *text FREED = dump(hn_fields_to_json(&hn_rule_structure, &rule));
        json_auto_t *stored = load(text);
        fuzz_require(rule_from_json(stored, &again, &err) == HN_OK, err.message);
        char *text_again FREED = dump(hn_fields_to_json(&hn_rule_structure, &again));
        fuzz_require(strcmp(text, text_again) == 0, "a stored rule is the rule");
        ask_rule(&rule, false);
        ask_rule(&again, true);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *json = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);
    if (json == NULL)
        return 0;
    use_plan(json);
    use_record(json);
    use_device(json);
    use_rule(json);
    json_decref(json);
    return 0;
}
