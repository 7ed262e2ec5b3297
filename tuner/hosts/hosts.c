/* SPDX-License-Identifier: MIT */
#include "tuner/hosts/hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"
#include "tuner/hosts/hosts_part.h"

/* Limits and beats are looked at so often. */
static const int sleep_limit_ms = 250;
/* Launchers that were told to end have so long for it. */
static const int end_limit_ms = 500;

void hn_hosts_wake(struct hn_hosts *hosts)
{
    hn_event_signal(hosts->wake);
}

void hn_hosts_tell_owner(struct hn_hosts *hosts)
{
    hn_event_signal(hosts->wakeup);
}

/* Milliseconds until a launcher is tried again. */
static int next_launch_ms(const struct hn_hosts *hosts, double now_ms)
{
    int least = sleep_limit_ms;
    for (size_t i = 0; i < hosts->count; i++) {
        const struct hn_host *host = &hosts->items[i];
        double left = host->retry_ms - now_ms;
        if (host->state == HN_HOST_STARTING && host->launcher.pid == 0 && left < least)
            least = left > 0 ? (int)left + 1 : 0;
    }
    return least;
}

static size_t gather_descriptors(struct hn_hosts *hosts)
{
    size_t most = 1;
    size_t count = 0;
    for (size_t i = 0; i < hosts->count; i++)
        most += hn_host_poll_most(&hosts->items[i]);
    if (most > hosts->fd_capacity) {
        hosts->fd_capacity = 2 * most;
        hosts->fds = hn_need_more(hosts->fds, hosts->fd_capacity, sizeof *hosts->fds);
    }
    hosts->fds[count++] = (struct pollfd){.fd = hosts->wake, .events = POLLIN};
    for (size_t i = 0; i < hosts->count; i++)
        count += hn_host_poll(&hosts->items[i], hosts->fds + count);
    return count;
}

/* An agent ends when its streams are closed, and with it what launched it. By this thread: whoever
 * was started by it may ask to be killed when it ends. */
static void end_launchers(struct hn_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        hn_link_finish(&hosts->items[i].link);
    for (int waited = 0; waited < end_limit_ms; waited += 5) {
        bool any = false;
        for (size_t i = 0; i < hosts->count; i++) {
            struct hn_process *launcher = &hosts->items[i].launcher;
            if (launcher->pid > 0 && waitpid(launcher->pid, NULL, WNOHANG) == launcher->pid)
                launcher->pid = 0;
            any = any || launcher->pid > 0;
        }
        if (!any)
            return;
        usleep(5000);
    }
}

static void *relay(void *pointer)
{
    struct hn_hosts *hosts = pointer;
    pthread_mutex_lock(&hosts->lock);
    while (!hosts->ends) {
        for (size_t i = 0; i < hosts->count; i++)
            hn_host_move(&hosts->items[i], hn_now_ms());
        int timeout = next_launch_ms(hosts, hn_now_ms());
        size_t count = gather_descriptors(hosts);
        pthread_mutex_unlock(&hosts->lock);
        poll(hosts->fds, count, timeout);
        hn_event_clear(hosts->wake);
        pthread_mutex_lock(&hosts->lock);
    }
    end_launchers(hosts);
    pthread_mutex_unlock(&hosts->lock);
    return NULL;
}

static void init_host(struct hn_hosts *hosts, struct hn_host *host,
                      const struct hn_host_options *options)
{
    hn_host_init(host, hosts);
    host->run = hn_need_copy(options->run);
    host->hone = hn_need_copy(options->hone);
    host->gpus_wanted = options->gpus;
    host->compile_wanted = options->compile;
    host->installs = options->install;
}

static void free_hosts(struct hn_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        hn_host_finish(&hosts->items[i]);
    if (hosts->wake >= 0)
        close(hosts->wake);
    if (hosts->wakeup >= 0)
        close(hosts->wakeup);
    pthread_mutex_destroy(&hosts->lock);
    free(hosts->items);
    free(hosts->fds);
    free(hosts);
}

enum hn_status hn_hosts_start(const struct hn_host_options *options, size_t count,
                              struct hn_hosts **out, struct hn_error *err)
{
    struct hn_hosts *hosts = hn_need(1, sizeof *hosts);
    hn_error_init(err);
    pthread_mutex_init(&hosts->lock, NULL);
    hosts->count = count;
    hosts->items = hn_need(count, sizeof *hosts->items);
    hosts->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    hosts->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (hosts->wake < 0 || hosts->wakeup < 0)
        hn_fail(err, HN_ERUN, "eventfd: %s", strerror(errno));
    for (size_t i = 0; i < count; i++)
        init_host(hosts, &hosts->items[i], &options[i]);
    int failure = hn_failed(err) ? 0 : hn_thread_start(&hosts->thread, relay, hosts);
    if (failure != 0)
        hn_fail(err, HN_ERUN, "a thread can not be started: %s", strerror(failure));
    if (hn_failed(err))
        free_hosts(hosts);
    else
        *out = hosts;
    return err->status;
}

void hn_hosts_destroy(struct hn_hosts *hosts)
{
    if (hosts == NULL)
        return;
    pthread_mutex_lock(&hosts->lock);
    hosts->ends = true;
    pthread_mutex_unlock(&hosts->lock);
    hn_hosts_wake(hosts);
    pthread_join(hosts->thread, NULL);
    free_hosts(hosts);
}

size_t hn_hosts_count(const struct hn_hosts *hosts)
{
    return hosts != NULL ? hosts->count : 0;
}

struct hn_host *hn_hosts_at(struct hn_hosts *hosts, size_t i)
{
    return &hosts->items[i];
}

int hn_hosts_wakeup(const struct hn_hosts *hosts)
{
    return hosts->wakeup;
}
