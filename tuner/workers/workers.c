/* SPDX-License-Identifier: MIT */
#include "tuner/workers/workers.h"

#include <math.h>
#include <stdlib.h>

static enum hn_status begin_opening(struct hn_workers *workers, const char *device,
                                    struct hn_error *err)
{
    struct hn_message open;
    hn_message_init(&open, "open");
    if (device != NULL)
        json_object_set_new(open.json, "device", json_string(device));
    enum hn_status status = hn_gpu_client_begin_setup(workers->gpu, &open, err);
    hn_message_finish(&open);
    return status;
}

/* The first host that may have a GPU has the one that measures. */
static enum hn_status start_hosts(struct hn_workers *workers,
                                  const struct hn_workers_options *options, struct hn_error *err)
{
    size_t first = 0;
    while (first < options->host_count && options->hosts[first].gpus == 0)
        first++;
    if (first == options->host_count)
        return hn_fail(err, HN_EUSAGE, "--workers names no host with a GPU ('gpus')");
    enum hn_status status =
        hn_hosts_start(options->hosts, options->host_count, &workers->hosts, err);
    if (status == HN_OK)
        status = hn_compile_pool_lend(workers->pool, workers->hosts, err);
    if (status == HN_OK)
        hn_gpu_client_set_host(workers->gpu, hn_hosts_at(workers->hosts, first));
    return status;
}

enum hn_status hn_workers_start(const struct hn_workers_options *options, struct hn_workers **out,
                                struct hn_error *err)
{
    struct hn_workers *workers = calloc(1, sizeof *workers);
    if (workers == NULL)
        return hn_fail_memory(err);
    enum hn_status status =
        hn_gpu_client_create(options->run_timeout_s, options->announces, &workers->gpu, err);
    if (status == HN_OK)
        status = hn_compile_pool_create(options->host_count > 0 ? 0 : options->jobs,
                                        options->compile_timeout_s, &workers->pool, err);
    if (status == HN_OK && options->host_count > 0)
        status = start_hosts(workers, options, err);
    if (status == HN_OK) {
        hn_gpu_client_set_timeline(workers->gpu, &workers->on_gpu);
        hn_compile_pool_set_timeline(workers->pool, &workers->compiling);
        hn_gpu_client_meter(workers->gpu)->whole = &workers->working;
        hn_compile_pool_meter(workers->pool)->whole = &workers->working;
        status = begin_opening(workers, options->device, err);
    }
    if (status == HN_OK)
        status = hn_compile_pool_start(workers->pool,
                                       (uint64_t)fmin(options->useful, (double)options->jobs), err);
    if (status != HN_OK) {
        hn_workers_destroy(workers);
        return status;
    }
    *out = workers;
    return HN_OK;
}

void hn_workers_destroy(struct hn_workers *workers)
{
    if (workers == NULL)
        return;
    hn_gpu_client_destroy(workers->gpu);
    hn_compile_pool_destroy(workers->pool);
    hn_hosts_destroy(workers->hosts);
    free(workers);
}

size_t hn_workers_poll_most(const struct hn_workers *workers)
{
    return hn_compile_pool_slots(workers->pool) * 2 + 3;
}

size_t hn_workers_poll(const struct hn_workers *workers, struct pollfd *fds)
{
    size_t count = hn_compile_pool_poll(workers->pool, fds);
    count += hn_gpu_client_poll(workers->gpu, fds + count);
    if (workers->hosts != NULL)
        fds[count++] = (struct pollfd){.fd = hn_hosts_wakeup(workers->hosts), .events = POLLIN};
    return count;
}

enum hn_status hn_workers_open(struct hn_workers *workers, struct hn_error *err)
{
    struct hn_message reply = {0};
    if (workers->device_known)
        return HN_OK;
    enum hn_status status = hn_gpu_client_end_setup(workers->gpu, NULL, &reply, err);
    if (status == HN_OK)
        status = hn_device_from_json(json_object_get(reply.json, "device"), &workers->device, err);
    const char *warning = json_string_value(json_object_get(reply.json, "warning"));
    snprintf(workers->warning, sizeof workers->warning, "%s", warning != NULL ? warning : "");
    hn_message_finish(&reply);
    workers->device_known = status == HN_OK;
    return status;
}

void hn_workers_end(struct hn_workers *workers)
{
    if (workers == NULL)
        return;
    hn_gpu_client_end(workers->gpu);
    hn_compile_pool_end(workers->pool);
}

void hn_workers_leave(struct hn_workers *workers)
{
    if (!workers->used) {
        workers->used = true;
        return;
    }
    hn_compile_pool_cancel(workers->pool, false);
    hn_gpu_client_set_sleep(workers->gpu, NULL, NULL);
    hn_gpu_client_leave(workers->gpu, NULL);
    workers->on_gpu.count = 0;
    workers->compiling.count = 0;
}
