/* SPDX-License-Identifier: MIT */
#include "tuner/workers/compile_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/workers/compile_pool_part.h"

/* Of what the whole run depends on. */
static const double first_timeout_ms = 60e3;
/* NVRTC is loaded then, which a cold file system may make slow. */
static const double start_limit_ms = 60e3;
/* Room for those of a host, which says how many it allows once it is up. */
enum { host_workers_most = 256 };

enum hn_status hn_compile_pool_create(int jobs, double timeout_s, struct hn_compile_pool **out,
                                      struct hn_error *err)
{
    struct hn_compile_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return hn_fail_memory(err);
    pool->workers = calloc((size_t)jobs, sizeof *pool->workers);
    if (pool->workers == NULL) {
        free(pool);
        return hn_fail_memory(err);
    }
    pool->jobs = jobs;
    pool->timeout_ms = timeout_s * 1e3;
    pool->start_limit_ms = start_limit_ms;
    hn_compile_queue_init(&pool->waiting);
    hn_compile_queue_init(&pool->finished);
    for (int i = 0; i < jobs; i++)
        hn_process_init(&pool->workers[i].process);
    *out = pool;
    return HN_OK;
}

static void look_at_hosts(struct hn_compile_pool *pool)
{
    for (size_t i = 0; i < pool->host_count; i++)
        hn_host_look(pool->hosts[i].host, &pool->hosts[i].view);
}

static void add_workers(struct hn_compile_pool *pool, struct hn_compile_host *host, int count)
{
    for (int i = 0; i < count; i++) {
        struct hn_compile_worker *worker = &pool->workers[pool->jobs++];
        hn_process_init(&worker->process);
        worker->process.place = hn_host_place(host->host);
        worker->host = host;
        worker->index = i;
    }
}

enum hn_status hn_compile_pool_lend(struct hn_compile_pool *pool, struct hn_hosts *hosts,
                                    struct hn_error *err)
{
    size_t count = hn_hosts_count(hosts);
    struct hn_compile_worker *workers =
        realloc(pool->workers, ((size_t)pool->jobs + count * host_workers_most) * sizeof *workers);
    if (workers != NULL)
        pool->workers = workers;
    pool->hosts = calloc(count, sizeof *pool->hosts);
    if (workers == NULL || pool->hosts == NULL)
        return hn_fail_memory(err);
    memset(workers + pool->jobs, 0, count * host_workers_most * sizeof *workers);
    pool->host_count = count;
    for (size_t i = 0; i < count; i++)
        pool->hosts[i].host = hn_hosts_at(hosts, i);
    look_at_hosts(pool);
    for (size_t i = 0; i < count; i++)
        add_workers(pool, &pool->hosts[i], host_workers_most);
    return HN_OK;
}

static bool is_usable(const struct hn_compile_worker *worker)
{
    const struct hn_compile_host *host = worker->host;
    return host == NULL || (host->view.state == HN_HOST_UP && worker->index < host->view.compile);
}

/* Whether somebody compiles, or will: a host that is not up yet may. */
static enum hn_status check_hosts(const struct hn_compile_pool *pool, struct hn_error *err)
{
    char reasons[2048] = "";
    for (size_t i = 0; i < pool->host_count; i++) {
        const struct hn_host_view *view = &pool->hosts[i].view;
        if (view->state == HN_HOST_STARTING || (view->state == HN_HOST_UP && view->compile > 0))
            return HN_OK;
        size_t length = strlen(reasons);
        snprintf(reasons + length, sizeof reasons - length, "; %s: %s", view->name,
                 view->state == HN_HOST_OUT ? view->reason : "compiles nothing ('compile: 0')");
    }
    return pool->host_count == 0
               ? HN_OK
               : hn_fail(err, HN_ERUN, "there is no host left that compiles%s", reasons);
}

void hn_compile_pool_end(const struct hn_compile_pool *pool)
{
    for (int i = 0; i < pool->jobs; i++)
        hn_process_end(&pool->workers[i].process);
}

void hn_compile_pool_destroy(struct hn_compile_pool *pool)
{
    if (pool == NULL)
        return;
    hn_compile_pool_end(pool);
    for (int i = 0; i < pool->jobs; i++) {
        hn_process_kill(&pool->workers[i].process);
        hn_compile_job_destroy(pool->workers[i].job);
    }
    hn_compile_queue_drain(&pool->waiting);
    hn_compile_queue_drain(&pool->finished);
    hn_compile_memory_finish(&pool->memory);
    free(pool->workers);
    free(pool->hosts);
    free(pool);
}

int hn_compile_pool_jobs(const struct hn_compile_pool *pool)
{
    int count = 0;
    for (int i = 0; i < pool->jobs; i++)
        count += is_usable(&pool->workers[i]);
    return count > 0 ? count : 1;
}

size_t hn_compile_pool_slots(const struct hn_compile_pool *pool)
{
    return (size_t)pool->jobs;
}

size_t hn_compile_pool_pending(const struct hn_compile_pool *pool)
{
    return pool->pending;
}

size_t hn_compile_pool_unfinished(const struct hn_compile_pool *pool)
{
    return pool->unfinished;
}

struct hn_meter *hn_compile_pool_meter(struct hn_compile_pool *pool)
{
    return &pool->meter;
}

void hn_compile_pool_prefer_heavy(struct hn_compile_pool *pool, bool prefers)
{
    pool->prefers_heavy = prefers;
}

void hn_compile_pool_set_timeline(struct hn_compile_pool *pool, struct hn_timeline *timeline)
{
    pool->timeline = timeline;
}

double hn_compile_pool_cpu_ms(const struct hn_compile_pool *pool)
{
    return pool->cpu_ms;
}

void hn_compile_pool_remember(struct hn_compile_pool *pool)
{
    pool->remembers = true;
}

/* Whether the job's image is remembered: then the job is finished. */
static bool recall(struct hn_compile_pool *pool, struct hn_compile_job *job)
{
    const struct hn_image *known =
        pool->remembers ? hn_compile_memory_find(&pool->memory, job->request.json) : NULL;
    if (known == NULL)
        return false;
    if (hn_image_copy(&job->image, known, NULL) != HN_OK) {
        hn_image_finish(&job->image);
        return false;
    }
    job->image.compile_ms = 0;
    hn_compile_queue_push(&pool->finished, job);
    pool->pending++;
    return true;
}

enum hn_status hn_compile_pool_submit(struct hn_compile_pool *pool, uint64_t id,
                                      const struct hn_source *source, const char *architecture,
                                      double weight, struct hn_error *err)
{
    struct hn_compile_job *job = NULL;
    enum hn_status status = hn_compile_job_make(id, source, architecture, &job, err);
    if (status != HN_OK)
        return status;
    if (recall(pool, job))
        return HN_OK;
    hn_compile_queue_push(&pool->waiting, job);
    job->timeout_ms = pool->timeout_ms;
    job->weight = weight;
    pool->pending++;
    pool->unfinished++;
    return HN_OK;
}

enum hn_status hn_compile_pool_submit_first(struct hn_compile_pool *pool, uint64_t id,
                                            const struct hn_source *source,
                                            const char *architecture, struct hn_error *err)
{
    struct hn_compile_job *job = NULL;
    enum hn_status status = hn_compile_job_make(id, source, architecture, &job, err);
    if (status != HN_OK)
        return status;
    if (recall(pool, job))
        return HN_OK;
    hn_compile_queue_push_front(&pool->waiting, job);
    job->timeout_ms = fmax(pool->timeout_ms, first_timeout_ms);
    job->weight = INFINITY;
    pool->pending++;
    pool->unfinished++;
    return HN_OK;
}

enum hn_status hn_compile_pool_submit_ahead(struct hn_compile_pool *pool, uint64_t id,
                                            const struct hn_source *source,
                                            const char *architecture, double weight,
                                            struct hn_error *err)
{
    struct hn_compile_job *job = NULL;
    enum hn_status status = hn_compile_job_make(id, source, architecture, &job, err);
    if (status != HN_OK)
        return status;
    hn_compile_queue_push(&pool->waiting, job);
    job->timeout_ms = pool->timeout_ms;
    job->weight = weight;
    job->ahead = true;
    return HN_OK;
}

bool hn_compile_pool_claim(struct hn_compile_pool *pool, uint64_t ahead, uint64_t id)
{
    struct hn_compile_job *finished = hn_compile_queue_find(&pool->finished, ahead);
    struct hn_compile_job *job =
        finished != NULL ? finished : hn_compile_queue_find(&pool->waiting, ahead);
    for (int i = 0; i < pool->jobs && job == NULL; i++)
        if (pool->workers[i].job != NULL && pool->workers[i].job->id == ahead)
            job = pool->workers[i].job;
    if (job == NULL || !job->ahead || job->cancelled)
        return false;
    job->id = id;
    job->ahead = false;
    pool->pending++;
    pool->unfinished += finished == NULL;
    return true;
}

static void cancel_in(struct hn_compile_pool *pool, struct hn_compile_queue *queue, bool ahead_only)
{
    struct hn_compile_job **link = &queue->first;
    while (*link != NULL) {
        if (ahead_only && !(*link)->ahead) {
            link = &(*link)->next;
            continue;
        }
        struct hn_compile_job *job = hn_compile_queue_unlink(queue, link);
        pool->pending -= !job->ahead;
        pool->unfinished -= !job->ahead && queue == &pool->waiting;
        hn_compile_job_destroy(job);
    }
}

void hn_compile_pool_cancel(struct hn_compile_pool *pool, bool ahead_only)
{
    cancel_in(pool, &pool->waiting, ahead_only);
    cancel_in(pool, &pool->finished, ahead_only);
    for (int i = 0; i < pool->jobs; i++) {
        struct hn_compile_job *job = pool->workers[i].job;
        if (job == NULL || job->cancelled || (ahead_only && !job->ahead))
            continue;
        pool->pending -= !job->ahead;
        pool->unfinished -= !job->ahead;
        job->cancelled = true;
    }
}

void hn_compile_pool_halt(struct hn_compile_pool *pool)
{
    hn_compile_pool_cancel(pool, false);
    for (int i = 0; i < pool->jobs; i++)
        hn_compile_worker_halt(pool, &pool->workers[i]);
}

enum hn_status hn_compile_pool_start(struct hn_compile_pool *pool, uint64_t wanted,
                                     struct hn_error *err)
{
    for (int i = 0; i < pool->jobs; i++)
        if (pool->workers[i].process.pid != 0 && pool->workers[i].job == NULL && wanted > 0)
            wanted--;
    for (int i = 0; i < pool->jobs && wanted > 0; i++) {
        if (pool->workers[i].process.pid != 0 || !is_usable(&pool->workers[i]))
            continue;
        enum hn_status status = hn_compile_worker_start(&pool->workers[i], err);
        if (status != HN_OK)
            return status;
        wanted--;
    }
    return HN_OK;
}

static enum hn_status serve(struct hn_compile_pool *pool, struct hn_compile_worker *worker,
                            struct hn_error *err)
{
    enum hn_status status = hn_compile_worker_listen(pool, worker, err);
    if (status == HN_OK)
        status = hn_compile_worker_enforce_limit(pool, worker, err);
    /* What can not work at one host may at another. */
    if (worker->host != NULL && status != HN_OK && status != HN_ECONFIG && status != HN_ENOMEM) {
        hn_host_fail(worker->host->host, false, err->message);
        return HN_OK;
    }
    if (status != HN_OK)
        return status;
    hn_compile_worker_retire(worker);
    hn_compile_worker_give_job(pool, worker);
    return HN_OK;
}

enum hn_status hn_compile_pool_process(struct hn_compile_pool *pool, struct hn_error *err)
{
    look_at_hosts(pool);
    for (int i = 0; i < pool->jobs; i++) {
        struct hn_compile_worker *worker = &pool->workers[i];
        if (worker->process.pid == 0)
            continue;
        enum hn_status status = serve(pool, worker, err);
        if (status != HN_OK)
            return status;
    }
    enum hn_status left = check_hosts(pool, err);
    if (left != HN_OK)
        return left;
    uint64_t waiting = 0;
    for (struct hn_compile_job *job = pool->waiting.first; job != NULL; job = job->next)
        waiting++;
    return hn_compile_pool_start(pool, waiting, err);
}

static void hand_over(struct hn_compile_pool *pool, struct hn_compile_job **link,
                      struct hn_image *image)
{
    struct hn_compile_job *job = hn_compile_queue_unlink(&pool->finished, link);
    *image = job->image;
    hn_image_init(&job->image);
    hn_compile_job_destroy(job);
    pool->pending--;
}

bool hn_compile_pool_take(struct hn_compile_pool *pool, uint64_t *id, struct hn_image *image)
{
    struct hn_compile_job **link = &pool->finished.first;
    while (*link != NULL && (*link)->ahead)
        link = &(*link)->next;
    if (*link == NULL)
        return false;
    *id = (*link)->id;
    hand_over(pool, link, image);
    return true;
}

bool hn_compile_pool_take_one(struct hn_compile_pool *pool, uint64_t id, struct hn_image *image)
{
    struct hn_compile_job **link = &pool->finished.first;
    while (*link != NULL && ((*link)->ahead || (*link)->id != id))
        link = &(*link)->next;
    if (*link == NULL)
        return false;
    hand_over(pool, link, image);
    return true;
}

size_t hn_compile_pool_poll(const struct hn_compile_pool *pool, struct pollfd *fds)
{
    size_t count = 0;
    for (int i = 0; i < pool->jobs; i++)
        if (pool->workers[i].process.pid != 0)
            count += hn_process_poll(&pool->workers[i].process, fds + count);
    return count;
}

int hn_compile_pool_timeout_ms(const struct hn_compile_pool *pool)
{
    double least = -1;
    for (int i = 0; i < pool->jobs; i++) {
        const struct hn_compile_worker *worker = &pool->workers[i];
        bool starts = worker->process.pid != 0 && !worker->ready;
        if (worker->job == NULL && !starts)
            continue;
        double limit = starts ? pool->start_limit_ms : worker->job->timeout_ms;
        double left = worker->started_ms + limit - hn_now_ms();
        if (least < 0 || left < least)
            least = left > 0 ? left : 0;
    }
    return least < 0 ? -1 : (int)least + 1;
}

enum hn_status hn_compile_pool_nvrtc(struct hn_compile_pool *pool,
                                     enum hn_status (*sleep)(void *sleeper, struct hn_error *err),
                                     void *sleeper, char version[16], struct hn_error *err)
{
    while (pool->nvrtc[0] == '\0') {
        enum hn_status status = hn_compile_pool_start(pool, 1, err);
        if (status == HN_OK)
            status = hn_compile_pool_process(pool, err);
        if (status == HN_OK && pool->nvrtc[0] == '\0')
            status = sleep(sleeper, err);
        if (status != HN_OK)
            return status;
    }
    memcpy(version, pool->nvrtc, 16);
    return HN_OK;
}
