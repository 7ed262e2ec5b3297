/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "tuner/space/space_internal.h"

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

/* What is left to one task, for what all have found and tried so far. */
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
