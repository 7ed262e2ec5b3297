/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "tuner/space/space_internal.h"

/* Steps are work: asking the evaluator takes as long as computing so many terms, and so do so many
 * words of a set. */
enum { STEPS_TO_EVALUATE = 16, WORDS_A_STEP = 16 };

void hn_space_search_init(struct hn_space_search *search, const struct hn_space_plan *plan)
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

void hn_space_search_finish(struct hn_space_search *search)
{
    hn_blocks_finish(&search->blocks);
    free(search->points);
    *search = (struct hn_space_search){0};
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
    size_t low = 0;
    size_t high = level->count;
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
    size_t first = rises ? edge : 0;
    size_t end = rises ? level->count : edge;
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
    for (size_t i = 0; i < level->words; i++)
        for (uint64_t bits = mask[i]; bits != 0; bits &= bits - 1) {
            size_t position = 64 * i + (size_t)__builtin_ctzll(bits);
            search->steps += cost_of(step);
            if (!passes(search, level, step, position))
                mask[i] &= ~(bits & -bits);
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

static bool is_empty(const uint64_t *mask, size_t words)
{
    uint64_t any = 0;
    for (size_t i = 0; i < words; i++)
        any |= mask[i];
    return any == 0;
}

bool hn_space_candidates(struct hn_space_search *search, size_t depth)
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
        if (is_empty(mask, level->words))
            return false;
    }
    return true;
}

size_t hn_space_count_candidates(const struct hn_space_search *search, size_t depth)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    size_t count = 0;
    for (size_t i = 0; i < level->words; i++)
        count += (size_t)__builtin_popcountll(search->masks[level->mask_at + i]);
    return count;
}

void hn_space_bind(struct hn_space_search *search, size_t depth, size_t position)
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

static void make_room(struct hn_space_search *search, size_t count)
{
    if (search->point_count + count <= search->capacity)
        return;
    uint64_t capacity = search->capacity < 1024 ? 1024 : 2 * search->capacity;
    if (capacity < search->point_count + count)
        capacity = search->point_count + count;
    search->points =
        hn_need_more(search->points, capacity * search->plan->key_words, sizeof *search->points);
    search->capacity = capacity;
}

/* Appends the candidates of the last level. */
static void append_points(struct hn_space_search *search, size_t depth)
{
    const struct hn_space_level *level = &search->plan->levels[depth];
    const uint64_t *mask = search->masks + level->mask_at;
    size_t words = search->plan->key_words;
    const uint64_t *key = search->keys + depth * words;
    size_t count = hn_space_count_candidates(search, depth);
    make_room(search, count);
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

static bool is_too_long(const struct hn_space_search *search, const struct hn_walk_limits *limits)
{
    return search->steps > limits->steps + 4 * search->point_count || hn_interrupted() != 0 ||
           atomic_load(&search->plan->problem->demands->space->abandoned);
}

enum hn_walk hn_space_walk(struct hn_space_search *search, size_t depth,
                           const struct hn_walk_limits *limits)
{
    if (!hn_space_candidates(search, depth))
        return HN_WALK_DONE;
    const struct hn_space_level *level = &search->plan->levels[depth];
    if (depth + 1 == search->plan->level_count) {
        append_points(search, depth);
        return search->point_count >= limits->points ? HN_WALK_ENOUGH : HN_WALK_DONE;
    }
    const uint64_t *mask = search->masks + level->mask_at;
    for (size_t i = 0; i < level->words; i++)
        for (uint64_t bits = mask[i]; bits != 0; bits &= bits - 1) {
            /* Before each value: below it nothing may be left after much work, and so on through
             * all of them. */
            if (is_too_long(search, limits))
                return HN_WALK_TOO_LONG;
            hn_space_bind(search, depth, 64 * i + (size_t)__builtin_ctzll(bits));
            enum hn_walk walk = hn_space_walk(search, depth + 1, limits);
            if (walk != HN_WALK_DONE)
                return walk;
        }
    return HN_WALK_DONE;
}

/* A walk begins on the calling thread; what is left after so many steps, some hundredths of a
 * second, is done by all cores. A task is a combination of the values of the first few levels; the
 * points of the tasks are put together in the order of these, so that threads make no difference.
 */
enum { STEPS_ALONE = 1500000, LEAST_TASKS = 256, MOST_THREADS = 64 };

struct found {
    uint64_t *points;
    uint64_t count;
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
        if (!hn_space_candidates(search, depth) ||
            (mask[positions[depth] / 64] >> (positions[depth] % 64) & 1) == 0)
            return false;
        hn_space_bind(search, depth, positions[depth]);
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
    uint64_t points = search->point_count;
    uint64_t steps = search->steps;
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

static void do_tasks(struct work *work, struct hn_space_search *search)
{
    for (bool goes_on = true; goes_on;) {
        uint64_t task = atomic_fetch_add(&work->next, 1);
        if (task >= work->task_count)
            return;
        goes_on = do_task(work, search, task);
        take_points(search, &work->found[task]);
    }
}

static void *run_thread(void *argument)
{
    struct work *work = argument;
    struct hn_space_search search;
    hn_space_search_init(&search, work->plan);
    do_tasks(work, &search);
    hn_space_search_finish(&search);
    return NULL;
}

static void do_rest(struct work *work, struct hn_space_search *search)
{
    pthread_t threads[MOST_THREADS];
    size_t wanted = hn_parallel_cores() - 1;
    size_t started = 0;
    while (started < wanted && started < MOST_THREADS &&
           pthread_create(&threads[started], NULL, run_thread, work) == 0)
        started++;
    do_tasks(work, search);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
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

static enum hn_walk walk_parallel(struct work *work, struct hn_space_search *search)
{
    struct found first;
    work->found = hn_need(work->task_count, sizeof *work->found);
    take_points(search, &first);
    do_rest(work, search);
    join_points(work, &first, search);
    free(work->found);
    return (enum hn_walk)atomic_load(&work->ended);
}

enum hn_walk hn_space_walk_all(struct hn_space_search *search, const struct hn_walk_limits *limits)
{
    const struct hn_space_plan *plan = search->plan;
    struct work work = {.plan = plan, .limits = limits, .task_count = 1};
    while (work.task_count < LEAST_TASKS && work.split + 1 < plan->level_count)
        work.task_count *= plan->levels[work.split++].count;
    const uint64_t begun = search->steps;
    while (work.next < work.task_count) {
        if (search->steps - begun > STEPS_ALONE && hn_parallel_cores() > 1)
            return walk_parallel(&work, search);
        if (!do_task(&work, search, work.next++))
            break;
    }
    return (enum hn_walk)atomic_load(&work.ended);
}
