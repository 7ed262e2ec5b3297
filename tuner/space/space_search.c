/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "tuner/space/space_internal.h"

/* Steps are work: asking the evaluator takes as long as computing so many terms, and so do so many
 * words of a set. */
enum { STEPS_TO_EVALUATE = 16, WORDS_A_STEP = 16 };

static void init_search(struct hn_space_search *search, const struct hn_space_plan *plan)
{
    const struct hn_space_problem *problem = plan->problem;
    size_t slots = problem->demands->slot_count;
    *search = (struct hn_space_search){.plan = plan};
    struct hn_blocks *blocks = &search->blocks;
    search->positions = hn_need_block(blocks, slots, sizeof *search->positions);
    search->current = hn_need_block(blocks, slots, sizeof *search->current);
    search->cells = hn_need_block(blocks, problem->terms.count, sizeof *search->cells);
    search->bits = hn_need_block(blocks, plan->bit_words, sizeof *search->bits);
    search->known = hn_need_block(blocks, plan->known_bytes, 1);
    search->masks = hn_need_block(blocks, plan->mask_words, sizeof *search->masks);
    search->keys =
        hn_need_block(blocks, (plan->level_count + 1) * plan->key_words, sizeof *search->keys);
    memcpy(search->current, problem->current, slots * sizeof *search->current);
    hn_terms_set_constants(&problem->terms, search->cells);
}

static void finish_search(struct hn_space_search *search)
{
    hn_blocks_finish(&search->blocks);
    free(search->points);
    *search = (struct hn_space_search){0};
}

void hn_space_solver_init(struct hn_space_solver *solver, struct hn_space_problem *problem,
                          const struct hn_space_part *part)
{
    hn_space_table_init(&solver->table, problem->demands->space, part->parameters,
                        part->parameter_count);
    hn_space_plan_init(&solver->plan, problem, part, false, &solver->table);
    init_search(&solver->search, &solver->plan);
}

void hn_space_solver_finish(struct hn_space_solver *solver)
{
    finish_search(&solver->search);
    hn_blocks_finish(&solver->plan.blocks);
    hn_space_table_finish(&solver->table);
}

static void run(struct hn_space_search *search, const struct hn_space_program *program)
{
    hn_instructions_run(program->items, program->count, search->positions, search->cells);
}

/* Whether the step's check passes at a position of the level's parameter. */
static bool passes(struct hn_space_search *search, const struct hn_space_level *level,
                   const struct hn_space_step *step, size_t position)
{
    search->positions[level->parameter] = (uint16_t)position;
    if (step->term >= 0) {
        run(search, &step->after);
        return search->cells[step->term].integer != 0;
    }
    search->current[level->parameter] = level->values[position];
    const struct hn_conjuncts *conjuncts = &search->plan->problem->demands->conjuncts;
    enum hn_truth wanted = step->check->failing ? HN_NO_VALUE : HN_TRUE;
    return hn_expression_truth(conjuncts->items[step->check->conjunct].expression,
                               search->current) == wanted;
}

static uint64_t cost_of(const struct hn_space_step *step)
{
    return step->term >= 0 ? 1 : STEPS_TO_EVALUATE;
}

static uint64_t *need_row(struct hn_space_search *search, const struct hn_space_level *level,
                          const struct hn_space_step *step)
{
    size_t row = 0;
    for (size_t i = 0; i < step->key_count; i++)
        row += search->positions[step->keys[i].slot] * step->keys[i].stride;
    uint64_t *bits = search->bits + step->bits_at + row * level->words;
    if (search->known[step->known_at + row])
        return bits;
    search->known[step->known_at + row] = 1;
    run(search, &step->before);
    search->steps += level->count * cost_of(step);
    for (size_t i = 0; i < level->count; i++)
        if (passes(search, level, step, i))
            bits[i / 64] |= (uint64_t)1 << (i % 64);
    return bits;
}

/* Keeps the positions from `first` up to `end`. */
static void keep_range(uint64_t *mask, size_t words, size_t first, size_t end)
{
    for (size_t i = 0; i < words; i++) {
        uint64_t kept = UINT64_MAX;
        if (64 * i < first)
            kept = first - 64 * i >= 64 ? 0 : UINT64_MAX << (first - 64 * i);
        if (64 * i + 64 > end)
            kept &= end <= 64 * i ? 0 : UINT64_MAX >> (64 * i + 64 - end);
        mask[i] &= kept;
    }
}

/* Where the edge changes: the first position at which it is what it rises or falls to. */
static size_t find_edge(struct hn_space_search *search, const struct hn_space_level *level,
                        const struct hn_space_step *step)
{
    size_t low = 0, high = level->count;
    bool rises = step->direction != HN_FALLS;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        search->positions[level->parameter] = (uint16_t)middle;
        run(search, &step->to_edge);
        if ((search->cells[step->edge].integer != 0) == rises)
            high = middle;
        else
            low = middle + 1;
        search->steps++;
    }
    return low;
}

static void cut_range(struct hn_space_search *search, const struct hn_space_level *level,
                      const struct hn_space_step *step, uint64_t *mask)
{
    size_t edge = find_edge(search, level, step);
    bool rises = step->direction != HN_FALLS;
    size_t first = rises ? edge : 0, end = rises ? level->count : edge;
    if (step->edge != step->term && rises) {
        for (end = first; end < level->count && passes(search, level, step, end);)
            end++;
    } else if (step->edge != step->term) {
        for (first = end; first > 0 && passes(search, level, step, first - 1);)
            first--;
    }
    keep_range(mask, level->words, first, end);
}

static void cut_each(struct hn_space_search *search, const struct hn_space_level *level,
                     const struct hn_space_step *step, uint64_t *mask)
{
    HN_EACH_BIT(position, mask, level->words) {
        search->steps += cost_of(step);
        if (!passes(search, level, step, position))
            mask[position / 64] &= ~((uint64_t)1 << (position % 64));
    }
}

/* Takes away what does not pass. */
static void cut(struct hn_space_search *search, const struct hn_space_level *level,
                const struct hn_space_step *step, uint64_t *mask)
{
    if (step->kind != HN_STEP_TABULATED) {
        if (step->direction != HN_UNKNOWN)
            cut_range(search, level, step, mask);
        else
            cut_each(search, level, step, mask);
        return;
    }
    const uint64_t *row = need_row(search, level, step);
    for (size_t i = 0; i < level->words; i++)
        mask[i] &= row[i];
}

/* The candidates of a level, in its mask, while the levels above are bound: false when there are
 * none. At the last level all of them are points. */
static bool find_candidates(struct hn_space_search *search, size_t depth)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    uint64_t *mask = search->masks + level->mask_at;
    search->steps += level->words / WORDS_A_STEP * level->step_count;
    for (size_t i = 0; i < level->words; i++)
        mask[i] = UINT64_MAX;
    if (level->count % 64 != 0)
        mask[level->words - 1] = ((uint64_t)1 << (level->count % 64)) - 1;
    for (size_t s = 0; s < level->step_count; s++) {
        cut(search, level, &level->steps[s], mask);
        if (hn_first_bit(mask, level->words, 0) == SIZE_MAX)
            return false;
    }
    return true;
}

static size_t count_candidates(const struct hn_space_search *search, size_t depth)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    size_t count = 0;
    for (size_t i = 0; i < level->words; i++)
        count += (size_t)__builtin_popcountll(search->masks[level->mask_at + i]);
    return count;
}

static void bind(struct hn_space_search *search, size_t depth, size_t position)
{
    const struct hn_space_plan *plan = search->plan;
    const struct hn_space_level *level = &plan->levels[depth];
    uint64_t *key = search->keys + depth * plan->key_words;
    search->steps++;
    search->positions[level->parameter] = (uint16_t)position;
    if (plan->evaluates)
        search->current[level->parameter] = level->values[position];
    run(search, &level->exports);
    for (size_t i = 0; i < plan->key_words; i++)
        key[plan->key_words + i] = key[i];
    key[plan->key_words + level->key_word] |= level->parts[position];
}

/* Appends the candidates of the last level. */
static void append_points(struct hn_space_search *search, size_t depth)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    const uint64_t *mask = search->masks + level->mask_at;
    size_t words = search->plan->key_words;
    const uint64_t *key = search->keys + depth * words;
    size_t count = count_candidates(search, depth);
    uint64_t needed = search->point_count + count;
    if (needed > search->capacity) {
        search->capacity = 2 * needed + 1024;
        search->points =
            hn_need_more(search->points, search->capacity * words, sizeof *search->points);
    }
    uint64_t *to = search->points + search->point_count * words;
    for (size_t i = 0; i < level->words; i++)
        for (uint64_t bits = mask[i]; bits != 0; bits &= bits - 1) {
            for (size_t j = 0; j < words; j++)
                to[j] = key[j];
            to[level->key_word] |= level->parts[64 * i + (size_t)__builtin_ctzll(bits)];
            to += words;
        }
    search->point_count += count;
    search->steps += count;
}

enum hn_walk hn_space_walk(struct hn_space_search *search, size_t depth,
                           const struct hn_walk_limits *limits)
{
    if (!find_candidates(search, depth))
        return HN_WALK_DONE;
    const struct hn_space_level *level = &search->plan->levels[depth];
    if (depth + 1 == search->plan->level_count) {
        append_points(search, depth);
        return search->point_count >= limits->points ? HN_WALK_ENOUGH : HN_WALK_DONE;
    }
    const uint64_t *mask = search->masks + level->mask_at;
    HN_EACH_BIT(position, mask, level->words) {
        /* Before each value: below it nothing may be left after much work, and so on through all of
         * them. */
        if (search->steps > limits->steps + 4 * search->point_count || hn_interrupted() != 0 ||
            atomic_load(&search->plan->problem->demands->space->abandoned))
            return HN_WALK_TOO_LONG;
        bind(search, depth, position);
        enum hn_walk walk = hn_space_walk(search, depth + 1, limits);
        if (walk != HN_WALK_DONE)
            return walk;
    }
    return HN_WALK_DONE;
}

/* A walk begins on the calling thread; what is left after so many steps, some hundredths of a
 * second, is done by all cores. A task is a combination of the values of the first few levels; the
 * points of the tasks are put together in their order, so that threads make no difference. */
enum { STEPS_ALONE = 1500000, LEAST_TASKS = 256 };

struct found {
    uint64_t *points, count;
};

struct work {
    const struct hn_space_plan *plan;
    const struct hn_walk_limits *limits;
    size_t split; /* levels that a task binds */
    uint64_t task_count;
    struct found *found; /* by task */
    _Atomic(uint64_t) next;
    _Atomic(uint64_t) points;
    _Atomic(uint64_t) steps;
    _Atomic(int) ended; /* how the first walk that did not go to its end ended */
};

/* Binds the levels of a task; false when a check rejects that. */
static bool bind_task(struct hn_space_search *search, size_t split, uint64_t task)
{
    const struct hn_space_plan *plan = search->plan;
    size_t positions[split + 1];
    for (size_t depth = split; depth-- > 0;) {
        positions[depth] = task % plan->levels[depth].count;
        task /= plan->levels[depth].count;
    }
    for (size_t depth = 0; depth < split; depth++) {
        const uint64_t *mask = search->masks + plan->levels[depth].mask_at;
        if (!find_candidates(search, depth) ||
            (mask[positions[depth] / 64] >> (positions[depth] % 64) & 1) == 0)
            return false;
        bind(search, depth, positions[depth]);
    }
    return true;
}

/* The limits that are left to one task, for what all have found and tried so far. */
static struct hn_walk_limits limits_now(const struct work *work,
                                        const struct hn_space_search *search)
{
    uint64_t points = atomic_load(&work->points);
    uint64_t allowed = work->limits->steps + 4 * points;
    uint64_t steps = atomic_load(&work->steps);
    uint64_t left = search->steps + (allowed > steps ? allowed - steps : 0);
    uint64_t own = 4 * search->point_count; /* which the walk adds */
    return (struct hn_walk_limits){
        .points = search->point_count + (work->limits->points - points),
        .steps = left > own ? left - own : 0,
    };
}

/* False when the walk is over. */
static bool do_task(struct work *work, struct hn_space_search *search, uint64_t task)
{
    if (atomic_load(&work->ended) != HN_WALK_DONE)
        return false;
    const struct hn_walk_limits limits = limits_now(work, search);
    uint64_t points = search->point_count, steps = search->steps;
    enum hn_walk walk = HN_WALK_DONE;
    if (bind_task(search, work->split, task))
        walk = hn_space_walk(search, work->split, &limits);
    uint64_t found = search->point_count - points;
    atomic_fetch_add(&work->steps, search->steps - steps);
    if (atomic_fetch_add(&work->points, found) + found >= work->limits->points)
        walk = HN_WALK_ENOUGH;
    if (walk != HN_WALK_DONE)
        atomic_store(&work->ended, (int)walk);
    return walk == HN_WALK_DONE;
}

/* Takes what a search found. */
static void take_points(struct hn_space_search *search, struct found *found)
{
    size_t bytes = search->point_count * search->plan->key_words * sizeof *search->points;
    *found = (struct found){search->points, search->point_count};
    uint64_t *shrunk = bytes == 0 ? NULL : realloc(search->points, bytes);
    if (shrunk != NULL)
        found->points = shrunk;
    search->points = NULL;
    search->point_count = search->capacity = 0;
}

static void run_worker(void *context, size_t number)
{
    struct work *work = context;
    struct hn_space_search search;
    uint64_t task;
    (void)number;
    init_search(&search, work->plan);
    for (bool goes_on = true;
         goes_on && (task = atomic_fetch_add(&work->next, 1)) < work->task_count;) {
        goes_on = do_task(work, &search, task);
        take_points(&search, &work->found[task]);
    }
    finish_search(&search);
}

/* Puts all that was found one after another into search. */
static void join_points(struct work *work, struct found *first, struct hn_space_search *search)
{
    size_t words = search->plan->key_words;
    uint64_t total = first->count;
    for (uint64_t i = 0; i < work->task_count; i++)
        total += work->found[i].count;
    search->points = hn_need_more(first->points, total * words, sizeof *search->points);
    search->point_count = search->capacity = total;
    uint64_t *to = search->points + first->count * words;
    for (uint64_t i = 0; i < work->task_count; i++) {
        if (work->found[i].count > 0)
            memcpy(to, work->found[i].points, work->found[i].count * words * sizeof *to);
        to += work->found[i].count * words;
        free(work->found[i].points);
    }
}

/* From the first level on; steps count from now. A long walk is done by all cores, with the same
 * outcome. */
static enum hn_walk walk_all(struct hn_space_search *search, const struct hn_walk_limits *limits)
{
    const struct hn_space_plan *plan = search->plan;
    struct work work = {.plan = plan, .limits = limits, .task_count = 1};
    while (work.task_count < LEAST_TASKS && work.split + 1 < plan->level_count)
        work.task_count *= plan->levels[work.split++].count;
    const uint64_t begun = search->steps;
    bool many = false;
    while (work.next < work.task_count && !many && do_task(&work, search, work.next++))
        many = search->steps - begun > STEPS_ALONE && hn_parallel_cores() > 1;
    if (many && work.next < work.task_count) {
        struct found first;
        work.found = hn_need(work.task_count, sizeof *work.found);
        take_points(search, &first);
        hn_parallel_do(hn_parallel_cores(), 0, run_worker, &work);
        join_points(&work, &first, search);
        free(work.found);
    }
    return (enum hn_walk)atomic_load(&work.ended);
}

static const size_t most_bytes = (size_t)256 << 20;

/* Marks the terms of upper levels that a program uses. */
static void mark_used(const struct hn_space_program *program, const size_t *level_of, size_t level,
                      unsigned char *used)
{
    for (size_t i = 0; i < program->count; i++) {
        if (program->items[i].operation == HN_OP_TABLE)
            continue;
        for (size_t j = 0; j < 3; j++) {
            int operand = program->items[i].operand[j];
            if (level_of[operand] < level)
                used[operand] = 1;
        }
    }
}

/* The same for slots, of a step that asks for them by position or value. */
static void mark_slots(const struct hn_space_plan *plan, const struct hn_space_step *step,
                       size_t level, unsigned char *used)
{
    for (size_t i = 0; i < level; i++) {
        size_t parameter = plan->levels[i].parameter;
        if (step->kind == HN_STEP_EVALUATED && hn_has_slot(step->check->slots, parameter))
            used[parameter] = 1;
        for (size_t j = 0; j < step->key_count; j++)
            if (step->keys[j].slot == parameter)
                used[parameter] = 1;
    }
}

static void list_used(struct hn_space_counts *counts, size_t depth, const size_t *level_of,
                      unsigned char *terms, unsigned char *slots)
{
    const struct hn_space_plan *plan = counts->plan;
    struct hn_space_count_level *level = &counts->levels[depth];
    size_t term_count = plan->problem->terms.count;
    size_t slot_count = plan->problem->demands->slot_count;
    memset(terms, 0, term_count);
    memset(slots, 0, slot_count);
    for (size_t i = depth; i < plan->level_count; i++) {
        const struct hn_space_level *below = &plan->levels[i];
        mark_used(&below->exports, level_of, depth, terms);
        HN_EACH_OF(step, below->steps, below->step_count) {
            if (step->kind == HN_STEP_COMPUTED) {
                mark_used(&step->after, level_of, depth, terms);
                mark_used(&step->to_edge, level_of, depth, terms);
            } else {
                mark_slots(plan, step, depth, slots);
            }
        }
    }
    level->terms = hn_need_block(&counts->blocks, term_count, sizeof *level->terms);
    level->slots = hn_need_block(&counts->blocks, slot_count, sizeof *level->slots);
    for (size_t i = 0; i < term_count; i++)
        if (terms[i])
            level->terms[level->term_count++] = (int)i;
    for (size_t i = 0; i < slot_count; i++)
        if (slots[i])
            level->slots[level->slot_count++] = i;
    level->keys.stride = (level->term_count + level->slot_count) * sizeof(uint64_t);
}

static void list_all_used(struct hn_space_counts *counts)
{
    const struct hn_space_plan *plan = counts->plan;
    size_t terms = plan->problem->terms.count;
    size_t slots = plan->problem->demands->slot_count;
    size_t *level_of = hn_need_block(&counts->blocks, terms, sizeof *level_of);
    unsigned char *marks = hn_need_block(&counts->blocks, terms + slots, 1);
    for (size_t i = 0; i < terms; i++)
        level_of[i] = SIZE_MAX;
    for (size_t i = 0; i < plan->level_count; i++)
        for (size_t j = 0; j < plan->levels[i].exports.count; j++)
            level_of[plan->levels[i].exports.items[j].result] = i;
    for (size_t i = 0; i < plan->level_count; i++)
        list_used(counts, i, level_of, marks, marks + terms);
}

static double count_below(struct hn_space_counts *counts, struct hn_space_search *search,
                          size_t depth, uint64_t most_steps);

/* The same for a state that is not known yet, one candidate after another. */
static double count_each(struct hn_space_counts *counts, struct hn_space_search *search,
                         size_t depth, uint64_t most_steps)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    const uint64_t *mask = search->masks + level->mask_at;
    double total = 0;
    if (!find_candidates(search, depth))
        return 0;
    if (depth + 1 == search->plan->level_count)
        return (double)count_candidates(search, depth);
    HN_EACH_BIT(position, mask, level->words) {
        bind(search, depth, position);
        double below = count_below(counts, search, depth + 1, most_steps);
        if (below < 0)
            return -1;
        total += below;
    }
    return total;
}

/* The points below a level; negative when that is too much. */
static double count_below(struct hn_space_counts *counts, struct hn_space_search *search,
                          size_t depth, uint64_t most_steps)
{
    struct hn_space_count_level *level = &counts->levels[depth];
    uint64_t key[level->term_count + level->slot_count + 1];
    for (size_t i = 0; i < level->term_count; i++)
        key[i] = (uint64_t)search->cells[level->terms[i]].integer;
    for (size_t i = 0; i < level->slot_count; i++)
        key[level->term_count + i] = search->positions[level->slots[i]];
    uint32_t known = hn_keys_find(&level->keys, key);
    if (known != HN_NO_KEY)
        return level->totals[known];
    double total = count_each(counts, search, depth, most_steps);
    /* Arrays have room for twice as much, and the table of keys some more. */
    counts->bytes += 2 * (level->keys.stride + sizeof total) + 4 * sizeof known;
    if (total < 0 || search->steps > most_steps || counts->bytes > most_bytes)
        return -1;
    level->totals = hn_need_room(level->totals, level->keys.count, sizeof total);
    level->totals[hn_keys_add(&level->keys, key)] = total;
    return total;
}

static void finish_counts(struct hn_space_counts *counts)
{
    for (size_t i = 0; counts->levels != NULL && i < counts->plan->level_count; i++) {
        hn_keys_finish(&counts->levels[i].keys);
        free(counts->levels[i].totals);
    }
    hn_blocks_finish(&counts->blocks);
    *counts = (struct hn_space_counts){0};
}

/* Binds the candidate below which the number-th point is, or the last one that has any. Each state
 * below was met when they were counted. */
static void bind_containing(struct hn_space_counts *counts, struct hn_space_search *search,
                            size_t depth, double number)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    const uint64_t *mask = search->masks + level->mask_at;
    bool is_last = depth + 1 == search->plan->level_count;
    size_t last = SIZE_MAX;
    HN_EACH_BIT(at, mask, level->words) {
        bind(search, depth, at);
        double below = is_last ? 1 : count_below(counts, search, depth + 1, UINT64_MAX);
        last = below > 0 ? at : last;
        if (number < below)
            return;
        number -= below;
    }
    bind(search, depth, last); /* rounding */
}

/* PROBES make the estimate, where the steps are enough for them. A draw that cannot be counted
 * out takes one of CANDIDATES points found by random descents, by their weights; each descent may
 * try so many values. */
enum { PROBES = 4000, CANDIDATES = 32, MOST_DESCENT = 20000 };
/* The cost that looking for the first point with given values may have. */
enum { MOST_FIRST = 50000000 };

void hn_space_open_destroy(struct hn_space_open *open)
{
    if (open == NULL)
        return;
    free(open->some);
    finish_counts(&open->counts);
    hn_blocks_finish(&open->declared.blocks);
    hn_space_solver_finish(&open->solver);
    pthread_mutex_destroy(&open->lock);
    free(open);
}

/* The number-th candidate of a level. */
static size_t find_candidate(const struct hn_space_search *search, size_t depth, size_t number)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    const uint64_t *mask = search->masks + level->mask_at;
    size_t word = 0;
    for (; number >= (size_t)__builtin_popcountll(mask[word]); word++)
        number -= (size_t)__builtin_popcountll(mask[word]);
    uint64_t bits = mask[word];
    for (; number > 0; number--)
        bits &= bits - 1;
    return 64 * word + (size_t)__builtin_ctzll(bits);
}

/* How many points a random descent stands for: 0 where it ends without one. */
static double probe(struct hn_space_search *search, struct hn_random *random)
{
    double weight = 1;
    for (size_t depth = 0; depth < search->plan->level_count; depth++) {
        if (!find_candidates(search, depth))
            return 0;
        size_t count = count_candidates(search, depth);
        weight *= (double)count;
        bind(search, depth, find_candidate(search, depth, hn_random_below(random, count)));
    }
    return weight;
}

/* Estimates how many there are (Knuth, "Estimating the efficiency of backtrack programs", 1975). */
static double estimate(struct hn_space_open *open, uint64_t most_steps)
{
    struct hn_random random = hn_random_seeded(1);
    struct hn_space_search *search = &open->solver.search;
    const uint64_t end = search->steps + most_steps;
    double sum = 0;
    int probes = 0;
    for (; probes == 0 || (probes < PROBES && search->steps < end); probes++)
        sum += probe(search, &random);
    return sum / probes;
}

/* Counts the part's points, where that takes no more steps and 256 MiB: then it is `counted`. */
static void count(struct hn_space_open *open, uint64_t most_steps)
{
    struct hn_space_counts *counts = &open->counts;
    struct hn_space_search *search = &open->solver.search;
    *counts = (struct hn_space_counts){.plan = search->plan};
    counts->levels =
        hn_need_block(&counts->blocks, search->plan->level_count, sizeof *counts->levels);
    list_all_used(counts);
    double total = count_below(counts, search, 0, search->steps + most_steps);
    open->counted = total >= 0;
    if (open->counted)
        open->valid = total;
    else
        finish_counts(counts);
}

/* Indices of what is bound. */
static void take_choice(const struct hn_space_search *search, uint16_t *choice)
{
    const struct hn_space_plan *plan = search->plan;
    for (size_t i = 0; i < plan->level_count; i++) {
        size_t parameter = plan->levels[i].parameter;
        choice[parameter] =
            hn_space_problem_index(plan->problem, parameter, search->positions[parameter]);
    }
}

/* Keeps one of the points that were found, or looks for one. False: there is none within
 * most_steps. */
static bool find_some(struct hn_space_open *open, uint64_t most_steps)
{
    struct hn_space_search *search = &open->solver.search;
    if (search->point_count == 0) {
        const struct hn_walk_limits limits = {.points = 1, .steps = search->steps + most_steps};
        (void)hn_space_walk(search, 0, &limits);
    }
    if (search->point_count == 0)
        return false;
    open->some =
        hn_need(search->plan->problem->demands->space->parameter_count, sizeof *open->some);
    hn_space_table_unpack(&open->solver.table, search->points, open->some);
    free(search->points);
    search->points = NULL;
    search->point_count = search->capacity = 0;
    return true;
}

/* Estimates of so small a part of the limit are believed. */
static const double clearly_fewer = 2;
/* Steps of such an estimate. */
static const uint64_t most_probed = 100000000;
/* 1 GiB, twice while they are sorted. */
static const uint64_t most_key_words = (uint64_t)1 << 27;

static void fail_steps(const struct hn_space_solver *solver, struct hn_error *err)
{
    if (hn_interrupt_check(err) == HN_OK)
        hn_fail(err, HN_ECONFIG,
                "%" PRIu64 " steps through the %.3g combinations of the parameters found only "
                "%" PRIu64 " valid points; write constraints over fewer parameters, so that they "
                "decide sooner, or restrict parameters",
                solver->search.steps, solver->plan.combinations, solver->search.point_count);
}

/* Looks for all points of a part; false when there are more than can be kept. */
static bool enumerate(struct hn_space_open *open, const struct hn_space_limits *most,
                      struct hn_error *err)
{
    struct hn_space_search *search = &open->solver.search;
    uint64_t points = most_key_words / open->solver.table.words;
    points = points > most->points ? most->points : points;
    const struct hn_walk_limits limits = {.points = points + 1, .steps = most->steps};
    enum hn_walk walk = walk_all(search, &limits);
    if (walk == HN_WALK_TOO_LONG && search->point_count < most->enough_points)
        fail_steps(&open->solver, err);
    return walk == HN_WALK_DONE;
}

/* Whether there are clearly more points than can be kept. Counting is spared where an estimate
 * finds clearly fewer. */
static bool are_too_many(struct hn_space_open *open, const struct hn_space_limits *most)
{
    double points = (double)most->points;
    if (open->solver.plan.combinations <= points)
        return false;
    double probed = estimate(open, most->few_steps / 10);
    if (probed > 0 && probed < points / clearly_fewer)
        return false;
    count(open, most->few_steps);
    if (open->counted)
        return open->valid > points;
    return estimate(open, most_probed) > most->clearly_more * points;
}

/* The group is not enumerated. */
static void leave_open(struct hn_space_open *open, const struct hn_space_limits *most,
                       struct hn_space_problem *problem, const struct hn_space_part *part,
                       struct hn_error *err)
{
    if (!find_some(open, most->steps)) {
        fail_steps(&open->solver, err);
        return;
    }
    if (!open->counted)
        count(open, most->many_steps);
    if (!open->counted)
        open->valid = estimate(open, most_probed);
    hn_space_plan_init(&open->declared, problem, part, true, &open->solver.table);
    open->checks = part->checks;
    open->check_count = part->check_count;
    finish_search(&open->solver.search);
    init_search(&open->solver.search, &open->solver.plan);
}

bool hn_space_solve(struct hn_space_group *group, struct hn_space_problem *problem,
                    const struct hn_space_part *part, struct hn_error *err)
{
    const struct hn_space_limits *limits = &problem->demands->space->limits;
    struct hn_space_open *open = hn_need(1, sizeof *open);
    hn_space_solver_init(&open->solver, problem, part);
    pthread_mutex_init(&open->lock, NULL);
    bool too_many = are_too_many(open, limits);
    bool complete = open->counted && open->valid == 0;
    if (!complete && !too_many)
        complete = enumerate(open, limits, err);
    if (!complete && !hn_failed(err)) {
        group->open = open;
        leave_open(open, limits, problem, part, err);
        return true;
    }
    struct hn_space_search *search = &open->solver.search;
    bool empty = complete && search->point_count == 0;
    if (!empty && !hn_failed(err)) {
        group->table = open->solver.table;
        memset(&open->solver.table, 0, sizeof open->solver.table);
        hn_space_table_take(&group->table, search->points, search->point_count);
        search->points = NULL;
    }
    hn_space_open_destroy(open);
    return !empty;
}

/* The values of a choice, by slot; those of parameters of other groups are any. False when one but
 * that of `except` is in no valid point. */
static bool take_values(const struct hn_space_open *open, const uint16_t *choice, size_t except,
                        struct hn_value *values)
{
    const struct hn_space_plan *plan = &open->solver.plan;
    const struct hn_space_problem *problem = plan->problem;
    memcpy(values, problem->current, problem->demands->slot_count * sizeof *values);
    for (size_t i = 0; i < plan->level_count; i++) {
        size_t parameter = plan->levels[i].parameter;
        if (parameter == except)
            continue;
        const struct hn_domain *domain = &problem->domains[parameter];
        size_t position = 0;
        while (position < domain->count &&
               hn_space_problem_index(problem, parameter, position) != choice[parameter])
            position++;
        if (position == domain->count)
            return false;
        values[parameter] = domain->values[position];
    }
    return true;
}

/* Whether the checks hold that depend on the parameter, or those that do not. */
static bool checks_hold(const struct hn_space_open *open, const struct hn_value *values,
                        size_t parameter, bool depend)
{
    const struct hn_space_problem *problem = open->solver.plan.problem;
    for (size_t i = 0; i < open->check_count; i++) {
        const struct hn_space_check *check = &problem->checks[open->checks[i]];
        const struct hn_conjunct *conjunct = &problem->demands->conjuncts.items[check->conjunct];
        if (hn_has_slot(check->slots, parameter) == depend &&
            hn_expression_truth(conjunct->expression, values) != HN_TRUE)
            return false;
    }
    return true;
}

bool hn_space_open_contains(const struct hn_space_open *open, const uint16_t *choice)
{
    const struct hn_space_plan *plan = &open->solver.plan;
    struct hn_value values[plan->problem->demands->slot_count];
    size_t any = plan->levels[0].parameter;
    return take_values(open, choice, SIZE_MAX, values) && checks_hold(open, values, any, true) &&
           checks_hold(open, values, any, false);
}

void hn_space_open_values(const struct hn_space_open *open, const uint16_t *choice,
                          size_t parameter, uint64_t *valid)
{
    const struct hn_space_problem *problem = open->solver.plan.problem;
    const struct hn_domain *domain = &problem->domains[parameter];
    struct hn_value values[problem->demands->slot_count];
    if (!take_values(open, choice, parameter, values) ||
        !checks_hold(open, values, parameter, false))
        return;
    for (size_t position = 0; position < domain->count; position++) {
        size_t index = hn_space_problem_index(problem, parameter, position);
        values[parameter] = domain->values[position];
        if (checks_hold(open, values, parameter, true))
            valid[index / 64] |= (uint64_t)1 << (index % 64);
    }
}

/* Binds a point below the level, found by trying values at random; *weight is how many such choices
 * there were. False: there is none, or finding it takes too long. */
static bool descend(struct hn_space_search *search, size_t depth, struct hn_random *random,
                    uint64_t most_steps, double *weight)
{
    if (depth == search->plan->level_count)
        return true;
    if (search->steps > most_steps || !find_candidates(search, depth))
        return false;
    const struct hn_space_level *level = &search->plan->levels[depth];
    uint64_t *mask = search->masks + level->mask_at;
    size_t count = count_candidates(search, depth);
    for (size_t left = count; left > 0; left--) {
        size_t position = find_candidate(search, depth, hn_random_below(random, left));
        double below = *weight * (double)count;
        bind(search, depth, position);
        if (descend(search, depth + 1, random, most_steps, &below)) {
            *weight = below;
            return true;
        }
        mask[position / 64] &= ~((uint64_t)1 << (position % 64));
    }
    return false;
}

/* One of several points that were found at random, taken by the weights: as likely as others, but
 * for the chance that is left in few candidates. */
static void draw_weighted(struct hn_space_open *open, struct hn_space_search *search,
                          struct hn_random *random, uint16_t *choice)
{
    double total = 0;
    for (int i = 0; i < CANDIDATES; i++) {
        double weight = 1;
        if (!descend(search, 0, random, search->steps + MOST_DESCENT, &weight))
            continue;
        total += weight;
        if (hn_random_unit(random) * total < weight)
            take_choice(search, choice);
    }
    const struct hn_space_plan *plan = search->plan;
    for (size_t i = 0; i < plan->level_count && total == 0; i++)
        choice[plan->levels[i].parameter] = open->some[plan->levels[i].parameter];
}

void hn_space_open_draw(struct hn_space_open *open, struct hn_random *random, uint16_t *choice)
{
    struct hn_space_search *search = &open->solver.search;
    pthread_mutex_lock(&open->lock);
    /* All points are equally likely. */
    for (size_t depth = 0; open->counted && depth < search->plan->level_count; depth++) {
        double below = count_below(&open->counts, search, depth, UINT64_MAX);
        find_candidates(search, depth);
        bind_containing(&open->counts, search, depth, hn_random_unit(random) * below);
    }
    if (open->counted)
        take_choice(search, choice);
    else
        draw_weighted(open, search, random, choice);
    pthread_mutex_unlock(&open->lock);
}

static bool find_first(struct hn_space_search *search, size_t depth, const int *wanted)
{
    if (depth == search->plan->level_count)
        return true;
    if (search->steps > MOST_FIRST || !find_candidates(search, depth))
        return false;
    const struct hn_space_level *level = &search->plan->levels[depth];
    const uint64_t *mask = search->masks + level->mask_at;
    int value = wanted != NULL ? wanted[level->parameter] : -1;
    HN_EACH_BIT(at, mask, level->words) {
        if (value >= 0 &&
            value != hn_space_problem_index(search->plan->problem, level->parameter, at))
            continue;
        bind(search, depth, at);
        if (find_first(search, depth + 1, wanted))
            return true;
    }
    return false;
}

bool hn_space_open_first(const struct hn_space_open *open, const int *wanted, uint16_t *choice)
{
    struct hn_space_search search;
    init_search(&search, &open->declared);
    bool found = find_first(&search, 0, wanted);
    if (found)
        take_choice(&search, choice);
    finish_search(&search);
    return found;
}
