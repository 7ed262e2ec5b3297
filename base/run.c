/* SPDX-License-Identifier: MIT */
#include "base/run.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

double hn_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Without a lock on all that we run on, as a handler needs it. */
static atomic_int caught;

static void catch_signal(int number)
{
    caught = number;
}

void hn_interrupt_install(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    /* RESETHAND: the second signal has its default action. No RESTART: poll returns at once. */
    struct sigaction action = {.sa_handler = catch_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

int hn_interrupted(void)
{
    return caught;
}

enum hn_status hn_interrupt_check(struct hn_error *err)
{
    return caught == 0 ? HN_OK : hn_fail(err, HN_EINTERRUPTED, "interrupted");
}

int hn_thread_start(pthread_t *thread, void *(*run)(void *), void *context)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

void hn_event_signal(int event)
{
    const uint64_t one = 1;
    if (event >= 0)
        (void)!write(event, &one, sizeof one);
}

void hn_event_clear(int event)
{
    uint64_t count;
    (void)!read(event, &count, sizeof count);
}

enum { JOBS_MOST = 1024, TICK_MS = 100 };

struct work {
    const struct hn_parallel *parallel;
    atomic_size_t next;
    atomic_size_t finished;
    atomic_bool failed;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t ended;
    size_t threads;
    size_t failed_task;
    enum hn_status status;
    struct hn_error err;
};

static void note_failure(struct work *work, size_t task, enum hn_status status,
                         const struct hn_error *err)
{
    atomic_store(&work->failed, true);
    pthread_mutex_lock(&work->lock);
    if (work->status == HN_OK || task < work->failed_task) {
        work->status = status;
        work->failed_task = task;
        work->err = *err;
    }
    pthread_mutex_unlock(&work->lock);
}

static void do_tasks(struct work *work)
{
    const struct hn_parallel *parallel = work->parallel;
    while (!atomic_load(&work->failed)) {
        struct hn_error err = {0};
        size_t task = atomic_fetch_add(&work->next, 1);
        if (task >= parallel->count)
            return;
        enum hn_status status = parallel->run(parallel->context, task, &err);
        if (status != HN_OK)
            note_failure(work, task, status, &err);
        atomic_fetch_add(&work->finished, 1);
    }
}

static void *run_thread(void *argument)
{
    struct work *work = argument;
    do_tasks(work);
    pthread_mutex_lock(&work->lock);
    work->threads--;
    pthread_cond_signal(&work->ended);
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

static void wait_for_threads(struct work *work)
{
    const struct hn_parallel *parallel = work->parallel;
    pthread_mutex_lock(&work->lock);
    while (work->threads > 0) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += TICK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        (void)pthread_cond_timedwait(&work->ended, &work->lock, &until);
        if (parallel->tick == NULL)
            continue;
        pthread_mutex_unlock(&work->lock);
        parallel->tick(parallel->context, atomic_load(&work->finished));
        pthread_mutex_lock(&work->lock);
    }
    pthread_mutex_unlock(&work->lock);
}

size_t hn_parallel_cores(void)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0)
        return (size_t)CPU_COUNT(&cores);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

enum hn_status hn_parallel_do(const struct hn_parallel *parallel, struct hn_error *err)
{
    pthread_t threads[JOBS_MOST];
    struct work work = {.parallel = parallel};
    size_t jobs = parallel->jobs > 0 ? parallel->jobs : hn_parallel_cores();
    size_t started = 0;
    pthread_mutex_init(&work.lock, NULL);
    pthread_cond_init(&work.ended, NULL);
    pthread_mutex_lock(&work.lock);
    while (started < jobs && started < parallel->count && started < JOBS_MOST &&
           hn_thread_start(&threads[started], run_thread, &work) == 0)
        started++;
    work.threads = started;
    pthread_mutex_unlock(&work.lock);
    if (started == 0) /* no thread could be had: alone, then */
        do_tasks(&work);
    wait_for_threads(&work);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_cond_destroy(&work.ended);
    pthread_mutex_destroy(&work.lock);
    return work.status == HN_OK ? HN_OK : hn_fail(err, work.status, "%s", work.err.message);
}
