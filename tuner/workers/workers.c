/* SPDX-License-Identifier: MIT */
#include "tuner/workers/workers.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"

static const int sleep_limit_ms = 200;
/* A search has so many compilations under way at first. */
static const int first_compilations = 16;

static struct hn_card *add_card(struct hn_workers *workers, struct hn_host *host,
                                const char *selector)
{
    struct hn_card *card = hn_card_create(workers->run_timeout_s, host, selector);
    card->meter.whole = &workers->on_cards;
    workers->cards[workers->card_count++] = card;
    return card;
}

/* The cards of a host that has said how many it has. Returns whether it has, or never will. */
static bool find_cards(struct hn_workers *workers, struct hn_host *host)
{
    struct hn_host_view view;
    size_t known = 0;
    hn_host_look(host, &view);
    if (view.state != HN_HOST_UP)
        return view.state == HN_HOST_OUT;
    for (size_t n = 0; n < workers->card_count; n++)
        known += workers->cards[n]->host == host;
    for (; known < (size_t)view.gpus && workers->card_count < HN_CARDS_MOST; known++) {
        char selector[24];
        snprintf(selector, sizeof selector, "%zu", known);
        add_card(workers, host, selector);
    }
    for (size_t n = 0; n < workers->card_count; n++) {
        struct hn_card *card = workers->cards[n];
        if (card->host == host && card->host_name[0] == '\0')
            snprintf(card->host_name, sizeof card->host_name, "%.63s", view.name);
    }
    return true;
}

void hn_workers_refuse(struct hn_workers *workers, struct hn_card *card, const char *format, ...)
{
    struct hn_host_view view;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(workers->refusal, sizeof workers->refusal, format, arguments);
    va_end(arguments);
    hn_host_look(card->host, &view);
    if (view.state == HN_HOST_UP && view.gpus > 0)
        snprintf(card->refusal, sizeof card->refusal, "%.390s", workers->refusal);
    hn_card_drop(card);
    card->out = true;
}

/* The same card as another, by another name; NULL: it is none. */
static const struct hn_card *find_twin(const struct hn_workers *workers, const struct hn_card *card)
{
    for (size_t i = 0; i < workers->card_count; i++) {
        const struct hn_card *other = workers->cards[i];
        if (other != card && other->known && !other->out &&
            strcmp(other->device.uuid, card->device.uuid) == 0)
            return other;
    }
    return NULL;
}

static void open_card(struct hn_workers *workers, struct hn_card *card)
{
    struct hn_host_view view;
    struct hn_error err;
    hn_host_look(card->host, &view);
    hn_error_init(&err);
    if (!card->requested && view.state == HN_HOST_OUT)
        hn_fail(&err, HN_ERUN, "the GPU's host %s is left out: %s", view.name, view.reason);
    else if (!card->requested && view.state == HN_HOST_UP && view.gpus == 0)
        hn_fail(&err, HN_ERUN, "host %s has no GPU", view.name);
    else if (card->requested || hn_card_is_reachable(card))
        hn_card_open(card, &err);
    const struct hn_card *twin = card->known ? find_twin(workers, card) : NULL;
    if (hn_failed(&err))
        hn_workers_refuse(workers, card, "%s", err.message);
    else if (twin != NULL)
        hn_workers_refuse(workers, card, "it is named twice: it is a card of host %s too",
                          twin->host_name);
}

bool hn_workers_open_cards(struct hn_workers *workers)
{
    bool done = true;
    for (size_t i = 0; i < hn_hosts_count(workers->hosts); i++)
        done = find_cards(workers, hn_hosts_at(workers->hosts, i)) && done;
    for (size_t i = 0; i < workers->card_count; i++) {
        struct hn_card *card = workers->cards[i];
        if (!card->known && !card->out)
            open_card(workers, card);
        done = done && (card->known || card->out);
    }
    return done;
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
    workers->pool = hn_compile_pool_create(elsewhere ? 0 : options->jobs,
                                           options->compile_timeout_s, HN_COMPILE_START_S);
    if (options->divided) {
        workers->lock = hn_need(1, sizeof *workers->lock);
        pthread_mutex_init(workers->lock, NULL);
        workers->pool->wakeup = make_event(err);
    }
    if (!elsewhere)
        add_card(workers, NULL, options->device)->announces = options->announces;
    else if (!hn_failed(err) &&
             hn_hosts_start(options->hosts, options->host_count, &workers->hosts, err) == HN_OK)
        hn_compile_pool_lend(workers->pool, workers->hosts);
    /* A card of each host that may have one: how many there are is known later. */
    for (size_t i = 0; elsewhere && !hn_failed(err) && i < options->host_count; i++)
        if (options->hosts[i].gpus != 0)
            add_card(workers, hn_hosts_at(workers->hosts, i), "0");
    if (!hn_failed(err) && workers->card_count == 0)
        hn_fail(err, HN_EUSAGE, "--workers names no host with a GPU ('gpus')");
    if (hn_failed(err)) {
        hn_workers_destroy(workers);
        return err->status;
    }
    workers->lead = workers->cards[0];
    workers->lead->timeline = &workers->on_gpu;
    workers->pool->timeline = &workers->compiling;
    workers->pool->meter.whole = &workers->working;
    /* The driver takes its time. */
    if (!options->divided)
        hn_card_open(workers->lead, err);
    workers->pool->early =
        (int)fmin(options->useful, elsewhere ? first_compilations : options->jobs);
    /* Hosts are not there yet. */
    if (!hn_failed(err) && !elsewhere && workers->pool->early > 0)
        hn_compile_pool_process(workers->pool, err);
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
            card->timeline = NULL;
            card->meter.whole = NULL;
            card->away = false;
            continue;
        }
        hn_card_destroy(card);
    }
    int wakeup = workers->pool->wakeup;
    hn_compile_pool_destroy(workers->pool);
    if (workers->whole == NULL) {
        hn_hosts_destroy(workers->hosts);
        free(workers->lock);
    }
    if (wakeup >= 0)
        close(wakeup);
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

/* Where they are divided, whoever has the whole hears nothing of a card that is a share's, or waits
 * for one. */
static bool is_elsewhere(const struct hn_workers *workers, const struct hn_card *card)
{
    return workers->lock != NULL && card->known;
}

bool hn_workers_sleep(struct hn_workers *workers, int timeout_ms)
{
    bool whole = workers->whole == NULL;
    const size_t most = whole ? hn_compile_pool_poll(workers->pool, NULL) : 0;
    const size_t card_count = workers->card_count;
    if (workers->fds == NULL)
        workers->fds = hn_need(most + 2 + 2 * (workers->hosts != NULL ? HN_CARDS_MOST : card_count),
                               sizeof(struct pollfd));
    struct pollfd *fds = workers->fds;
    size_t count = 2;
    fds[0] = (struct pollfd){.fd = workers->pool->wakeup, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = whole && workers->hosts != NULL ? hn_hosts_wakeup(workers->hosts)
                                                                   : -1,
                             .events = POLLIN};
    if (whole) {
        count += hn_compile_pool_poll(workers->pool, fds + count);
        timeout_ms = earlier(timeout_ms, hn_compile_pool_timeout_ms(workers->pool));
    }
    for (size_t i = 0; i < card_count; i++) {
        struct hn_card *card = workers->cards[i];
        if (whole && is_elsewhere(workers, card))
            continue;
        count += hn_process_poll(&card->process, fds + count);
        timeout_ms = earlier(timeout_ms, hn_card_timeout_ms(card));
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
        if (!whole || !is_elsewhere(workers, workers->cards[i]))
            count += hn_process_polled(&workers->cards[i]->process, fds + count);
    return woken;
}

bool hn_workers_open_lead(struct hn_workers *workers, struct hn_error *err)
{
    struct hn_card *lead = workers->lead;
    size_t next = 0;
    if (hn_failed(err) || hn_card_open(lead, err) || !hn_failed(err))
        return lead->known;
    while (workers->cards[next++] != lead)
        continue;
    if (next == workers->card_count)
        return false;
    hn_workers_refuse(workers, lead, "%s", err->message);
    workers->lead = workers->cards[next];
    workers->lead->timeline = &workers->on_gpu;
    hn_error_init(err);
    return hn_workers_open_lead(workers, err);
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
        hn_process_end(&workers->cards[i]->process);
    hn_compile_pool_end(workers->pool);
}

static void leave_cards(struct hn_workers *workers)
{
    const size_t count = workers->card_count;
    for (size_t i = 0; i < count; i++)
        hn_card_leave(workers->cards[i]);
    for (bool waits = true; waits;) {
        waits = false;
        for (size_t i = 0; i < count; i++) {
            struct hn_card *card = workers->cards[i];
            struct hn_gpu_result result;
            struct hn_error reason;
            if (!card->requested)
                continue;
            hn_error_init(&reason);
            hn_card_process(card, &result, &reason);
            hn_message_finish(&result.message);
            if (hn_failed(&reason) || result.end > HN_GPU_REPLY || hn_interrupted() != 0)
                hn_card_drop(card);
            waits = waits || card->requested;
        }
        if (waits)
            hn_workers_sleep(workers, sleep_limit_ms);
    }
}

/* What is under way counts from now on. */
static void restart(struct hn_meter *meter)
{
    meter->total_ms = 0;
    meter->since_ms = hn_now_ms();
}

void hn_workers_leave(struct hn_workers *workers)
{
    restart(&workers->on_cards);
    restart(&workers->working);
    restart(&workers->pool->meter);
    workers->pool->cpu_ms = 0;
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
    *share = (struct hn_workers){.hosts = workers->hosts,
                                 .pool = hn_compile_pool_share(workers->pool, wakeup),
                                 .lead = lead,
                                 .on_cards = {.whole = &share->working},
                                 .run_timeout_s = workers->run_timeout_s,
                                 .lock = workers->lock,
                                 .whole = workers};
    share->pool->meter.whole = &share->working;
    share->pool->timeline = &share->compiling;
    lead->timeline = &share->on_gpu;
    hn_workers_give(share, lead);
    *out = share;
    return HN_OK;
}

void hn_workers_give(struct hn_workers *share, struct hn_card *card)
{
    card->away = true;
    card->meter.whole = &share->on_cards;
    share->cards[share->card_count++] = card;
    hn_event_signal(share->pool->wakeup);
}

void hn_meter_begin(struct hn_meter *meter, double now_ms)
{
    for (; meter != NULL; meter = meter->whole) {
        if (meter->active == 0)
            meter->since_ms = now_ms;
        meter->active++;
    }
}

void hn_meter_end(struct hn_meter *meter, double now_ms)
{
    for (; meter != NULL; meter = meter->whole) {
        meter->active--;
        if (meter->active == 0)
            meter->total_ms += now_ms - meter->since_ms;
    }
}

double hn_meter_total_ms(const struct hn_meter *meter, double now_ms)
{
    return meter->total_ms + (meter->active > 0 ? now_ms - meter->since_ms : 0);
}

void hn_timeline_add(struct hn_timeline *timeline, const char *what, double from_ms, double to_ms)
{
    struct hn_span *last = timeline->count > 0 ? &timeline->spans[timeline->count - 1] : NULL;
    bool full = timeline->count == HN_TIMELINE_LIMIT;
    if (last != NULL && (full || strcmp(last->what, what) == 0)) {
        last->from_ms = fmin(last->from_ms, from_ms);
        last->to_ms = fmax(last->to_ms, to_ms);
        last->count++;
        last->busy_ms += to_ms - from_ms;
        return;
    }
    struct hn_span *span = &timeline->spans[timeline->count++];
    *span = (struct hn_span){
        .from_ms = from_ms, .to_ms = to_ms, .count = 1, .busy_ms = to_ms - from_ms};
    snprintf(span->what, sizeof span->what, "%s", what);
}
