/* SPDX-License-Identifier: MIT */
#include "tuner/workers/compile_pool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"
#include "runtime/compile/source.h"
#include "tuner/workers/compile_pool_part.h"

/* Of what the whole run depends on. */
static const double setup_timeout_ms = 60e3;
static const int sleep_limit_ms = 200;

static void lock(const struct hn_compile_pool *pool)
{
    pthread_mutex_lock(&pool->workers->lock);
}

static void unlock(const struct hn_compile_pool *pool)
{
    pthread_mutex_unlock(&pool->workers->lock);
}

static struct hn_compile_pool *make_pool(struct hn_compile_workers *workers, double timeout_ms,
                                         int wakeup)
{
    struct hn_compile_pool *pool = hn_need(1, sizeof *pool);
    *pool = (struct hn_compile_pool){.client = {.wakeup = wakeup},
                                     .workers = workers,
                                     .timeout_ms = timeout_ms,
                                     .keeps_shared = true};
    lock(pool);
    hn_compile_queue_add_client(&workers->queue, &pool->client);
    unlock(pool);
    return pool;
}

struct hn_compile_pool *hn_compile_pool_create(int jobs, double timeout_s)
{
    return make_pool(hn_compile_workers_create(jobs), timeout_s * 1e3, -1);
}

struct hn_compile_pool *hn_compile_pool_share(struct hn_compile_pool *owner, int wakeup,
                                              struct hn_error *err)
{
    struct hn_compile_workers *workers = owner->workers;
    if (hn_failed(err))
        return NULL;
    if (workers->wake < 0)
        workers->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (workers->wake < 0) {
        hn_fail(err, HN_ERUN, "eventfd: %s", strerror(errno));
        return NULL;
    }
    struct hn_compile_pool *pool = make_pool(workers, owner->timeout_ms, wakeup);
    pool->is_guest = true;
    return pool;
}

void hn_compile_pool_lend(struct hn_compile_pool *pool, struct hn_hosts *hosts)
{
    hn_compile_workers_lend(pool->workers, hosts);
}

void hn_compile_pool_end(const struct hn_compile_pool *pool)
{
    for (int i = 0; i < pool->workers->count; i++)
        hn_process_end(&pool->workers->items[i].process);
}

void hn_compile_pool_destroy(struct hn_compile_pool *pool)
{
    if (pool == NULL)
        return;
    lock(pool);
    hn_compile_queue_remove_client(&pool->workers->queue, &pool->client);
    unlock(pool);
    if (!pool->is_guest)
        hn_compile_workers_destroy(pool->workers);
    free(pool);
}

struct hn_client *hn_compile_pool_client(struct hn_compile_pool *pool)
{
    return &pool->client;
}

int hn_compile_pool_jobs(const struct hn_compile_pool *pool)
{
    lock(pool);
    int count = hn_compile_workers_usable(pool->workers);
    unlock(pool);
    return count;
}

struct hn_compile_load hn_compile_pool_load(const struct hn_compile_pool *pool, double now_ms)
{
    lock(pool);
    struct hn_compile_load load = {.cpu_ms = pool->client.cpu_ms};
    for (int i = 0; i < pool->workers->count; i++) {
        const struct hn_compile_worker *worker = &pool->workers->items[i];
        if (worker->job == NULL)
            continue;
        load.busy++;
        if (hn_job_want(worker->job, &pool->client, NULL) == NULL)
            continue;
        load.own++;
        load.longest_ms = fmax(load.longest_ms, now_ms - worker->started_ms);
    }
    unlock(pool);
    return load;
}

double hn_compile_pool_age_ms(const struct hn_compile_pool *pool, uint64_t id, double now_ms)
{
    double age_ms = 0;
    lock(pool);
    for (int i = 0; i < pool->workers->count; i++) {
        const struct hn_compile_worker *worker = &pool->workers->items[i];
        if (worker->ready && worker->job != NULL &&
            hn_job_want(worker->job, &pool->client, &id) != NULL)
            age_ms = now_ms - worker->started_ms;
    }
    unlock(pool);
    return age_ms;
}

size_t hn_compile_pool_slots(const struct hn_compile_pool *pool)
{
    return pool->is_guest ? 0 : (size_t)pool->workers->count;
}

size_t hn_compile_pool_pending(const struct hn_compile_pool *pool)
{
    lock(pool);
    size_t pending = pool->client.pending;
    unlock(pool);
    return pending;
}

size_t hn_compile_pool_unfinished(const struct hn_compile_pool *pool)
{
    lock(pool);
    size_t unfinished = pool->client.unfinished;
    unlock(pool);
    return unfinished;
}

void hn_compile_pool_set(struct hn_compile_pool *pool, enum hn_compile_rule rule, bool holds)
{
    lock(pool);
    switch (rule) {
    case HN_COMPILE_KEEPS_ALL:
        pool->keeps_all = holds;
        break;
    case HN_COMPILE_KEEPS_SHARED:
        pool->keeps_shared = holds;
        break;
    case HN_COMPILE_HEAVY_FIRST:
        pool->client.prefers_heavy = holds;
        break;
    }
    unlock(pool);
}

enum hn_status hn_compile_pool_ask(struct hn_compile_pool *pool, uint64_t id,
                                   const struct hn_source *source, const char *architecture,
                                   enum hn_rank rank, double weight, double patience_ms,
                                   struct hn_error *err)
{
    const struct hn_want want = {
        .client = &pool->client,
        .id = id,
        .rank = rank,
        .weight = weight,
        .patience_ms = patience_ms,
    };
    struct hn_message request = {.json = hn_message_of_source(source, architecture)};
    struct hn_source_key key;
    if (request.json == NULL)
        return hn_fail(err, HN_ECONFIG, "the template %s is not UTF-8", source->template->path);
    enum hn_status status = hn_source_key(source, architecture, &key, err);
    if (status == HN_OK) {
        bool sets_up = rank == HN_RANK_SETUP;
        lock(pool);
        hn_compile_queue_ask(&pool->workers->queue, &want, &key.hash, &request,
                             sets_up ? fmax(pool->timeout_ms, setup_timeout_ms) : pool->timeout_ms,
                             sets_up || pool->keeps_all || (pool->keeps_shared && key.leaves_out));
        unlock(pool);
        if (pool->is_guest)
            hn_event_signal(pool->workers->wake);
    }
    hn_message_finish(&request);
    return status;
}

enum hn_status hn_compile_pool_submit(struct hn_compile_pool *pool, uint64_t id,
                                      const struct hn_source *source, const char *architecture,
                                      struct hn_error *err)
{
    return hn_compile_pool_ask(pool, id, source, architecture, HN_RANK_ASKED, 0, INFINITY, err);
}

void hn_compile_pool_forget(struct hn_compile_pool *pool, enum hn_rank first, bool kills)
{
    struct hn_compile_workers *workers = pool->workers;
    lock(pool);
    hn_compile_queue_forget(&workers->queue, &pool->client, first);
    for (int i = 0; kills && i < workers->count; i++) {
        const struct hn_job *job = workers->items[i].job;
        if (job != NULL && job->wants == NULL)
            hn_compile_worker_halt(workers, &workers->items[i]);
    }
    unlock(pool);
}

void hn_compile_pool_drop(struct hn_compile_pool *pool, uint64_t id)
{
    lock(pool);
    hn_compile_queue_drop(&pool->workers->queue, &pool->client, id);
    unlock(pool);
}

static bool take(struct hn_compile_pool *pool, const uint64_t *wanted, uint64_t *id,
                 struct hn_image *image)
{
    lock(pool);
    bool found = hn_compile_queue_take(&pool->client, wanted, id, image);
    unlock(pool);
    return found;
}

bool hn_compile_pool_take(struct hn_compile_pool *pool, uint64_t *id, struct hn_image *image)
{
    return take(pool, NULL, id, image);
}

bool hn_compile_pool_take_one(struct hn_compile_pool *pool, uint64_t id, struct hn_image *image)
{
    return take(pool, &id, &id, image);
}

enum hn_status hn_compile_pool_start(struct hn_compile_pool *pool, uint64_t count,
                                     struct hn_error *err)
{
    hn_error_init(err);
    if (pool->is_guest)
        return HN_OK;
    lock(pool);
    hn_compile_workers_start(pool->workers, count, err);
    unlock(pool);
    return err->status;
}

enum hn_status hn_compile_pool_process(struct hn_compile_pool *pool, struct hn_error *err)
{
    struct hn_compile_workers *workers = pool->workers;
    lock(pool);
    struct hn_error *failure = &workers->failure;
    if (!pool->is_guest && !hn_failed(failure)) {
        hn_compile_workers_process(workers, failure);
        /* The others hear of it when they look. */
        for (struct hn_client *client = workers->queue.clients;
             hn_failed(failure) && client != NULL; client = client->next)
            hn_event_signal(client->wakeup);
    }
    if (hn_failed(failure) && err != NULL)
        *err = *failure;
    enum hn_status status = failure->status;
    unlock(pool);
    return status;
}

size_t hn_compile_pool_poll(const struct hn_compile_pool *pool, struct pollfd *fds)
{
    const struct hn_compile_workers *workers = pool->workers;
    size_t count = 0;
    if (pool->is_guest)
        return 0;
    lock(pool);
    for (int i = 0; i < workers->count; i++)
        if (workers->items[i].process.pid != 0)
            count += hn_process_poll(&workers->items[i].process, fds + count);
    unlock(pool);
    if (workers->wake >= 0)
        fds[count++] = (struct pollfd){.fd = workers->wake, .events = POLLIN};
    return count;
}

size_t hn_compile_pool_polled(const struct hn_compile_pool *pool, const struct pollfd *fds)
{
    const struct hn_compile_workers *workers = pool->workers;
    size_t count = 0;
    if (pool->is_guest)
        return 0;
    lock(pool);
    for (int i = 0; i < workers->count; i++)
        if (workers->items[i].process.pid != 0)
            count += hn_process_polled(&workers->items[i].process, fds + count);
    unlock(pool);
    return count + (workers->wake >= 0);
}

void hn_compile_pool_clear(const struct hn_compile_pool *pool)
{
    if (pool->workers->wake >= 0)
        hn_event_clear(pool->workers->wake);
}

int hn_compile_pool_timeout_ms(const struct hn_compile_pool *pool)
{
    if (pool->is_guest)
        return -1;
    lock(pool);
    int timeout = hn_compile_workers_timeout_ms(pool->workers);
    unlock(pool);
    return timeout;
}

enum hn_status hn_compile_pool_sleep(struct hn_compile_pool *pool, struct hn_error *err)
{
    struct pollfd *fds = hn_need(hn_compile_pool_slots(pool) * 2 + 1, sizeof *fds);
    int timeout = hn_compile_pool_timeout_ms(pool);
    poll(fds, hn_compile_pool_poll(pool, fds),
         timeout >= 0 && timeout < sleep_limit_ms ? timeout : sleep_limit_ms);
    free(fds);
    return hn_interrupt_check(err);
}

bool hn_compile_pool_nvrtc(const struct hn_compile_pool *pool, char version[16])
{
    lock(pool);
    memcpy(version, pool->workers->nvrtc, 16);
    unlock(pool);
    return version[0] != '\0';
}
