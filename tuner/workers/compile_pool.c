/* SPDX-License-Identifier: MIT */
#include "tuner/workers/compile_pool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"
#include "tuner/workers/compile_pool_part.h"

/* Of what the whole run depends on. */
static const double first_timeout_ms = 60e3;

static void lock(const struct hn_compile_pool *pool)
{
    pthread_mutex_lock(&pool->staff->lock);
}

static void unlock(const struct hn_compile_pool *pool)
{
    pthread_mutex_unlock(&pool->staff->lock);
}

static bool is_guest(const struct hn_compile_pool *pool)
{
    return pool->staff->owner != pool;
}

static struct hn_compile_pool *make_pool(double timeout_ms)
{
    struct hn_compile_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    pool->timeout_ms = timeout_ms;
    pool->wakeup = -1;
    pool->twins = true;
    hn_compile_queue_init(&pool->waiting);
    hn_compile_queue_init(&pool->finished);
    return pool;
}

/* The last to be served. */
static void enlist(struct hn_compile_staff *staff, struct hn_compile_pool *pool)
{
    struct hn_compile_pool **at = &staff->pools;
    while (*at != NULL)
        at = &(*at)->next;
    pool->next = NULL;
    *at = pool;
}

static void strike(struct hn_compile_staff *staff, struct hn_compile_pool *pool)
{
    struct hn_compile_pool **at = &staff->pools;
    while (*at != pool)
        at = &(*at)->next;
    *at = pool->next;
}

enum hn_status hn_compile_pool_create(int jobs, double timeout_s, struct hn_compile_pool **out,
                                      struct hn_error *err)
{
    struct hn_compile_pool *pool = make_pool(timeout_s * 1e3);
    if (pool == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_compile_staff_create(jobs, &pool->staff, err);
    if (status != HN_OK) {
        free(pool);
        return status;
    }
    pool->staff->owner = pool;
    enlist(pool->staff, pool);
    *out = pool;
    return HN_OK;
}

enum hn_status hn_compile_pool_share(struct hn_compile_pool *owner, int wakeup,
                                     struct hn_compile_pool **guest, struct hn_error *err)
{
    struct hn_compile_staff *staff = owner->staff;
    if (staff->wake < 0)
        staff->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (staff->wake < 0)
        return hn_fail(err, HN_ERUN, "eventfd: %s", strerror(errno));
    struct hn_compile_pool *pool = make_pool(owner->timeout_ms);
    if (pool == NULL)
        return hn_fail_memory(err);
    pool->staff = staff;
    pool->wakeup = wakeup;
    lock(owner);
    enlist(staff, pool);
    unlock(owner);
    *guest = pool;
    return HN_OK;
}

enum hn_status hn_compile_pool_lend(struct hn_compile_pool *pool, struct hn_hosts *hosts,
                                    struct hn_error *err)
{
    return hn_compile_staff_lend(pool->staff, hosts, err);
}

void hn_compile_pool_tell(const struct hn_compile_pool *pool)
{
    hn_event_signal(pool->wakeup);
}

void hn_compile_pool_end(const struct hn_compile_pool *pool)
{
    hn_compile_staff_end(pool->staff);
}

/* What its workers are at goes on, for nobody. */
static void leave_staff(struct hn_compile_pool *pool)
{
    struct hn_compile_staff *staff = pool->staff;
    lock(pool);
    strike(staff, pool);
    for (int i = 0; i < staff->jobs; i++) {
        struct hn_compile_job *job = staff->workers[i].job;
        if (job == NULL || job->pool != pool)
            continue;
        job->cancelled = true;
        job->pool = NULL;
    }
    unlock(pool);
}

void hn_compile_pool_destroy(struct hn_compile_pool *pool)
{
    if (pool == NULL)
        return;
    if (is_guest(pool))
        leave_staff(pool);
    else
        hn_compile_staff_destroy(pool->staff);
    hn_compile_queue_drain(&pool->waiting);
    hn_compile_queue_drain(&pool->finished);
    hn_compile_memory_finish(&pool->memory);
    free(pool);
}

int hn_compile_pool_jobs(const struct hn_compile_pool *pool)
{
    lock(pool);
    int count = hn_compile_staff_usable(pool->staff);
    unlock(pool);
    return count;
}

struct hn_compile_load hn_compile_pool_load(const struct hn_compile_pool *pool, double now_ms)
{
    struct hn_compile_load load = {0};
    lock(pool);
    for (int i = 0; i < pool->staff->jobs; i++) {
        const struct hn_compile_worker *worker = &pool->staff->workers[i];
        if (worker->job == NULL)
            continue;
        load.busy++;
        if (worker->job->pool != pool)
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
    for (int i = 0; i < pool->staff->jobs; i++) {
        const struct hn_compile_worker *worker = &pool->staff->workers[i];
        if (worker->ready && worker->job != NULL && worker->job->pool == pool &&
            worker->job->id == id)
            age_ms = now_ms - worker->started_ms;
    }
    unlock(pool);
    return age_ms;
}

size_t hn_compile_pool_slots(const struct hn_compile_pool *pool)
{
    return is_guest(pool) ? 0 : (size_t)pool->staff->jobs;
}

size_t hn_compile_pool_pending(const struct hn_compile_pool *pool)
{
    lock(pool);
    size_t pending = pool->pending;
    unlock(pool);
    return pending;
}

size_t hn_compile_pool_unfinished(const struct hn_compile_pool *pool)
{
    lock(pool);
    size_t unfinished = pool->unfinished;
    unlock(pool);
    return unfinished;
}

struct hn_meter *hn_compile_pool_meter(struct hn_compile_pool *pool)
{
    return &pool->meter;
}

void hn_compile_pool_prefer_heavy(struct hn_compile_pool *pool, bool prefers)
{
    lock(pool);
    pool->prefers_heavy = prefers;
    unlock(pool);
}

void hn_compile_pool_set_timeline(struct hn_compile_pool *pool, struct hn_timeline *timeline)
{
    pool->timeline = timeline;
}

double hn_compile_pool_cpu_ms(const struct hn_compile_pool *pool)
{
    lock(pool);
    double cpu_ms = pool->cpu_ms;
    unlock(pool);
    return cpu_ms;
}

void hn_compile_pool_expect_twins(struct hn_compile_pool *pool, bool twins)
{
    pool->twins = twins;
}

void hn_compile_pool_remember(struct hn_compile_pool *pool)
{
    pool->remembers = true;
}

static bool is_same_program(const struct hn_compile_job *a, const struct hn_compile_job *b)
{
    return strcmp(a->key.hash.hex, b->key.hash.hex) == 0;
}

/* What another job of the pool compiles right now is waited for. */
static void hold_waiting(struct hn_compile_pool *pool)
{
    const struct hn_compile_staff *staff = pool->staff;
    for (struct hn_compile_job *job = pool->waiting.first; job != NULL; job = job->next) {
        job->held = false;
        for (int i = 0; i < staff->jobs && !job->held; i++) {
            const struct hn_compile_job *begun = staff->workers[i].job;
            job->held = begun != NULL && begun->pool == pool && is_same_program(begun, job);
        }
    }
}

static struct hn_compile_job *pop_waiting(struct hn_compile_pool *pool)
{
    hold_waiting(pool);
    return pool->prefers_heavy ? hn_compile_queue_pop_heaviest(&pool->waiting, pool->staff->jobs)
                               : hn_compile_queue_pop(&pool->waiting);
}

struct hn_compile_job *hn_compile_pool_next_job(struct hn_compile_staff *staff)
{
    struct hn_compile_pool *pool = staff->pools;
    struct hn_compile_job *job = NULL;
    while (pool != NULL && (job = pop_waiting(pool)) == NULL)
        pool = pool->next;
    if (job == NULL)
        return NULL;
    strike(staff, pool);
    enlist(staff, pool);
    return job;
}

/* The image of another job of this program is the job's. */
static bool copy_image(struct hn_compile_job *job, const struct hn_image *image)
{
    if (hn_image_copy(&job->image, image, NULL) != HN_OK) {
        hn_image_finish(&job->image);
        return false;
    }
    job->image.compile_ms = 0;
    return true;
}

void hn_compile_pool_spread(struct hn_compile_pool *pool, const struct hn_compile_job *done)
{
    struct hn_compile_job **link = &pool->waiting.first;
    bool certain =
        done->image.outcome == HN_OUTCOME_OK || done->image.outcome == HN_OUTCOME_COMPILE_ERROR;
    while (certain && *link != NULL) {
        if (!is_same_program(*link, done) || !copy_image(*link, &done->image)) {
            link = &(*link)->next;
            continue;
        }
        struct hn_compile_job *job = hn_compile_queue_unlink(&pool->waiting, link);
        pool->unfinished -= !job->ahead;
        hn_compile_queue_push(&pool->finished, job);
    }
}

/* Whether the job's image is remembered: then the job is finished. */
static bool recall(struct hn_compile_pool *pool, struct hn_compile_job *job)
{
    const struct hn_image *known = hn_compile_memory_find(&pool->memory, &job->key.hash);
    if (known == NULL || !copy_image(job, known))
        return false;
    hn_compile_queue_push(&pool->finished, job);
    pool->pending++;
    return true;
}

enum place { PLACE_FIRST, PLACE_LAST, PLACE_AHEAD };

static void queue(struct hn_compile_pool *pool, struct hn_compile_job *job, enum place place)
{
    job->ahead = place == PLACE_AHEAD;
    if (!job->ahead && recall(pool, job)) {
        hn_compile_pool_tell(pool);
        return;
    }
    if (place == PLACE_FIRST)
        hn_compile_queue_push_front(&pool->waiting, job);
    else
        hn_compile_queue_push(&pool->waiting, job);
    pool->pending += !job->ahead;
    pool->unfinished += !job->ahead;
    if (is_guest(pool))
        hn_event_signal(pool->staff->wake);
}

static enum hn_status submit(struct hn_compile_pool *pool, uint64_t id,
                             const struct hn_source *source, const char *architecture,
                             double weight, enum place place, struct hn_error *err)
{
    struct hn_compile_job *job = NULL;
    enum hn_status status = hn_compile_job_make(id, source, architecture, &job, err);
    if (status != HN_OK)
        return status;
    job->pool = pool;
    job->weight = weight;
    job->remembered =
        place == PLACE_FIRST || pool->remembers || (pool->twins && job->key.leaves_out);
    job->timeout_ms =
        place == PLACE_FIRST ? fmax(pool->timeout_ms, first_timeout_ms) : pool->timeout_ms;
    lock(pool);
    queue(pool, job, place);
    unlock(pool);
    return HN_OK;
}

enum hn_status hn_compile_pool_submit(struct hn_compile_pool *pool, uint64_t id,
                                      const struct hn_source *source, const char *architecture,
                                      double weight, struct hn_error *err)
{
    return submit(pool, id, source, architecture, weight, PLACE_LAST, err);
}

enum hn_status hn_compile_pool_submit_first(struct hn_compile_pool *pool, uint64_t id,
                                            const struct hn_source *source,
                                            const char *architecture, struct hn_error *err)
{
    return submit(pool, id, source, architecture, INFINITY, PLACE_FIRST, err);
}

enum hn_status hn_compile_pool_submit_ahead(struct hn_compile_pool *pool, uint64_t id,
                                            const struct hn_source *source,
                                            const char *architecture, double weight,
                                            struct hn_error *err)
{
    return submit(pool, id, source, architecture, weight, PLACE_AHEAD, err);
}

/* One that a worker is at; NULL: none is. */
static struct hn_compile_job *find_begun(const struct hn_compile_pool *pool, uint64_t id)
{
    const struct hn_compile_staff *staff = pool->staff;
    for (int i = 0; i < staff->jobs; i++) {
        struct hn_compile_job *job = staff->workers[i].job;
        if (job != NULL && job->pool == pool && job->id == id)
            return job;
    }
    return NULL;
}

/* A job that is not taken yet, wherever it is; NULL: there is none. */
static struct hn_compile_job *find(const struct hn_compile_pool *pool, uint64_t id, bool *finished)
{
    struct hn_compile_job *job = hn_compile_queue_find(&pool->finished, id);
    *finished = job != NULL;
    if (job == NULL)
        job = hn_compile_queue_find(&pool->waiting, id);
    return job != NULL ? job : find_begun(pool, id);
}

static bool claim(struct hn_compile_pool *pool, uint64_t ahead, uint64_t id)
{
    bool finished;
    struct hn_compile_job *job = find(pool, ahead, &finished);
    if (job == NULL || !job->ahead || job->cancelled)
        return false;
    job->id = id;
    job->ahead = false;
    pool->pending++;
    pool->unfinished += !finished;
    return true;
}

void hn_compile_pool_disclaim(struct hn_compile_pool *pool, uint64_t id)
{
    bool finished;
    lock(pool);
    struct hn_compile_job *job = find(pool, id, &finished);
    if (job != NULL && !job->ahead && !job->cancelled) {
        job->ahead = true;
        pool->pending--;
        pool->unfinished -= !finished;
    }
    unlock(pool);
}

bool hn_compile_pool_claim(struct hn_compile_pool *pool, uint64_t ahead, uint64_t id)
{
    lock(pool);
    bool claimed = claim(pool, ahead, id);
    unlock(pool);
    return claimed;
}

void hn_compile_pool_limit(struct hn_compile_pool *pool, uint64_t id, double patience_ms)
{
    bool finished;
    lock(pool);
    struct hn_compile_job *job = find(pool, id, &finished);
    if (job != NULL)
        job->patience_ms = patience_ms;
    unlock(pool);
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

static void cancel(struct hn_compile_pool *pool, bool ahead_only)
{
    const struct hn_compile_staff *staff = pool->staff;
    cancel_in(pool, &pool->waiting, ahead_only);
    cancel_in(pool, &pool->finished, ahead_only);
    for (int i = 0; i < staff->jobs; i++) {
        struct hn_compile_job *job = staff->workers[i].job;
        if (job == NULL || job->pool != pool || job->cancelled || (ahead_only && !job->ahead))
            continue;
        pool->pending -= !job->ahead;
        pool->unfinished -= !job->ahead;
        job->cancelled = true;
    }
}

void hn_compile_pool_cancel(struct hn_compile_pool *pool, bool ahead_only)
{
    lock(pool);
    cancel(pool, ahead_only);
    unlock(pool);
}

void hn_compile_pool_halt(struct hn_compile_pool *pool)
{
    struct hn_compile_staff *staff = pool->staff;
    lock(pool);
    cancel(pool, false);
    for (int i = 0; i < staff->jobs; i++)
        if (staff->workers[i].job != NULL && staff->workers[i].job->pool == pool)
            hn_compile_worker_halt(&staff->workers[i]);
    unlock(pool);
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

/* wanted: that one alone; NULL: any. */
static bool take(struct hn_compile_pool *pool, const uint64_t *wanted, uint64_t *id,
                 struct hn_image *image)
{
    lock(pool);
    struct hn_compile_job **link = &pool->finished.first;
    while (*link != NULL && ((*link)->ahead || (wanted != NULL && (*link)->id != *wanted)))
        link = &(*link)->next;
    bool found = *link != NULL;
    if (found) {
        *id = (*link)->id;
        hand_over(pool, link, image);
    }
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
    lock(pool);
    enum hn_status status =
        is_guest(pool) ? HN_OK : hn_compile_staff_start(pool->staff, count, err);
    unlock(pool);
    return status;
}

/* The others hear of it when they look. */
static void note_failure(struct hn_compile_staff *staff, enum hn_status status,
                         const struct hn_error *err)
{
    staff->failed = status;
    staff->failure = *err;
    for (const struct hn_compile_pool *pool = staff->pools; pool != NULL; pool = pool->next)
        hn_compile_pool_tell(pool);
}

enum hn_status hn_compile_pool_process(struct hn_compile_pool *pool, struct hn_error *err)
{
    struct hn_compile_staff *staff = pool->staff;
    struct hn_error reason = {.message = ""};
    lock(pool);
    enum hn_status status = staff->failed;
    if (is_guest(pool)) {
        reason = staff->failure;
    } else {
        status = hn_compile_staff_process(staff, &reason);
        if (status != HN_OK)
            note_failure(staff, status, &reason);
    }
    unlock(pool);
    if (status != HN_OK && err != NULL)
        *err = reason;
    return status;
}

size_t hn_compile_pool_poll(const struct hn_compile_pool *pool, struct pollfd *fds)
{
    size_t count = 0;
    if (is_guest(pool))
        return 0;
    lock(pool);
    count = hn_compile_staff_poll(pool->staff, fds);
    unlock(pool);
    if (pool->staff->wake >= 0)
        fds[count++] = (struct pollfd){.fd = pool->staff->wake, .events = POLLIN};
    return count;
}

size_t hn_compile_pool_polled(const struct hn_compile_pool *pool, const struct pollfd *fds)
{
    if (is_guest(pool))
        return 0;
    lock(pool);
    size_t count = hn_compile_staff_polled(pool->staff, fds);
    unlock(pool);
    return count + (pool->staff->wake >= 0);
}

void hn_compile_pool_clear(const struct hn_compile_pool *pool)
{
    uint64_t count;
    if (pool->staff->wake >= 0)
        (void)!read(pool->staff->wake, &count, sizeof count);
}

int hn_compile_pool_timeout_ms(const struct hn_compile_pool *pool)
{
    if (is_guest(pool))
        return -1;
    lock(pool);
    int timeout = hn_compile_staff_timeout_ms(pool->staff);
    unlock(pool);
    return timeout;
}

static bool read_nvrtc(const struct hn_compile_pool *pool, char version[16])
{
    lock(pool);
    memcpy(version, pool->staff->nvrtc, 16);
    unlock(pool);
    return version[0] != '\0';
}

bool hn_compile_pool_knows_nvrtc(const struct hn_compile_pool *pool)
{
    char version[16];
    return read_nvrtc(pool, version);
}

enum hn_status hn_compile_pool_nvrtc(struct hn_compile_pool *pool,
                                     enum hn_status (*sleep)(void *sleeper, struct hn_error *err),
                                     void *sleeper, char version[16], struct hn_error *err)
{
    while (!read_nvrtc(pool, version)) {
        enum hn_status status = hn_compile_pool_start(pool, 1, err);
        if (status == HN_OK)
            status = hn_compile_pool_process(pool, err);
        if (status == HN_OK && !read_nvrtc(pool, version))
            status = sleep(sleeper, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}
