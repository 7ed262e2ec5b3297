/* SPDX-License-Identifier: MIT */
#include "tuner/space/space_plan.h"

#include <stdlib.h>
#include <string.h>

/* Tables up to 1 MiB wherever their rows are used twice, larger ones where they are used often. */
static const double small_table_bits = 0x1p23;
static const double large_table_bits = 0x1p26;
static const double often = 32;

struct maker {
    struct hn_space_plan *plan;
    struct hn_space_problem *problem;
    struct hn_terms *terms;
    const struct hn_space_part *part;
    uint64_t *bound;  /* the slots of the levels so far */
    size_t *level_of; /* by slot */
    int *arranged;    /* the terms of the part's checks, for the order of the levels */
    struct hn_space_gatherer gatherer;
    struct hn_space_gatherer exported;
};

static bool is_within(const uint64_t *slots, const uint64_t *all, size_t words)
{
    for (size_t i = 0; i < words; i++) {
        if ((slots[i] & ~all[i]) != 0)
            return false;
    }
    return true;
}

static const uint64_t *step_slots(const struct maker *maker, const struct hn_space_step *step)
{
    return step->term >= 0 ? maker->terms->items[step->term].slots : step->check->slots;
}

static void add_step(struct hn_space_level *level, const struct hn_space_step *step)
{
    for (size_t i = 0; i < level->step_count && step->term >= 0; i++) {
        if (level->steps[i].term == step->term)
            return;
    }
    level->steps[level->step_count++] = *step;
}

/* The condition that binding the level's parameter puts to the test for a check. */
static enum hn_status add_check(struct maker *maker, struct hn_space_level *level, size_t number)
{
    const struct hn_space_check *check = &maker->problem->checks[maker->part->checks[number]];
    struct hn_space_step step = {.check = check, .term = maker->arranged[number]};
    const uint64_t *slots = step_slots(maker, &step);
    if (!hn_has_slot(slots, level->parameter))
        return HN_OK;
    if (!is_within(slots, maker->bound, maker->terms->slot_words)) {
        if (step.term < 0)
            return HN_OK;
        step.term = hn_terms_possible(maker->terms, step.term, maker->bound);
        if (step.term < 0 || hn_terms_is(maker->terms, step.term, 1) ||
            !hn_has_slot(maker->terms->items[step.term].slots, level->parameter))
            return maker->terms->out_of_memory ? HN_ENOMEM : HN_OK;
    }
    add_step(level, &step);
    return HN_OK;
}

/* Combinations of the values of the slots but one. */
static double combinations_of(const struct maker *maker, const uint64_t *slots, size_t without)
{
    double product = 1;
    for (size_t i = 0; i < maker->part->parameter_count; i++) {
        size_t parameter = maker->part->parameters[i];
        if (parameter != without && hn_has_slot(slots, parameter))
            product *= (double)maker->problem->domains[parameter].count;
    }
    return product;
}

static bool worth_a_table(const struct maker *maker, const struct hn_space_level *level,
                          const uint64_t *slots)
{
    double keys = combinations_of(maker, slots, level->parameter);
    double bits = keys * 64.0 * (double)level->words;
    double uses = combinations_of(maker, maker->bound, level->parameter) / keys;
    return (bits <= small_table_bits && (uses > 1 || keys == 1)) ||
           (bits <= large_table_bits && uses >= often);
}

/* Where the two sides of == move apart, halving finds the place where they meet: by <=. */
static enum hn_status find_direction(struct maker *maker, const struct hn_space_level *level,
                                     struct hn_space_step *step)
{
    step->edge = step->term;
    step->direction = hn_terms_direction(maker->terms, step->term, level->parameter);
    const struct hn_term item = maker->terms->items[step->term];
    if (item.operation != HN_TERM_EQUAL)
        return HN_OK;
    int edge =
        hn_terms_make(maker->terms, HN_TERM_LESS_EQUAL, item.operand[0], item.operand[1], -1);
    if (edge < 0)
        return HN_ENOMEM;
    if (!hn_has_slot(maker->terms->items[edge].slots, level->parameter))
        return HN_OK;
    step->edge = edge;
    step->direction = hn_terms_direction(maker->terms, edge, level->parameter);
    return HN_OK;
}

static enum hn_status choose_kinds(struct maker *maker, struct hn_space_level *level)
{
    for (size_t i = 0; i < level->step_count; i++) {
        struct hn_space_step *step = &level->steps[i];
        step->kind = worth_a_table(maker, level, step_slots(maker, step)) ? HN_STEP_TABULATED
                     : step->term >= 0                                    ? HN_STEP_COMPUTED
                                                                          : HN_STEP_EVALUATED;
        maker->plan->evaluates = maker->plan->evaluates || step->term < 0;
        step->direction = HN_UNKNOWN;
        if (step->kind == HN_STEP_COMPUTED && find_direction(maker, level, step) != HN_OK)
            return HN_ENOMEM;
    }
    return HN_OK;
}

static enum hn_status make_level(struct maker *maker, size_t depth, size_t parameter)
{
    struct hn_space_plan *plan = maker->plan;
    struct hn_space_level *level = &plan->levels[depth];
    const struct hn_domain *domain = &maker->problem->domains[parameter];
    level->parameter = parameter;
    level->values = domain->values;
    level->count = domain->count;
    level->words = (domain->count + 63) / 64;
    level->mask_at = plan->mask_words;
    plan->mask_words += level->words;
    plan->combinations *= (double)domain->count;
    maker->bound[parameter / 64] |= (uint64_t)1 << (parameter % 64);
    level->steps =
        hn_blocks_take(&plan->blocks, (maker->part->check_count + 1) * sizeof *level->steps);
    enum hn_status status = level->steps == NULL ? HN_ENOMEM : HN_OK;
    for (size_t i = 0; i < maker->part->check_count && status == HN_OK; i++)
        status = add_check(maker, level, i);
    return status == HN_OK ? choose_kinds(maker, level) : status;
}

static enum hn_status make_keys(struct maker *maker, const struct hn_space_level *level,
                                struct hn_space_step *step)
{
    struct hn_space_plan *plan = maker->plan;
    const uint64_t *slots = step_slots(maker, step);
    struct hn_space_step_key *keys =
        hn_blocks_take(&plan->blocks, (plan->level_count + 1) * sizeof *keys);
    if (keys == NULL)
        return HN_ENOMEM;
    size_t stride = 1;
    for (size_t i = 0; i < maker->part->parameter_count; i++) {
        size_t parameter = maker->part->parameters[i];
        if (parameter == level->parameter || !hn_has_slot(slots, parameter))
            continue;
        keys[step->key_count++] = (struct hn_space_step_key){parameter, stride};
        stride *= maker->problem->domains[parameter].count;
    }
    step->keys = keys;
    step->bits_at = plan->bit_words;
    step->known_at = plan->known_bytes;
    plan->bit_words += stride * level->words;
    plan->known_bytes += stride;
    return HN_OK;
}

/* A table's step computes all by itself, since it seldom does; another leaves what it can to the
 * levels above. */
static enum hn_status make_step(struct maker *maker, const struct hn_space_level *level,
                                struct hn_space_step *step)
{
    struct hn_blocks *blocks = &maker->plan->blocks;
    size_t slot = level->parameter;
    enum hn_status status = HN_OK;
    if (step->kind == HN_STEP_TABULATED)
        status = make_keys(maker, level, step);
    if (step->term < 0 || status != HN_OK)
        return status;
    if (step->kind == HN_STEP_COMPUTED) {
        hn_space_gather(&maker->gatherer, step->edge);
        status = hn_space_program_take(&maker->gatherer, slot, true, blocks, &step->to_edge);
    }
    hn_space_gather(&maker->gatherer, step->term);
    if (status == HN_OK)
        status = hn_space_program_take(&maker->gatherer, slot, true, blocks, &step->after);
    if (status == HN_OK && step->kind == HN_STEP_TABULATED)
        return hn_space_program_take(&maker->gatherer, slot, false, blocks, &step->before);
    for (size_t i = 0; i < step->after.count; i++) {
        const struct hn_term *item = &maker->terms->items[step->after.items[i].result];
        for (size_t j = 0; j < 3 && item->operand[j] >= 0; j++) {
            if (!hn_has_slot(maker->terms->items[item->operand[j]].slots, slot))
                hn_space_gather_more(&maker->exported, item->operand[j]);
        }
    }
    return status;
}

static size_t level_of_term(const struct maker *maker, const struct hn_term *term)
{
    size_t last = 0;
    for (size_t i = 0; i < maker->part->parameter_count; i++) {
        size_t parameter = maker->part->parameters[i];
        if (hn_has_slot(term->slots, parameter) && maker->level_of[parameter] > last)
            last = maker->level_of[parameter];
    }
    return last;
}

/* Each exported term at the level that binds the last of what it depends on. */
static enum hn_status make_exports(struct maker *maker)
{
    struct hn_space_plan *plan = maker->plan;
    const struct hn_space_gatherer *exported = &maker->exported;
    struct hn_instruction **items =
        hn_blocks_take(&plan->blocks, (plan->level_count + 1) * sizeof *items);
    size_t *levels = hn_blocks_take(&plan->blocks, (exported->count + 1) * sizeof *levels);
    if (items == NULL || levels == NULL)
        return HN_ENOMEM;
    for (size_t i = 0; i < exported->count; i++) {
        levels[i] = level_of_term(maker, &maker->terms->items[exported->found[i]]);
        plan->levels[levels[i]].exports.count++;
    }
    for (size_t i = 0; i < plan->level_count; i++) {
        struct hn_space_program *exports = &plan->levels[i].exports;
        items[i] = hn_blocks_take(&plan->blocks, exports->count * sizeof **items + 1);
        if (items[i] == NULL)
            return HN_ENOMEM;
        exports->items = items[i];
    }
    for (size_t i = 0; i < exported->count; i++)
        *items[levels[i]]++ = hn_terms_instruction(maker->terms, exported->found[i]);
    return HN_OK;
}

static enum hn_status make_parts(struct maker *maker, const struct hn_space_table *table)
{
    struct hn_space_plan *plan = maker->plan;
    plan->key_words = table->words;
    for (size_t i = 0; i < plan->level_count; i++) {
        struct hn_space_level *level = &plan->levels[i];
        const struct hn_space_field *field = hn_space_table_field(table, level->parameter);
        uint64_t *parts = hn_blocks_take(&plan->blocks, level->count * sizeof *parts);
        if (parts == NULL)
            return HN_ENOMEM;
        for (size_t j = 0; j < level->count; j++)
            parts[j] = (uint64_t)hn_space_problem_index(maker->problem, level->parameter, j)
                       << field->shift;
        level->parts = parts;
        level->key_word = field->word;
    }
    return HN_OK;
}

static enum hn_status make_plan(struct maker *maker, const size_t *order,
                                const struct hn_space_table *table)
{
    struct hn_space_plan *plan = maker->plan;
    for (size_t i = 0; i < plan->level_count; i++)
        maker->level_of[order[i]] = i;
    for (size_t i = 0; i < maker->part->check_count; i++)
        maker->arranged[i] = maker->problem->checks[maker->part->checks[i]].term;
    if (!hn_terms_arrange(maker->terms, maker->arranged, maker->part->check_count, maker->level_of))
        return HN_ENOMEM;
    for (size_t i = 0; i < maker->part->check_count; i++) {
        int term = maker->arranged[i];
        if (term >= 0 && maker->terms->items[term].operation == HN_TERM_CONSTANT)
            maker->arranged[i] = maker->problem->checks[maker->part->checks[i]].term;
    }
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < plan->level_count && status == HN_OK; i++)
        status = make_level(maker, i, order[i]);
    if (status != HN_OK)
        return status;
    status = hn_space_gatherer_init(&maker->gatherer, maker->terms, NULL);
    if (status == HN_OK)
        status = hn_space_gatherer_init(&maker->exported, maker->terms, NULL);
    for (size_t i = 0; i < plan->level_count; i++) {
        for (size_t j = 0; j < plan->levels[i].step_count && status == HN_OK; j++)
            status = make_step(maker, &plan->levels[i], &plan->levels[i].steps[j]);
    }
    hn_space_gather_sort(&maker->exported);
    if (status == HN_OK)
        status = make_exports(maker);
    if (status == HN_OK)
        status = make_parts(maker, table);
    return status;
}

enum hn_status hn_space_plan_init(struct hn_space_plan *plan, struct hn_space_problem *problem,
                                  const struct hn_space_part *part, const size_t *order,
                                  const struct hn_space_table *table, struct hn_error *err)
{
    *plan = (struct hn_space_plan){
        .problem = problem, .level_count = part->parameter_count, .combinations = 1};
    struct maker maker = {.plan = plan, .problem = problem, .terms = &problem->terms, .part = part};
    plan->levels = hn_blocks_take(&plan->blocks, (plan->level_count + 1) * sizeof *plan->levels);
    maker.bound = calloc(problem->terms.slot_words, sizeof *maker.bound);
    maker.level_of = calloc(problem->terms.slot_count + 1, sizeof *maker.level_of);
    maker.arranged = calloc(part->check_count + 1, sizeof *maker.arranged);
    enum hn_status status = HN_ENOMEM;
    if (plan->levels != NULL && maker.bound != NULL && maker.level_of != NULL &&
        maker.arranged != NULL)
        status = make_plan(&maker, order, table);
    free(maker.bound);
    free(maker.level_of);
    free(maker.arranged);
    hn_space_gatherer_finish(&maker.gatherer);
    hn_space_gatherer_finish(&maker.exported);
    if (status == HN_OK)
        return HN_OK;
    hn_space_plan_finish(plan);
    return hn_fail_memory(err);
}

void hn_space_plan_finish(struct hn_space_plan *plan)
{
    hn_blocks_finish(&plan->blocks);
    *plan = (struct hn_space_plan){0};
}
