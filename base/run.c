/* SPDX-License-Identifier: MIT */
#include "base/run.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

double hn_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

double hn_epoch_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
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

bool hn_thread_start(pthread_t *thread, void *(*run)(void *), void *context, struct hn_error *err)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure != 0)
        hn_fail(err, HN_ERUN, "a thread cannot be started: %s", strerror(failure));
    return failure == 0;
}

int hn_event_make(struct hn_error *err)
{
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0)
        hn_fail(err, HN_ERUN, "eventfd: %s", strerror(errno));
    return event;
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

size_t hn_parallel_cores(void)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0)
        return (size_t)CPU_COUNT(&cores);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

struct work {
    size_t count;
    void (*run)(void *context, size_t task);
    void *context;
    atomic_size_t next;
};

static void *do_tasks(void *argument)
{
    struct work *work = argument;
    size_t task;
    while ((task = atomic_fetch_add(&work->next, 1)) < work->count)
        work->run(work->context, task);
    return NULL;
}

void hn_parallel_do(size_t count, size_t jobs, void (*run)(void *context, size_t task),
                    void *context)
{
    enum { JOBS_MOST = 1024 };
    pthread_t threads[JOBS_MOST];
    struct work work = {.count = count, .run = run, .context = context};
    size_t started = 0;
    jobs = jobs > 0 ? jobs : hn_parallel_cores();
    while (started < jobs && started < count && started < JOBS_MOST &&
           hn_thread_start(&threads[started], do_tasks, &work, NULL))
        started++;
    if (started == 0) /* no thread could be had: alone, then */
        do_tasks(&work);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}
