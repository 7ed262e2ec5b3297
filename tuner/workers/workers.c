/* SPDX-License-Identifier: MIT */
#include "tuner/workers/workers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"

static const int sleep_limit_ms = 200;

static struct hn_card *add_card(struct hn_workers *workers, struct hn_host *host,
                                const char *selector)
{
    struct hn_card *card = hn_need(1, sizeof *card);
    card->gpu = hn_gpu_client_create(workers->run_timeout_s, host);
    card->host = host;
    if (selector != NULL)
        snprintf(card->selector, sizeof card->selector, "%s", selector);
    card->gpu->meter.whole = &workers->on_cards;
    workers->cards[workers->card_count++] = card;
    return card;
}

static size_t count_cards(const struct hn_workers *workers, const struct hn_host *host)
{
    size_t count = 0;
    for (size_t i = 0; i < workers->card_count; i++)
        count += workers->cards[i]->host == host;
    return count;
}

static void name_host(const struct hn_workers *workers, const struct hn_host *host,
                      const struct hn_host_view *view)
{
    for (size_t i = 0; i < workers->card_count; i++)
        if (workers->cards[i]->host == host && workers->cards[i]->host_name[0] == '\0')
            snprintf(workers->cards[i]->host_name, sizeof workers->cards[i]->host_name, "%.63s",
                     view->name);
}

void hn_workers_find_cards(struct hn_workers *workers)
{
    for (size_t i = 0; workers->whole == NULL && i < hn_hosts_count(workers->hosts); i++) {
        struct hn_host *host = hn_hosts_at(workers->hosts, i);
        struct hn_host_view view;
        hn_host_look(host, &view);
        if (view.state != HN_HOST_UP)
            continue;
        for (size_t n = count_cards(workers, host);
             n < (size_t)view.gpus && workers->card_count < HN_CARDS_MOST; n++) {
            char selector[24];
            snprintf(selector, sizeof selector, "%zu", n);
            add_card(workers, host, selector);
        }
        name_host(workers, host, &view);
    }
}

/* A card of each host that may have one: how many there are is known later. */
static void start_hosts(struct hn_workers *workers, const struct hn_workers_options *options,
                        struct hn_error *err)
{
    if (hn_hosts_start(options->hosts, options->host_count, &workers->hosts, err) != HN_OK)
        return;
    hn_compile_pool_lend(workers->pool, workers->hosts);
    for (size_t i = 0; i < options->host_count; i++)
        if (options->hosts[i].gpus != 0)
            add_card(workers, hn_hosts_at(workers->hosts, i), "0");
    if (workers->card_count == 0)
        hn_fail(err, HN_EUSAGE, "--workers names no host with a GPU ('gpus')");
}

static void start_cards(struct hn_workers *workers, const struct hn_workers_options *options,
                        struct hn_error *err)
{
    struct hn_client *client = hn_compile_pool_client(workers->pool);
    struct hn_gpu_result result;
    if (hn_failed(err))
        return;
    workers->lead = workers->cards[0];
    workers->lead->gpu->timeline = &workers->on_gpu;
    client->timeline = &workers->compiling;
    client->meter.whole = &workers->working;
    /* The driver takes its time. */
    if (!options->divided && hn_card_open(workers->lead, err) == HN_OK)
        hn_gpu_client_process(workers->lead->gpu, &result, err);
    if (!hn_failed(err))
        hn_compile_pool_start(workers->pool, (uint64_t)fmin(options->useful, (double)options->jobs),
                              err);
}

static int make_event(struct hn_error *err)
{
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0)
        hn_fail(err, HN_ERUN, "eventfd: %s", strerror(errno));
    return event;
}

enum hn_status hn_workers_start(const struct hn_workers_options *options, struct hn_workers **out,
                                struct hn_error *err)
{
    bool elsewhere = options->host_count > 0;
    struct hn_workers *workers = hn_need(1, sizeof *workers);
    hn_error_init(err);
    workers->run_timeout_s = options->run_timeout_s;
    workers->on_cards.whole = &workers->working;
    workers->wakeup = -1;
    workers->pool = hn_compile_pool_create(elsewhere ? 0 : options->jobs,
                                           options->compile_timeout_s, HN_COMPILE_START_S);
    if (options->divided) {
        workers->lock = hn_need(1, sizeof *workers->lock);
        pthread_mutex_init(workers->lock, NULL);
        workers->wakeup = make_event(err);
    }
    if (elsewhere && !hn_failed(err))
        start_hosts(workers, options, err);
    else if (!elsewhere)
        add_card(workers, NULL, options->device)->gpu->announces = options->announces;
    start_cards(workers, options, err);
    if (hn_failed(err))
        hn_workers_destroy(workers);
    else
        *out = workers;
    return err->status;
}

void hn_workers_destroy(struct hn_workers *workers)
{
    if (workers == NULL)
        return;
    for (size_t i = 0; i < workers->card_count; i++) {
        struct hn_card *card = workers->cards[i];
        if (workers->whole != NULL) {
            card->gpu->timeline = NULL;
            card->gpu->meter.whole = NULL;
            continue;
        }
        hn_gpu_client_destroy(card->gpu);
        free(card);
    }
    hn_compile_pool_destroy(workers->pool);
    if (workers->whole == NULL) {
        hn_hosts_destroy(workers->hosts);
        free(workers->lock);
    }
    if (workers->wakeup >= 0)
        close(workers->wakeup);
    free(workers->fds);
    free(workers);
}

void hn_workers_lock(const struct hn_workers *workers)
{
    if (workers->lock != NULL)
        pthread_mutex_lock(workers->lock);
}

void hn_workers_unlock(const struct hn_workers *workers)
{
    if (workers->lock != NULL)
        pthread_mutex_unlock(workers->lock);
}

static int earlier(int a, int b)
{
    if (a < 0)
        return b;
    return b < 0 || a < b ? a : b;
}

bool hn_workers_sleep(struct hn_workers *workers, int timeout_ms)
{
    bool whole = workers->whole == NULL;
    const size_t most = whole ? hn_compile_pool_slots(workers->pool) * 2 : 0;
    const size_t card_count = workers->card_count;
    if (workers->fds == NULL)
        workers->fds = hn_need(most + 2 + 2 * (workers->hosts != NULL ? HN_CARDS_MOST : card_count),
                               sizeof(struct pollfd));
    struct pollfd *fds = workers->fds;
    size_t count = 2;
    fds[0] = (struct pollfd){.fd = workers->wakeup, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = whole && workers->hosts != NULL ? hn_hosts_wakeup(workers->hosts)
                                                                   : -1,
                             .events = POLLIN};
    if (whole) {
        count += hn_compile_pool_poll(workers->pool, fds + count);
        timeout_ms = earlier(timeout_ms, hn_compile_pool_timeout_ms(workers->pool));
    }
    for (size_t i = 0; i < card_count; i++) {
        struct hn_gpu_client *gpu = workers->cards[i]->gpu;
        if (whole && workers->cards[i]->away)
            continue;
        count += hn_process_poll(&gpu->process, fds + count);
        timeout_ms = earlier(timeout_ms, hn_gpu_client_timeout_ms(gpu));
    }
    hn_workers_unlock(workers);
    bool polled = poll(fds, count, timeout_ms) >= 0;
    hn_workers_lock(workers);
    bool woken = fds[whole ? 1 : 0].revents != 0;
    for (int i = 0; i < 2; i++)
        if (fds[i].fd >= 0)
            hn_event_clear(fds[i].fd);
    /* In the order in which they were gathered. */
    count = 2;
    if (polled && whole)
        count += hn_compile_pool_polled(workers->pool, fds + count);
    for (size_t i = 0; polled && i < card_count; i++)
        if (!whole || !workers->cards[i]->away)
            count += hn_process_polled(&workers->cards[i]->gpu->process, fds + count);
    return woken;
}

bool hn_card_is_none(const struct hn_card *card)
{
    struct hn_host_view view;
    if (card->host == NULL)
        return false;
    hn_host_look(card->host, &view);
    return view.state == HN_HOST_UP && view.gpus == 0;
}

static void make_opening(const struct hn_card *card, struct hn_message *open)
{
    hn_message_init(open, "open");
    if (card->selector[0] != '\0')
        json_object_set_new(open->json, "device", json_string(card->selector));
}

enum hn_status hn_card_open(struct hn_card *card, struct hn_error *err)
{
    struct hn_message open;
    make_opening(card, &open);
    enum hn_status status = hn_gpu_client_request(card->gpu, &open, 120, err);
    hn_message_finish(&open);
    return status;
}

enum hn_status hn_card_take_opened(struct hn_card *card, struct hn_gpu_result *result,
                                   struct hn_error *err)
{
    struct hn_message open, context;
    if (result->end != HN_GPU_REPLY)
        return hn_fail(err, HN_ERUN, "%s", result->text);
    const json_t *reply = result->message.json;
    const char *warning = json_string_value(json_object_get(reply, "warning"));
    snprintf(card->warning, sizeof card->warning, "%s", warning != NULL ? warning : "");
    enum hn_status status =
        hn_device_from_json(json_object_get(reply, "device"), &card->device, err);
    hn_message_finish(&result->message);
    if (status != HN_OK)
        return status;
    make_opening(card, &open);
    hn_message_init(&context, "context");
    hn_gpu_client_keep(card->gpu, &open, "open", true);
    hn_gpu_client_keep(card->gpu, &context, "context", false);
    hn_message_finish(&open);
    hn_message_finish(&context);
    card->known = true;
    return HN_OK;
}

void hn_card_refuse(struct hn_card *card, const char *reason)
{
    struct hn_host_view view;
    hn_host_look(card->host, &view);
    if (view.state == HN_HOST_UP && view.gpus > 0)
        snprintf(card->refusal, sizeof card->refusal, "%.390s", reason);
    hn_gpu_client_drop(card->gpu);
}

bool hn_workers_open_lead(struct hn_workers *workers, struct hn_error *err)
{
    struct hn_card *lead = workers->lead;
    struct hn_gpu_result result;
    size_t next = 0;
    if (hn_failed(err) || lead->known)
        return lead->known;
    if (hn_gpu_client_process(lead->gpu, &result, err) == HN_OK) {
        if (result.end == HN_GPU_NOTHING)
            return false;
        hn_card_take_opened(lead, &result, err);
    }
    while (workers->cards[next++] != lead)
        continue;
    if (!hn_failed(err) || next == workers->card_count)
        return lead->known;
    hn_card_refuse(lead, err->message);
    workers->lead = workers->cards[next];
    workers->lead->gpu->timeline = &workers->on_gpu;
    hn_error_init(err);
    hn_card_open(workers->lead, err);
    return false;
}

enum hn_status hn_workers_open(struct hn_workers *workers, struct hn_error *err)
{
    hn_error_init(err);
    while (!hn_workers_open_lead(workers, err) && !hn_failed(err)) {
        hn_workers_sleep(workers, sleep_limit_ms);
        hn_interrupt_check(err);
    }
    return err->status;
}

void hn_workers_end(struct hn_workers *workers)
{
    if (workers == NULL)
        return;
    for (size_t i = 0; i < workers->card_count; i++)
        hn_process_end(&workers->cards[i]->gpu->process);
    hn_compile_pool_end(workers->pool);
}

static void leave_cards(struct hn_workers *workers)
{
    const size_t count = workers->card_count;
    for (size_t i = 0; i < count; i++)
        hn_gpu_client_leave(workers->cards[i]->gpu);
    for (bool waits = true; waits;) {
        waits = false;
        for (size_t i = 0; i < count; i++) {
            struct hn_gpu_client *gpu = workers->cards[i]->gpu;
            struct hn_gpu_result result;
            struct hn_error reason;
            if (!hn_gpu_client_busy(gpu))
                continue;
            hn_gpu_client_process(gpu, &result, &reason);
            if (result.end == HN_GPU_REPLY)
                hn_message_finish(&result.message);
            else if (hn_failed(&reason) || result.end != HN_GPU_NOTHING || hn_interrupted() != 0)
                hn_gpu_client_drop(gpu);
            waits = waits || hn_gpu_client_busy(gpu);
        }
        if (waits)
            hn_workers_sleep(workers, sleep_limit_ms);
    }
}

void hn_workers_leave(struct hn_workers *workers)
{
    if (workers->used) {
        hn_compile_pool_forget(workers->pool, HN_RANK_SETUP, false);
        leave_cards(workers);
        workers->on_gpu.count = 0;
        workers->compiling.count = 0;
    }
    workers->used = true;
}

enum hn_status hn_workers_share(struct hn_workers *workers, struct hn_card *lead,
                                struct hn_workers **out, struct hn_error *err)
{
    hn_error_init(err);
    int wakeup = make_event(err);
    if (hn_failed(err))
        return err->status;
    struct hn_workers *share = hn_need(1, sizeof *share);
    *share =
        (struct hn_workers){.hosts = workers->hosts,
                            .pool = hn_compile_pool_share(workers->pool, wakeup, workers->wakeup),
                            .lead = lead,
                            .on_cards = {.whole = &share->working},
                            .run_timeout_s = workers->run_timeout_s,
                            .lock = workers->lock,
                            .wakeup = wakeup,
                            .whole = workers};
    struct hn_client *client = hn_compile_pool_client(share->pool);
    client->meter.whole = &share->working;
    client->timeline = &share->compiling;
    lead->gpu->timeline = &share->on_gpu;
    hn_workers_give(share, lead);
    *out = share;
    return HN_OK;
}

void hn_workers_give(struct hn_workers *share, struct hn_card *card)
{
    card->away = true;
    card->gpu->meter.whole = &share->on_cards;
    share->cards[share->card_count++] = card;
    hn_event_signal(share->wakeup);
}

void hn_workers_end_share(struct hn_workers *share)
{
    leave_cards(share);
    hn_event_signal(share->whole->wakeup);
}
