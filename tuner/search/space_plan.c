/* SPDX-License-Identifier: MIT */
#include "tuner/search/space_plan.h"

#include <stdlib.h>
#include <string.h>

/* Tables up to 1 MiB wherever their rows are used twice, larger ones where they are used often. */
static const double small_table_bits = 0x1p23;
static const double large_table_bits = 0x1p28;
static const double often = 32;

struct maker {
    struct hn_space_plan *plan;
    struct hn_space_problem *problem;
    struct hn_terms *terms;
    const struct hn_space_part *part;
    uint64_t *bound;       /* the slots of the levels so far */
    size_t *level_of;      /* by slot */
    unsigned char *wanted; /* by term */
    size_t wanted_count;
};

static bool has_slot(const uint64_t *slots, size_t slot)
{
    return slots[slot / 64] >> (slot % 64) & 1;
}

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
static enum hn_status add_check(struct maker *maker, struct hn_space_level *level,
                                const struct hn_space_check *check)
{
    struct hn_space_step step = {.check = check, .term = check->term};
    if (!has_slot(check->slots, level->parameter))
        return HN_OK;
    if (!is_within(check->slots, maker->bound, maker->terms->slot_words)) {
        if (check->term < 0)
            return HN_OK;
        step.partial = true;
        step.term = hn_terms_possible(maker->terms, check->term, maker->bound);
        if (step.term < 0 || hn_terms_is(maker->terms, step.term, 1) ||
            !has_slot(maker->terms->items[step.term].slots, level->parameter))
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
        if (parameter != without && has_slot(slots, parameter))
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

/* Joins steps with tables of which one has all keys of the other. */
static enum hn_status join_tables(struct maker *maker, struct hn_space_level *level)
{
    size_t words = maker->terms->slot_words;
    for (size_t i = 0; i < level->step_count; i++) {
        for (size_t j = i + 1; j < level->step_count; j++) {
            struct hn_space_step *a = &level->steps[i];
            struct hn_space_step *b = &level->steps[j];
            if (a->kind != HN_STEP_TABULATED || b->kind != HN_STEP_TABULATED || a->term < 0 ||
                b->term < 0)
                continue;
            const uint64_t *x = maker->terms->items[a->term].slots;
            const uint64_t *y = maker->terms->items[b->term].slots;
            if (!is_within(x, y, words) && !is_within(y, x, words))
                continue;
            int joined = hn_terms_make(maker->terms, HN_TERM_AND, a->term, b->term, -1);
            if (joined < 0)
                return HN_ENOMEM;
            a->term = joined;
            a->partial = a->partial && b->partial;
            *b = level->steps[--level->step_count];
            j = i;
        }
    }
    return HN_OK;
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
    if (!has_slot(maker->terms->items[edge].slots, level->parameter))
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
    return join_tables(maker, level);
}

static int compare_steps(const void *a, const void *b)
{
    const struct hn_space_step *x = a;
    const struct hn_space_step *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if ((x->direction == HN_UNKNOWN) != (y->direction == HN_UNKNOWN))
        return x->direction == HN_UNKNOWN ? 1 : -1;
    if (x->partial != y->partial)
        return x->partial ? 1 : -1;
    return (x->term > y->term) - (x->term < y->term);
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
    maker->level_of[parameter] = depth;
    level->steps =
        hn_blocks_take(&plan->blocks, (maker->part->check_count + 1) * sizeof *level->steps);
    enum hn_status status = level->steps == NULL ? HN_ENOMEM : HN_OK;
    for (size_t i = 0; i < maker->part->check_count && status == HN_OK; i++)
        status = add_check(maker, level, &maker->problem->checks[maker->part->checks[i]]);
    if (status == HN_OK)
        status = choose_kinds(maker, level);
    if (status == HN_OK)
        qsort(level->steps, level->step_count, sizeof *level->steps, compare_steps);
    return status;
}

/* Marks the term and all that it is computed from. */
static void want(struct maker *maker, int term, unsigned char mark)
{
    const struct hn_term *item = &maker->terms->items[term];
    if (item->operation == HN_TERM_CONSTANT || (maker->wanted[term] & mark) != 0)
        return;
    maker->wanted[term] |= mark;
    for (size_t i = 0; i < 3 && item->operand[i] >= 0; i++)
        want(maker, item->operand[i], mark);
}

enum { OF_STEP = 1, OF_LEVEL = 2 };

/* The marked terms, in order, that depend on the parameter, or that do not. */
static enum hn_status take_marked(struct maker *maker, size_t parameter, bool depends,
                                  struct hn_space_program *program)
{
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        struct hn_instruction *items =
            pass == 0 ? NULL : hn_blocks_take(&maker->plan->blocks, count * sizeof *items + 1);
        if (pass == 1 && items == NULL)
            return HN_ENOMEM;
        count = 0;
        for (size_t i = 0; i < maker->wanted_count; i++) {
            if ((maker->wanted[i] & OF_STEP) == 0 ||
                has_slot(maker->terms->items[i].slots, parameter) != depends)
                continue;
            if (pass == 1)
                items[count] = hn_terms_instruction(maker->terms, (int)i);
            count++;
        }
        *program = (struct hn_space_program){items, count};
    }
    return HN_OK;
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
        if (parameter == level->parameter || !has_slot(slots, parameter))
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
    step->number = maker->plan->step_count++;
    enum hn_status status = HN_OK;
    if (step->kind == HN_STEP_TABULATED)
        status = make_keys(maker, level, step);
    if (step->term < 0 || status != HN_OK)
        return status;
    for (size_t i = 0; i < maker->wanted_count; i++)
        maker->wanted[i] &= (unsigned char)~OF_STEP;
    if (step->kind == HN_STEP_COMPUTED) {
        want(maker, step->edge, OF_STEP);
        status = take_marked(maker, level->parameter, true, &step->to_edge);
        maker->wanted[step->edge] &= (unsigned char)~OF_STEP;
    }
    want(maker, step->term, OF_STEP);
    if (status == HN_OK)
        status = take_marked(maker, level->parameter, true, &step->after);
    if (status != HN_OK)
        return status;
    if (step->kind == HN_STEP_TABULATED)
        return take_marked(maker, level->parameter, false, &step->before);
    for (size_t i = 0; i < step->after.count; i++) {
        const struct hn_term *item = &maker->terms->items[step->after.items[i].result];
        for (size_t j = 0; j < 3 && item->operand[j] >= 0; j++) {
            if (!has_slot(maker->terms->items[item->operand[j]].slots, level->parameter))
                want(maker, item->operand[j], OF_LEVEL);
        }
    }
    return HN_OK;
}

static size_t level_of_term(const struct maker *maker, const struct hn_term *term)
{
    size_t last = 0;
    for (size_t i = 0; i < maker->part->parameter_count; i++) {
        size_t parameter = maker->part->parameters[i];
        if (has_slot(term->slots, parameter) && maker->level_of[parameter] > last)
            last = maker->level_of[parameter];
    }
    return last;
}

static enum hn_status make_exports(struct maker *maker)
{
    struct hn_space_plan *plan = maker->plan;
    size_t *counts = hn_blocks_take(&plan->blocks, (plan->level_count + 1) * sizeof *counts);
    if (counts == NULL)
        return HN_ENOMEM;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < plan->level_count && pass == 1; i++) {
            plan->levels[i].exports.items =
                hn_blocks_take(&plan->blocks, counts[i] * sizeof(struct hn_instruction) + 1);
            if (plan->levels[i].exports.items == NULL)
                return HN_ENOMEM;
        }
        for (size_t i = 0; i < maker->wanted_count; i++) {
            if ((maker->wanted[i] & OF_LEVEL) == 0)
                continue;
            size_t level = level_of_term(maker, &maker->terms->items[i]);
            struct hn_space_program *exports = &plan->levels[level].exports;
            if (pass == 0)
                counts[level]++;
            else
                ((struct hn_instruction *)exports->items)[exports->count++] =
                    hn_terms_instruction(maker->terms, (int)i);
        }
    }
    return HN_OK;
}

static enum hn_status make_parts(struct maker *maker, const struct hn_space_table *table)
{
    struct hn_space_plan *plan = maker->plan;
    plan->key_words = table->words;
    for (size_t i = 0; i < plan->level_count; i++) {
        struct hn_space_level *level = &plan->levels[i];
        const struct hn_space_field *field = table->fields;
        while (field->parameter != level->parameter)
            field++;
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
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < plan->level_count && status == HN_OK; i++)
        status = make_level(maker, i, order[i]);
    if (status != HN_OK)
        return status;
    maker->wanted_count = maker->terms->count;
    maker->wanted = calloc(maker->wanted_count + 1, 1);
    if (maker->wanted == NULL)
        return HN_ENOMEM;
    for (size_t i = 0; i < plan->level_count; i++) {
        for (size_t j = 0; j < plan->levels[i].step_count && status == HN_OK; j++)
            status = make_step(maker, &plan->levels[i], &plan->levels[i].steps[j]);
    }
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
    enum hn_status status = HN_ENOMEM;
    if (plan->levels != NULL && maker.bound != NULL && maker.level_of != NULL)
        status = make_plan(&maker, order, table);
    free(maker.bound);
    free(maker.level_of);
    free(maker.wanted);
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
