/* SPDX-License-Identifier: MIT */
#include "tuner/session/rule_code.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"

enum { VARIANTS_MOST = 4096 };

/* In how many ways a value can be part of a program: a number that some configuration has as a
 * constant is one of two, its ends. */
static size_t count_ways(const struct hn_plan *plan, const struct hn_rule *rule,
                         const struct hn_rule_value *value)
{
    if (value->word_count > 0)
        return value->word_count;
    const struct hn_value low = hn_real(value->low);
    bool frozen = false;
    for (size_t i = 0; i < rule->configuration_count && !frozen; i++)
        frozen = hn_plan_is_frozen(plan, &rule->configurations[i], value->name, &low);
    return frozen && value->high > value->low ? 2 : 1;
}

size_t hn_rule_variants(const struct hn_plan *plan, const struct hn_rule *rule)
{
    size_t variants = 1;
    for (size_t i = 0; i < rule->value_count && variants <= VARIANTS_MOST; i++)
        variants *= count_ways(plan, rule, &rule->values[i]);
    return variants;
}

/* A variant's ways are the digits of its number. */
void hn_rule_set_variant(const struct hn_plan *plan, const struct hn_rule *rule, size_t variant,
                         struct hn_bindings *problem, struct hn_error *err)
{
    for (size_t i = 0; i < rule->value_count && !hn_failed(err); i++) {
        const struct hn_rule_value *value = &rule->values[i];
        size_t ways = count_ways(plan, rule, value);
        const struct hn_value own = value->word_count > 0
                                        ? value->words[variant % ways]
                                        : hn_rule_value_end(value, variant % ways > 0);
        if (ways > 1 || value->word_count > 0 || value->low == value->high)
            hn_bindings_set(problem, value->name, &own, err);
        variant /= ways;
    }
}

/* Whether a number of the problem occurs in the expression. */
static bool asks_size(const struct hn_plan *plan, const struct hn_expression *expression,
                      const struct hn_bindings *problem)
{
    for (size_t slot = 0; slot < plan->name_count; slot++) {
        const struct hn_value *value = hn_bindings_get(problem, plan->names[slot]);
        if (value != NULL && value->type != HN_WORD && hn_plan_uses(plan, expression, slot))
            return true;
    }
    return false;
}

bool hn_rule_can_serve(const struct hn_plan *plan, const struct hn_bindings *point,
                       const struct hn_bindings *problem)
{
    struct hn_value *values HN_FREED = NULL;
    bool can = hn_plan_values(plan, problem, point, &values, NULL) == HN_OK;
    for (size_t i = 0; i < plan->constraint_count && can; i++)
        can = asks_size(plan, plan->constraints[i], problem) ||
              hn_expression_truth(plan->constraints[i], values) == HN_TRUE;
    return can;
}

/* A problem of the variant, whose other numbers are the least that there are. */
static void make_problem(const struct hn_plan *plan, const struct hn_rule *rule, size_t variant,
                         struct hn_bindings *problem, struct hn_error *err)
{
    *problem = (struct hn_bindings){0};
    hn_rule_set_end(rule, false, problem, err);
    hn_rule_set_variant(plan, rule, variant, problem, err);
}

void hn_rule_code_list(const struct hn_plan *plan, const struct hn_rule *rule,
                       struct hn_rule_code_list *list, struct hn_error *err)
{
    const size_t variants = hn_rule_variants(plan, rule);
    *list = (struct hn_rule_code_list){.count = 0};
    if (hn_failed(err) || variants > VARIANTS_MOST)
        return;
    list->items = hn_need(variants * rule->configuration_count, sizeof *list->items);
    for (size_t v = 0; v < variants && !hn_failed(err); v++) {
        struct hn_bindings problem HN_ENDED_BY(hn_bindings_finish) = {0};
        make_problem(plan, rule, v, &problem, err);
        for (size_t i = 0; i < rule->configuration_count && !hn_failed(err); i++) {
            struct hn_rule_code_item item = {.point = &rule->configurations[i], .variant = v};
            if (!hn_rule_can_serve(plan, item.point, &problem))
                continue;
            hn_plan_program_values(plan, item.point, &problem, &item.values, err);
            /* Not all that differs between variants is a constant of each configuration. */
            size_t same = 0;
            while (same < list->count &&
                   (list->items[same].point != item.point ||
                    !hn_bindings_equal(&list->items[same].values, &item.values)))
                same++;
            if (same < list->count)
                hn_bindings_finish(&item.values);
            else
                list->items[list->count++] = item;
        }
    }
}

/* Tickets of a pool that searches have used. */
enum { FIRST_TICKET = 1000000 };

struct making {
    const struct hn_rule_code *code;
    struct hn_rule_code_list list;
    struct hn_rule_programs *programs;
    struct hn_keys hashes; /* of the machine code whose bytes are counted */
};

/* Configurations that differ only in how they are launched have the same. */
static void count_bytes(struct making *making, const void *cubin, size_t size)
{
    const struct hn_hash hash = hn_hash_bytes(cubin, size);
    const uint32_t known = making->hashes.count;
    hn_keys_add(&making->hashes, &hash);
    if (making->hashes.count > known)
        making->programs->bytes += size;
}

/* What is not kept is wanted from the pool. */
static bool ask(struct making *making, size_t number, struct hn_error *err)
{
    const struct hn_rule_code *code = making->code;
    const struct hn_rule_code_item *item = &making->list.items[number];
    struct hn_identity identity = *code->session.identity;
    struct hn_bindings problem HN_ENDED_BY(hn_bindings_finish) = {0};
    struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
    void *cubin HN_FREED = NULL;
    char *entry HN_FREED = NULL, architecture[16];
    size_t size = 0;
    if (hn_failed(err))
        return false;
    identity.problem = item->values;
    bool kept = hn_store_get_image(code->store, &identity, code->session.version, item->point,
                                   &cubin, &size, &entry, NULL) == HN_OK;
    if (kept) {
        count_bytes(making, cubin, size);
        return false;
    }
    snprintf(architecture, sizeof architecture, "sm_%d", identity.device.capability);
    make_problem(code->plan, code->rule, item->variant, &problem, err);
    if (!hn_failed(err) &&
        hn_source_make(code->plan, code->template, &problem, item->point, &source, err) == HN_OK)
        hn_compile_pool_submit(code->pool, FIRST_TICKET + number, &source, architecture, err);
    return !hn_failed(err);
}

void hn_rule_code_put(struct hn_store *store, const struct hn_store_session *rule,
                      const struct hn_bindings *values, const struct hn_bindings *point,
                      const void *cubin, size_t size, const char *entries, struct hn_error *err)
{
    struct hn_store_session session = *rule;
    struct hn_identity identity = *rule->identity;
    identity.problem = *values;
    session.identity = &identity;
    session.rule = NULL;
    session.origin = NULL;
    int64_t id = hn_store_session_of(store, &identity, rule->version, err);
    if (!hn_failed(err) && id == 0)
        hn_store_begin(store, &session, NULL, &id, err);
    if (!hn_failed(err))
        hn_store_put_image(store, id, point, cubin, size, entries, err);
}

static void take(struct making *making, size_t number, struct hn_error *err)
{
    const struct hn_rule_code *code = making->code;
    const struct hn_rule_code_item *item = &making->list.items[number];
    struct hn_rule_programs *programs = making->programs;
    uint64_t id = FIRST_TICKET + number;
    struct hn_image image HN_ENDED_BY(hn_image_finish) = {0};
    if (hn_failed(err) || !hn_compile_pool_wait(code->pool, &id, &id, &image, err))
        return;
    programs->compiled++;
    if (image.outcome == HN_OUTCOME_OK) {
        count_bytes(making, image.cubin, image.size);
        char *entries HN_FREED = hn_needed(hn_image_entry_lines(&image));
        hn_rule_code_put(code->store, &code->session, &item->values, item->point, image.cubin,
                         image.size, entries, err);
    } else if (programs->failed++ == 0) {
        snprintf(programs->message, sizeof programs->message, "%s",
                 image.message != NULL ? image.message : hn_outcome_names[image.outcome]);
    }
}

void hn_rule_code_make(const struct hn_rule_code *code, struct hn_rule_programs *programs,
                       struct hn_error *err)
{
    struct making making = {
        .code = code, .programs = programs, .hashes.stride = sizeof(struct hn_hash)};
    *programs = (struct hn_rule_programs){.count = 0};
    hn_rule_code_list(code->plan, code->rule, &making.list, err);
    const size_t count = programs->count = making.list.count;
    bool *asked HN_FREED = hn_need(count, sizeof *asked);
    for (size_t i = 0; i < count; i++)
        asked[i] = ask(&making, i, err);
    for (size_t i = 0; i < count; i++)
        if (asked[i])
            take(&making, i, err);
    if (!hn_failed(err))
        hn_store_commit(code->store, err);
    HN_FREE_EACH(item, making.list.items, count, hn_bindings_finish(&item->values));
    hn_keys_finish(&making.hashes);
}
