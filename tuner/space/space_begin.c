/* SPDX-License-Identifier: MIT */
#include "tuner/space/space_begin.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

/* As much as the compile workers, beside which it runs. */
static const int niceness = 5;

/* What takes no longer is waited for at once. */
static const long quick_ns = 20000000;

/* Whoever comes second, the thread's end or the space's, cleans up. */
enum state { RUNNING, DONE, ABANDONED };

struct hn_space_building {
    struct hn_space *space;
    struct hn_space_basis *basis;
    pthread_t thread;
    _Atomic(int) state;
    sem_t ended;
    enum hn_status status;
    struct hn_error err;
};

static bool change(struct hn_space_building *building, enum state to)
{
    int running = RUNNING;
    return atomic_compare_exchange_strong(&building->state, &running, (int)to);
}

static enum hn_status take(struct hn_space_building *building, struct hn_error *err)
{
    struct hn_space *space = building->space;
    enum hn_status status = building->status;
    if (status != HN_OK && err != NULL)
        *err = building->err;
    space->building = NULL;
    hn_space_take_basis(space, building->basis, status);
    sem_destroy(&building->ended);
    free(building);
    return status;
}

static void *build(void *pointer)
{
    struct hn_space_building *building = pointer;
    struct hn_space *space = building->space;
    const id_t self = (id_t)gettid();
    setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + niceness);
    building->status = hn_space_solve(space, building->basis, &building->err);
    if (change(building, DONE)) {
        sem_post(&building->ended);
        return NULL;
    }
    (void)take(building, NULL);
    hn_space_destroy(space);
    return NULL;
}

/* Most spaces are small. */
static bool was_quick(struct hn_space_building *building)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += quick_ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return sem_timedwait(&building->ended, &until) == 0;
}

enum hn_status hn_space_begin(struct hn_space *space, struct hn_error *err)
{
    struct hn_space_building *building = calloc(1, sizeof *building);
    if (building == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_space_basis_make(space, &building->basis, err);
    if (status != HN_OK) {
        free(building);
        return status;
    }
    building->space = space;
    space->building = building;
    sem_init(&building->ended, 0, 0);
    if (hn_thread_start(&building->thread, build, building) == 0)
        return was_quick(building) ? hn_space_wait(space, err) : HN_OK;
    /* Without a thread it takes no longer than it would have anyway. */
    building->status = hn_space_solve(space, building->basis, &building->err);
    return take(building, err);
}

bool hn_space_is_built(const struct hn_space *space)
{
    return space->building == NULL || atomic_load(&space->building->state) == DONE;
}

enum hn_status hn_space_wait(struct hn_space *space, struct hn_error *err)
{
    struct hn_space_building *building = space->building;
    if (building == NULL)
        return HN_OK;
    pthread_join(building->thread, NULL);
    return take(building, err);
}

bool hn_space_abandon(struct hn_space *space)
{
    struct hn_space_building *building = space->building;
    if (building == NULL)
        return false;
    pthread_t thread = building->thread;
    atomic_store(&space->abandoned, true);
    if (!change(building, ABANDONED)) {
        (void)hn_space_wait(space, NULL);
        return false;
    }
    pthread_detach(thread);
    return true;
}

bool hn_space_admits(const struct hn_space *space, const uint16_t *choice)
{
    const struct hn_space_demands *demands = &space->building->basis->demands;
    struct hn_value values[demands->slot_count + 1];
    for (size_t i = 0; i < space->parameter_count; i++)
        values[i] = space->parameters[i].values[choice[i]];
    for (size_t i = 0; i < space->constant_count; i++)
        values[space->parameter_count + i] = space->constants[i].value;
    bool holds = true;
    for (size_t i = 0; i < demands->conjuncts.count && holds; i++)
        holds = hn_expression_truth(demands->conjuncts.items[i].expression, values) == HN_TRUE;
    return holds;
}
