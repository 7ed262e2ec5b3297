/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/workers/compile_pool_part.h"

/* NVRTC is loaded then, which a cold file system may make slow. */
static const double start_limit_ms = 60e3;
/* Room for those of a host, which says how many it allows once it is up. */
enum { host_workers_most = 256 };

enum hn_status hn_compile_staff_create(int jobs, struct hn_compile_staff **out,
                                       struct hn_error *err)
{
    struct hn_compile_staff *staff = calloc(1, sizeof *staff);
    if (staff == NULL)
        return hn_fail_memory(err);
    staff->workers = calloc((size_t)jobs + 1, sizeof *staff->workers);
    if (staff->workers == NULL) {
        free(staff);
        return hn_fail_memory(err);
    }
    pthread_mutex_init(&staff->lock, NULL);
    staff->jobs = jobs;
    staff->start_limit_ms = start_limit_ms;
    staff->wake = -1;
    for (int i = 0; i < jobs; i++)
        hn_process_init(&staff->workers[i].process);
    *out = staff;
    return HN_OK;
}

void hn_compile_staff_destroy(struct hn_compile_staff *staff)
{
    hn_compile_staff_end(staff);
    for (int i = 0; i < staff->jobs; i++) {
        hn_process_kill(&staff->workers[i].process);
        hn_compile_job_destroy(staff->workers[i].job);
    }
    if (staff->wake >= 0)
        close(staff->wake);
    pthread_mutex_destroy(&staff->lock);
    free(staff->workers);
    free(staff->hosts);
    free(staff);
}

static void look_at_hosts(struct hn_compile_staff *staff)
{
    for (size_t i = 0; i < staff->host_count; i++)
        hn_host_look(staff->hosts[i].host, &staff->hosts[i].view);
}

static void add_workers(struct hn_compile_staff *staff, struct hn_compile_host *host, int count)
{
    for (int i = 0; i < count; i++) {
        struct hn_compile_worker *worker = &staff->workers[staff->jobs++];
        hn_process_init(&worker->process);
        worker->process.place = hn_host_place(host->host);
        worker->host = host;
        worker->index = i;
    }
}

enum hn_status hn_compile_staff_lend(struct hn_compile_staff *staff, struct hn_hosts *hosts,
                                     struct hn_error *err)
{
    size_t count = hn_hosts_count(hosts);
    struct hn_compile_worker *workers = realloc(
        staff->workers, ((size_t)staff->jobs + count * host_workers_most) * sizeof *workers);
    if (workers != NULL)
        staff->workers = workers;
    staff->hosts = calloc(count, sizeof *staff->hosts);
    if (workers == NULL || staff->hosts == NULL)
        return hn_fail_memory(err);
    memset(workers + staff->jobs, 0, count * host_workers_most * sizeof *workers);
    staff->host_count = count;
    for (size_t i = 0; i < count; i++)
        staff->hosts[i].host = hn_hosts_at(hosts, i);
    look_at_hosts(staff);
    for (size_t i = 0; i < count; i++)
        add_workers(staff, &staff->hosts[i], host_workers_most);
    return HN_OK;
}

static bool is_usable(const struct hn_compile_worker *worker)
{
    const struct hn_compile_host *host = worker->host;
    return host == NULL || (host->view.state == HN_HOST_UP && worker->index < host->view.compile);
}

/* Whether somebody compiles, or will: a host that is not up yet may. */
static enum hn_status check_hosts(const struct hn_compile_staff *staff, struct hn_error *err)
{
    char reasons[2048] = "";
    for (size_t i = 0; i < staff->host_count; i++) {
        const struct hn_host_view *view = &staff->hosts[i].view;
        if (view->state == HN_HOST_STARTING || (view->state == HN_HOST_UP && view->compile > 0))
            return HN_OK;
        size_t length = strlen(reasons);
        snprintf(reasons + length, sizeof reasons - length, "; %s: %s", view->name,
                 view->state == HN_HOST_OUT ? view->reason : "compiles nothing ('compile: 0')");
    }
    return staff->host_count == 0
               ? HN_OK
               : hn_fail(err, HN_ERUN, "there is no host left that compiles%s", reasons);
}

void hn_compile_staff_end(const struct hn_compile_staff *staff)
{
    for (int i = 0; i < staff->jobs; i++)
        hn_process_end(&staff->workers[i].process);
}

int hn_compile_staff_usable(const struct hn_compile_staff *staff)
{
    int count = 0;
    for (int i = 0; i < staff->jobs; i++)
        count += is_usable(&staff->workers[i]);
    return count > 0 ? count : 1;
}

enum hn_status hn_compile_staff_start(struct hn_compile_staff *staff, uint64_t wanted,
                                      struct hn_error *err)
{
    for (int i = 0; i < staff->jobs; i++)
        if (staff->workers[i].process.pid != 0 && staff->workers[i].job == NULL && wanted > 0)
            wanted--;
    for (int i = 0; i < staff->jobs && wanted > 0; i++) {
        if (staff->workers[i].process.pid != 0 || !is_usable(&staff->workers[i]))
            continue;
        enum hn_status status = hn_compile_worker_start(&staff->workers[i], err);
        if (status != HN_OK)
            return status;
        wanted--;
    }
    return HN_OK;
}

static enum hn_status serve(struct hn_compile_staff *staff, struct hn_compile_worker *worker,
                            struct hn_error *err)
{
    enum hn_status status = hn_compile_worker_listen(staff, worker, err);
    if (status == HN_OK)
        status = hn_compile_worker_enforce_limit(staff, worker, err);
    /* What can not work at one host may at another. Who says what can not be is asked no more. */
    bool may_differ = status != HN_ENOMEM && (status != HN_ECONFIG || staff->host_count > 1);
    if (worker->host != NULL && status != HN_OK && may_differ) {
        hn_host_fail(worker->host->host, status == HN_EFORMAT, err->message);
        return HN_OK;
    }
    if (status != HN_OK)
        return status;
    hn_compile_worker_retire(worker);
    hn_compile_worker_give_job(staff, worker);
    return HN_OK;
}

enum hn_status hn_compile_staff_process(struct hn_compile_staff *staff, struct hn_error *err)
{
    look_at_hosts(staff);
    for (int i = 0; i < staff->jobs; i++) {
        struct hn_compile_worker *worker = &staff->workers[i];
        if (worker->process.pid == 0)
            continue;
        enum hn_status status = serve(staff, worker, err);
        if (status != HN_OK)
            return status;
    }
    enum hn_status left = check_hosts(staff, err);
    if (left != HN_OK)
        return left;
    uint64_t waiting = 0;
    for (const struct hn_compile_pool *pool = staff->pools; pool != NULL; pool = pool->next)
        for (const struct hn_compile_job *job = pool->waiting.first; job != NULL; job = job->next)
            waiting++;
    return hn_compile_staff_start(staff, waiting, err);
}

size_t hn_compile_staff_poll(const struct hn_compile_staff *staff, struct pollfd *fds)
{
    size_t count = 0;
    for (int i = 0; i < staff->jobs; i++)
        if (staff->workers[i].process.pid != 0)
            count += hn_process_poll(&staff->workers[i].process, fds + count);
    return count;
}

size_t hn_compile_staff_polled(struct hn_compile_staff *staff, const struct pollfd *fds)
{
    size_t count = 0;
    for (int i = 0; i < staff->jobs; i++)
        if (staff->workers[i].process.pid != 0)
            count += hn_process_polled(&staff->workers[i].process, fds + count);
    return count;
}

int hn_compile_staff_timeout_ms(const struct hn_compile_staff *staff)
{
    double least = -1;
    for (int i = 0; i < staff->jobs; i++) {
        const struct hn_compile_worker *worker = &staff->workers[i];
        bool starts = worker->process.pid != 0 && !worker->ready;
        if (worker->job == NULL && !starts)
            continue;
        double limit = starts ? staff->start_limit_ms : hn_compile_job_limit_ms(worker->job);
        double left = worker->started_ms + limit - hn_now_ms();
        if (least < 0 || left < least)
            least = left > 0 ? left : 0;
    }
    return least < 0 ? -1 : (int)least + 1;
}
