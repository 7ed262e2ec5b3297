/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/hash.h"
#include "tuner/space/space_internal.h"

/* Collects the terms that some terms are computed from. The terms do not grow meanwhile. */
struct gatherer {
    const struct hn_terms *terms;
    unsigned char *marked; /* by term */
    int *found;            /* what gather found, ascending; constants are left out */
    size_t count;
};

static void init_gatherer(struct gatherer *gatherer, const struct hn_terms *terms,
                          struct hn_blocks *blocks)
{
    *gatherer = (struct gatherer){.terms = terms,
                                  .marked = hn_need_block(blocks, terms->count, 1),
                                  .found = hn_need_block(blocks, terms->count, sizeof(int))};
}

/* Finds the terms that are marked, none above `last`, and all that they are computed from: operands
 * come before what they are used in. */
static void gather_marked(struct gatherer *gatherer, int last)
{
    for (int i = last; i >= 0; i--)
        for (size_t j = 0; gatherer->marked[i] && j < 3; j++) {
            int operand = gatherer->terms->items[i].operand[j];
            if (operand >= 0)
                gatherer->marked[operand] = 1;
        }
    gatherer->count = 0;
    for (int i = 0; i <= last; i++)
        if (gatherer->marked[i] && gatherer->terms->items[i].operation != HN_OP_CONSTANT)
            gatherer->found[gatherer->count++] = i;
}

static void gather(struct gatherer *gatherer, int term)
{
    memset(gatherer->marked, 0, (size_t)term + 1);
    gatherer->marked[term] = 1;
    gather_marked(gatherer, term);
}

/* Those of the found terms that depend on the slot, or those that do not. */
static void take_program(const struct gatherer *gatherer, size_t slot, bool depends,
                         struct hn_blocks *blocks, struct hn_space_program *program)
{
    const struct hn_terms *terms = gatherer->terms;
    struct hn_instruction *items = hn_need_block(blocks, gatherer->count, sizeof *items);
    size_t count = 0;
    for (size_t i = 0; i < gatherer->count; i++) {
        int term = gatherer->found[i];
        if (hn_has_slot(terms->items[term].slots, slot) == depends)
            items[count++] = hn_terms_instruction(terms, term);
    }
    *program = (struct hn_space_program){items, count};
}

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
    struct gatherer gatherer;
    struct gatherer exported;
};

static const uint64_t *step_slots(const struct maker *maker, const struct hn_space_step *step)
{
    return step->term >= 0 ? maker->terms->items[step->term].slots : step->check->slots;
}

/* The condition that binding the level's parameter puts to the test for a check. */
static void add_check(struct maker *maker, struct hn_space_level *level, size_t number)
{
    const struct hn_space_check *check = &maker->problem->checks[maker->part->checks[number]];
    struct hn_space_step step = {.check = check, .term = check->term};
    const uint64_t *slots = step_slots(maker, &step);
    bool asks_more = false; /* than is bound */
    if (!hn_has_slot(slots, level->parameter))
        return;
    for (size_t i = 0; i < maker->terms->slot_words; i++)
        asks_more |= (slots[i] & ~maker->bound[i]) != 0;
    if (asks_more) {
        if (step.term < 0)
            return;
        step.term = hn_terms_possible(maker->terms, step.term, maker->bound);
        if (step.term < 0 || hn_terms_is(maker->terms, step.term, 1) ||
            !hn_has_slot(maker->terms->items[step.term].slots, level->parameter))
            return;
    }
    for (size_t i = 0; i < level->step_count && step.term >= 0; i++)
        if (level->steps[i].term == step.term)
            return;
    level->steps[level->step_count++] = step;
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

/* Where the two sides of == move apart, halving finds the place where they meet: by <=. */
static void find_direction(struct maker *maker, const struct hn_space_level *level,
                           struct hn_space_step *step)
{
    step->edge = step->term;
    step->direction = hn_terms_direction(maker->terms, step->term, level->parameter);
    const struct hn_term item = maker->terms->items[step->term];
    if (item.operation != HN_OP_EQUAL)
        return;
    int edge = hn_terms_make(maker->terms, HN_OP_LESS_EQUAL, item.operand[0], item.operand[1], -1);
    if (edge < 0 || !hn_has_slot(maker->terms->items[edge].slots, level->parameter))
        return;
    step->edge = edge;
    step->direction = hn_terms_direction(maker->terms, edge, level->parameter);
}

static void choose_kinds(struct maker *maker, struct hn_space_level *level)
{
    HN_EACH_OF(step, level->steps, level->step_count) {
        double keys = combinations_of(maker, step_slots(maker, step), level->parameter);
        double bits = keys * 64.0 * (double)level->words;
        double uses = combinations_of(maker, maker->bound, level->parameter) / keys;
        bool tabulated = (bits <= small_table_bits && (uses > 1 || keys == 1)) ||
                         (bits <= large_table_bits && uses >= often);
        step->kind = tabulated         ? HN_STEP_TABULATED
                     : step->term >= 0 ? HN_STEP_COMPUTED
                                       : HN_STEP_EVALUATED;
        maker->plan->evaluates = maker->plan->evaluates || step->term < 0;
        step->direction = HN_UNKNOWN;
        if (step->kind == HN_STEP_COMPUTED)
            find_direction(maker, level, step);
    }
}

static void make_level(struct maker *maker, size_t depth, size_t parameter)
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
    level->steps = hn_need_block(&plan->blocks, maker->part->check_count, sizeof *level->steps);
    for (size_t i = 0; i < maker->part->check_count; i++)
        add_check(maker, level, i);
    choose_kinds(maker, level);
}

static void make_keys(struct maker *maker, const struct hn_space_level *level,
                      struct hn_space_step *step)
{
    struct hn_space_plan *plan = maker->plan;
    const uint64_t *slots = step_slots(maker, step);
    struct hn_space_step_key *keys = hn_need_block(&plan->blocks, plan->level_count, sizeof *keys);
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
}

/* A table's step computes all by itself, since it seldom does; another leaves what it can to the
 * levels above. */
static void make_step(struct maker *maker, const struct hn_space_level *level,
                      struct hn_space_step *step)
{
    struct hn_blocks *blocks = &maker->plan->blocks;
    size_t slot = level->parameter;
    if (step->kind == HN_STEP_TABULATED)
        make_keys(maker, level, step);
    if (step->term < 0)
        return;
    if (step->kind == HN_STEP_COMPUTED) {
        gather(&maker->gatherer, step->edge);
        take_program(&maker->gatherer, slot, true, blocks, &step->to_edge);
    }
    gather(&maker->gatherer, step->term);
    take_program(&maker->gatherer, slot, true, blocks, &step->after);
    if (step->kind == HN_STEP_TABULATED) {
        take_program(&maker->gatherer, slot, false, blocks, &step->before);
        return;
    }
    for (size_t i = 0; i < step->after.count; i++) {
        const struct hn_term *item = &maker->terms->items[step->after.items[i].result];
        for (size_t j = 0; j < 3 && item->operand[j] >= 0; j++)
            if (!hn_has_slot(maker->terms->items[item->operand[j]].slots, slot))
                maker->exported.marked[item->operand[j]] = 1;
    }
}

/* Each exported term at the level that binds the last of what it depends on. */
static void make_exports(struct maker *maker)
{
    struct hn_space_plan *plan = maker->plan;
    const struct gatherer *exported = &maker->exported;
    struct hn_instruction **items = hn_need_block(&plan->blocks, plan->level_count, sizeof *items);
    size_t *levels = hn_need_block(&plan->blocks, exported->count, sizeof *levels);
    for (size_t i = 0; i < exported->count; i++) {
        const struct hn_term *term = &maker->terms->items[exported->found[i]];
        levels[i] = 0;
        for (size_t p = 0; p < maker->part->parameter_count; p++) {
            size_t parameter = maker->part->parameters[p];
            if (hn_has_slot(term->slots, parameter) && maker->level_of[parameter] > levels[i])
                levels[i] = maker->level_of[parameter];
        }
        plan->levels[levels[i]].exports.count++;
    }
    for (size_t i = 0; i < plan->level_count; i++) {
        struct hn_space_program *exports = &plan->levels[i].exports;
        exports->items = items[i] = hn_need_block(&plan->blocks, exports->count, sizeof **items);
    }
    for (size_t i = 0; i < exported->count; i++)
        *items[levels[i]]++ = hn_terms_instruction(maker->terms, exported->found[i]);
}

static void make_parts(struct maker *maker, const struct hn_space_table *table)
{
    struct hn_space_plan *plan = maker->plan;
    plan->key_words = table->words;
    HN_EACH_OF(level, plan->levels, plan->level_count) {
        const struct hn_space_field *field = hn_space_table_field(table, level->parameter);
        uint64_t *parts = hn_need_block(&plan->blocks, level->count, sizeof *parts);
        for (size_t j = 0; j < level->count; j++)
            parts[j] = (uint64_t)hn_space_problem_index(maker->problem, level->parameter, j)
                       << field->shift;
        level->parts = parts;
        level->key_word = field->word;
    }
}

/* The work that an order makes is estimated from the share of combinations that each check lets
 * pass, as if checks were independent; the share is that of a sample. */
enum { SAMPLES = 64, MOST_MOVES = 20000 };

/* Below this the declared order is good enough. */
static const double few_combinations = 20000;
/* Points found in declared order need not be sorted. */
static const double declared_bonus = 1.5;

struct guess {
    struct hn_space_problem *problem;
    const struct hn_space_part *part;
    double *share;  /* of combinations that pass, by check of the part */
    size_t *rank;   /* by slot, in the order that is judged */
    size_t *trial;  /* an order */
    double *factor; /* by level: what the checks completed there let pass */
    uint16_t *positions;
    struct hn_value *current;
    union hn_cell *cells;
    struct gatherer gatherer;
};

static bool passes(struct guess *guess, const struct hn_space_check *check)
{
    const struct hn_space_problem *problem = guess->problem;
    if (check->term < 0)
        return hn_expression_truth(problem->demands->conjuncts.items[check->conjunct].expression,
                                   guess->current) == (check->failing ? HN_NO_VALUE : HN_TRUE);
    for (size_t i = 0; i < guess->gatherer.count; i++) {
        struct hn_instruction instruction =
            hn_terms_instruction(&problem->terms, guess->gatherer.found[i]);
        hn_instructions_run(&instruction, 1, guess->positions, guess->cells);
    }
    return guess->cells[check->term].integer != 0;
}

static double sample_share(struct guess *guess, const struct hn_space_check *check,
                           struct hn_random *random)
{
    double passed = 0.5;
    if (check->term >= 0)
        gather(&guess->gatherer, check->term);
    for (size_t i = 0; i < SAMPLES; i++) {
        /* A random position of each parameter that the check depends on. */
        for (size_t j = 0; j < guess->part->parameter_count; j++) {
            size_t parameter = guess->part->parameters[j];
            const struct hn_domain *domain = &guess->problem->domains[parameter];
            if (!hn_has_slot(check->slots, parameter))
                continue;
            size_t position = hn_random_below(random, domain->count);
            guess->positions[parameter] = (uint16_t)position;
            guess->current[parameter] = domain->values[position];
        }
        passed += passes(guess, check);
    }
    return passed / (SAMPLES + 1);
}

/* The last level at which one of the check's parameters is bound. */
static size_t completed_at(const struct guess *guess, size_t check)
{
    const uint64_t *slots = guess->problem->checks[guess->part->checks[check]].slots;
    size_t last = 0;
    HN_EACH_BIT(slot, slots, guess->problem->terms.slot_words)
        if (guess->rank[slot] > last)
            last = guess->rank[slot];
    return last;
}

/* Values that have to be tried in all. */
static double work_of(struct guess *guess, const size_t *order)
{
    size_t count = guess->part->parameter_count;
    for (size_t i = 0; i < count; i++) {
        guess->rank[order[i]] = i;
        guess->factor[i] = 1;
    }
    for (size_t i = 0; i < guess->part->check_count; i++)
        guess->factor[completed_at(guess, i)] *= guess->share[i];
    double nodes = 1, work = 0;
    for (size_t i = 0; i < count; i++) {
        double values = (double)guess->problem->domains[order[i]].count;
        work += nodes * (4 + 0.25 * values);
        nodes *= values * guess->factor[i];
    }
    return work;
}

static void move(size_t *order, size_t from, size_t to)
{
    size_t moved = order[from];
    if (from < to)
        memmove(order + from, order + from + 1, (to - from) * sizeof *order);
    else
        memmove(order + to + 1, order + to, (from - to) * sizeof *order);
    order[to] = moved;
}

/* Moves the parameter to where that makes less work; true when it was moved. */
static bool move_better(struct guess *guess, size_t *order, size_t from, double *work)
{
    size_t count = guess->part->parameter_count;
    for (size_t to = 0; to < count; to++) {
        if (from == to)
            continue;
        move(order, from, to);
        double trial = work_of(guess, order);
        if (trial < *work * 0.999) {
            *work = trial;
            return true;
        }
        move(order, to, from);
    }
    return false;
}

/* Moves single parameters as long as that helps. */
static double improve(struct guess *guess, size_t *order)
{
    size_t count = guess->part->parameter_count;
    double work = work_of(guess, order);
    size_t moves = 0;
    for (bool better = true; better;) {
        better = false;
        for (size_t from = 0; from < count && moves < MOST_MOVES; from++) {
            moves += count;
            better = move_better(guess, order, from, &work) || better;
        }
    }
    return work;
}

static void choose(struct guess *guess, size_t *order)
{
    size_t count = guess->part->parameter_count;
    struct hn_random random = hn_random_seeded(1);
    hn_terms_set_constants(&guess->problem->terms, guess->cells);
    for (size_t i = 0; i < guess->part->check_count; i++) {
        const struct hn_space_check *check = &guess->problem->checks[guess->part->checks[i]];
        guess->share[i] = sample_share(guess, check, &random);
    }
    double declared = work_of(guess, order);
    memcpy(guess->trial, order, count * sizeof *order);
    if (improve(guess, guess->trial) * declared_bonus < declared)
        memcpy(order, guess->trial, count * sizeof *order);
}

/* Of the part's parameters, one in which few combinations have to be tried. */
static const size_t *find_order(struct hn_space_problem *problem, const struct hn_space_part *part)
{
    double combinations = 1;
    for (size_t i = 0; i < part->parameter_count; i++)
        combinations *= (double)problem->domains[part->parameters[i]].count;
    if (combinations <= few_combinations)
        return part->parameters;
    size_t slots = problem->demands->slot_count;
    struct hn_blocks *blocks = &problem->blocks;
    struct guess guess = {.problem = problem,
                          .part = part,
                          .share = hn_need_block(blocks, part->check_count, sizeof *guess.share),
                          .rank = hn_need_block(blocks, slots, sizeof *guess.rank),
                          .trial = hn_need_block(blocks, slots, sizeof *guess.trial),
                          .factor = hn_need_block(blocks, slots, sizeof *guess.factor),
                          .positions = hn_need_block(blocks, slots, sizeof *guess.positions),
                          .current = hn_need_block(blocks, slots, sizeof *guess.current),
                          .cells =
                              hn_need_block(blocks, problem->terms.count, sizeof *guess.cells)};
    size_t *order = hn_need_block(blocks, part->parameter_count, sizeof *order);
    memcpy(order, part->parameters, part->parameter_count * sizeof *order);
    memcpy(guess.current, problem->current, slots * sizeof *guess.current);
    init_gatherer(&guess.gatherer, &problem->terms, blocks);
    choose(&guess, order);
    return order;
}

void hn_space_plan_init(struct hn_space_plan *plan, struct hn_space_problem *problem,
                        const struct hn_space_part *part, bool declared,
                        const struct hn_space_table *table)
{
    const size_t *order = declared ? part->parameters : find_order(problem, part);
    *plan = (struct hn_space_plan){
        .problem = problem, .level_count = part->parameter_count, .combinations = 1};
    struct hn_blocks *blocks = &plan->blocks;
    struct maker maker = {
        .plan = plan,
        .problem = problem,
        .terms = &problem->terms,
        .part = part,
        .bound = hn_need_block(blocks, problem->terms.slot_words, sizeof *maker.bound),
        .level_of = hn_need_block(blocks, problem->terms.slot_count, sizeof *maker.level_of)};
    plan->levels = hn_need_block(blocks, plan->level_count, sizeof *plan->levels);
    for (size_t i = 0; i < plan->level_count; i++)
        maker.level_of[order[i]] = i;
    for (size_t i = 0; i < plan->level_count; i++)
        make_level(&maker, i, order[i]);
    hn_needed(maker.terms->out_of_memory ? NULL : plan);
    init_gatherer(&maker.gatherer, maker.terms, blocks);
    init_gatherer(&maker.exported, maker.terms, blocks);
    for (size_t i = 0; i < plan->level_count; i++)
        for (size_t j = 0; j < plan->levels[i].step_count; j++)
            make_step(&maker, &plan->levels[i], &plan->levels[i].steps[j]);
    gather_marked(&maker.exported, (int)maker.terms->count - 1);
    make_exports(&maker);
    make_parts(&maker, table);
}
