/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"
#include "tuner/workers/workers.h"

static const int sleep_limit_ms = 200;
/* A search has so many compilations under way at first. */
static const uint64_t first_compilations = 16;
/* So long does a card wait for those before it, so that the first of the list leads, and not
 * whoever was quickest. */
static const double order_ms = 1000;

enum state {
    CARD_NEW,
    CARD_OPENING,
    CARD_IDLE,
    CARD_AT_WORK, /* a crew's: nothing of it but its name is to be looked at */
    CARD_OUT,
};

struct hn_crews {
    struct hn_workers *workers;
    enum state states[HN_CARDS_MOST]; /* of the workers' cards */
    double known_ms[HN_CARDS_MOST];
    struct hn_workers *items[HN_CARDS_MOST];
    size_t count;
    char refusal[900];
};

enum hn_status hn_crews_create(struct hn_workers *workers, struct hn_crews **out,
                               struct hn_error *err)
{
    workers->left = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (workers->left < 0)
        return hn_fail(err, HN_ERUN, "eventfd: %s", strerror(errno));
    struct hn_crews *crews = hn_need(1, sizeof *crews);
    crews->workers = workers;
    *out = crews;
    return HN_OK;
}

void hn_crews_destroy(struct hn_crews *crews)
{
    if (crews == NULL)
        return;
    close(crews->workers->left);
    crews->workers->left = -1;
    free(crews);
}

static size_t number_of(const struct hn_crews *crews, const struct hn_card *card)
{
    size_t i = 0;
    while (crews->workers->cards[i] != card)
        i++;
    return i;
}

void hn_crews_refuse(struct hn_crews *crews, const struct hn_card *refused, const char *reason)
{
    size_t i = number_of(crews, refused);
    snprintf(crews->refusal, sizeof crews->refusal, "%s", reason);
    hn_card_refuse(crews->workers->cards[i], reason);
    crews->states[i] = CARD_OUT;
}

const char *hn_crews_refusal(const struct hn_crews *crews)
{
    return crews->refusal;
}

static bool is_lost(const struct hn_card *card, struct hn_host_view *view)
{
    hn_host_look(card->host, view);
    return view->state == HN_HOST_OUT;
}

static void begin(struct hn_crews *crews, size_t i, struct hn_error *err)
{
    struct hn_card *card = crews->workers->cards[i];
    struct hn_host_view view;
    char reason[sizeof crews->refusal];
    if (is_lost(card, &view)) {
        snprintf(reason, sizeof reason, "the GPU's host %s is left out: %s", view.name,
                 view.reason);
        hn_crews_refuse(crews, card, reason);
    } else if (hn_gpu_client_reachable(card->gpu) && hn_card_is_none(card)) {
        snprintf(reason, sizeof reason, "host %s has no GPU", view.name);
        hn_crews_refuse(crews, card, reason);
    } else if (hn_gpu_client_reachable(card->gpu)) {
        crews->states[i] = CARD_OPENING;
        hn_card_open(card, err);
    }
}

/* The same card as another, by another name; NULL: it is none. */
static const struct hn_card *find_twin(const struct hn_crews *crews, const struct hn_card *card)
{
    for (size_t i = 0; i < crews->workers->card_count; i++) {
        const struct hn_card *other = crews->workers->cards[i];
        if (other != card && other->known && crews->states[i] != CARD_OUT &&
            strcmp(other->device.uuid, card->device.uuid) == 0)
            return other;
    }
    return NULL;
}

static void take_opened(struct hn_crews *crews, size_t i, struct hn_gpu_result *result)
{
    struct hn_card *card = crews->workers->cards[i];
    struct hn_error err = {.message = ""};
    char reason[200];
    enum hn_status status = hn_card_take_opened(card, result, &err);
    const struct hn_card *twin = status == HN_OK ? find_twin(crews, card) : NULL;
    crews->states[i] = CARD_IDLE;
    crews->known_ms[i] = hn_now_ms();
    if (status != HN_OK)
        hn_crews_refuse(crews, card, err.message);
    if (twin == NULL)
        return;
    snprintf(reason, sizeof reason, "it is named twice: it is a card of host %.63s too",
             twin->host_name);
    hn_crews_refuse(crews, card, reason);
}

static void move_card(struct hn_crews *crews, size_t i, struct hn_error *err)
{
    struct hn_card *card = crews->workers->cards[i];
    struct hn_gpu_result result;
    struct hn_host_view view;
    struct hn_error reason;
    switch (crews->states[i]) {
    case CARD_NEW:
        begin(crews, i, err);
        break;
    case CARD_OPENING:
        if (hn_gpu_client_process(card->gpu, &result, &reason) != HN_OK)
            hn_crews_refuse(crews, card, reason.message);
        else if (result.end != HN_GPU_NOTHING)
            take_opened(crews, i, &result);
        break;
    case CARD_IDLE:
        if (is_lost(card, &view))
            crews->states[i] = CARD_OUT;
        break;
    case CARD_AT_WORK:
    case CARD_OUT:
        break;
    }
}

enum hn_status hn_crews_move(struct hn_crews *crews, struct hn_error *err)
{
    struct hn_workers *workers = crews->workers;
    char nvrtc[16];
    hn_error_init(err);
    hn_workers_find_cards(workers);
    /* They load NVRTC while the driver comes up, and say which it is, which searches wait for. */
    if (crews->count == 0 || !hn_compile_pool_nvrtc(workers->pool, nvrtc))
        hn_compile_pool_start(workers->pool, first_compilations, err);
    if (!hn_failed(err))
        hn_compile_pool_process(workers->pool, err);
    for (size_t i = 0; !hn_failed(err) && i < workers->card_count; i++)
        move_card(crews, i, err);
    return err->status;
}

void hn_crews_sleep(struct hn_crews *crews)
{
    struct hn_workers *workers = crews->workers;
    for (size_t i = 0; i < workers->card_count; i++)
        workers->cards[i]->away = crews->states[i] != CARD_OPENING;
    if (hn_workers_sleep(workers, sleep_limit_ms))
        for (size_t i = 0; i < crews->count; i++)
            hn_event_signal(crews->items[i]->wakeup);
}

size_t hn_crews_card_count(const struct hn_crews *crews)
{
    return crews->workers->card_count;
}

static bool waits_for_others(const struct hn_crews *crews, size_t i)
{
    bool early = hn_now_ms() - crews->known_ms[i] < order_ms;
    for (size_t n = 0; early && n < i; n++)
        if (crews->states[n] == CARD_NEW || crews->states[n] == CARD_OPENING)
            return true;
    return false;
}

struct hn_card *hn_crews_idle(const struct hn_crews *crews, size_t i)
{
    struct hn_card *card = crews->workers->cards[i];
    bool idle = crews->states[i] == CARD_IDLE && hn_gpu_client_reachable(card->gpu);
    return idle && !waits_for_others(crews, i) ? card : NULL;
}

bool hn_crews_may_come(const struct hn_crews *crews)
{
    for (size_t i = 0; i < crews->workers->card_count; i++)
        if (crews->states[i] == CARD_NEW || crews->states[i] == CARD_OPENING)
            return true;
    return false;
}

bool hn_crews_remain(const struct hn_crews *crews)
{
    for (size_t i = 0; i < crews->workers->card_count; i++)
        if (crews->states[i] == CARD_IDLE || crews->states[i] == CARD_AT_WORK)
            return true;
    return false;
}

static void join(struct hn_crews *crews, struct hn_workers *crew, struct hn_card *card)
{
    crews->states[number_of(crews, card)] = CARD_AT_WORK;
    pthread_mutex_lock(&crew->lock);
    crew->joining[crew->joining_count++] = card;
    pthread_mutex_unlock(&crew->lock);
    hn_event_signal(crew->wakeup);
}

enum hn_status hn_crew_start(struct hn_crews *crews, struct hn_card *card, struct hn_workers **out,
                             struct hn_error *err)
{
    hn_error_init(err);
    int wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wakeup < 0)
        return hn_fail(err, HN_ERUN, "eventfd: %s", strerror(errno));
    struct hn_compile_pool *pool = hn_compile_pool_share(crews->workers->pool, wakeup, err);
    if (pool == NULL) {
        close(wakeup);
        return err->status;
    }
    struct hn_workers *crew = hn_need(1, sizeof *crew);
    struct hn_client *client = hn_compile_pool_client(pool);
    pthread_mutex_init(&crew->lock, NULL);
    crew->wakeup = wakeup;
    crew->left = -1;
    crew->pool = pool;
    crew->hosts = crews->workers->hosts;
    crew->run_timeout_s = crews->workers->run_timeout_s;
    crew->lead = card;
    crew->on_cards = (struct hn_meter){.whole = &crew->working, .lock = &crew->lock};
    crew->working.lock = &crew->lock;
    client->meter = crew->on_cards;
    client->timeline = &crew->compiling;
    card->gpu->timeline = &crew->on_gpu;
    crews->items[crews->count++] = crew;
    join(crews, crew, card);
    /* Before its thread is there. */
    hn_workers_find_cards(crew);
    *out = crew;
    return HN_OK;
}

void hn_crew_join(struct hn_crews *crews, struct hn_workers *crew, struct hn_card *card)
{
    join(crews, crew, card);
}

void hn_crew_leave(struct hn_workers *crew)
{
    hn_workers_find_cards(crew);
    for (size_t i = 0; i < crew->card_count; i++) {
        struct hn_gpu_client *gpu = crew->cards[i]->gpu;
        hn_gpu_client_leave(gpu);
        gpu->timeline = NULL;
        gpu->meter.whole = NULL;
    }
}

void hn_crews_wake(const struct hn_crews *crews)
{
    hn_event_signal(crews->workers->left);
}

void hn_crew_end(struct hn_crews *crews, struct hn_workers *crew, bool *lost)
{
    struct hn_host_view view;
    size_t at = 0;
    *lost = is_lost(crew->lead, &view) || crew->lead->refusal[0] != '\0';
    hn_workers_find_cards(crew);
    for (size_t i = 0; i < crew->card_count; i++) {
        const struct hn_card *card = crew->cards[i];
        crews->states[number_of(crews, card)] = card->refusal[0] == '\0' ? CARD_IDLE : CARD_OUT;
        card->gpu->meter.whole = NULL;
    }
    while (crews->items[at] != crew)
        at++;
    crews->items[at] = crews->items[--crews->count];
    hn_compile_pool_destroy(crew->pool);
    close(crew->wakeup);
    pthread_mutex_destroy(&crew->lock);
    free(crew->fds);
    free(crew);
}

size_t hn_crew_size(struct hn_workers *crew)
{
    pthread_mutex_lock(&crew->lock);
    size_t size = crew->card_count + crew->joining_count;
    pthread_mutex_unlock(&crew->lock);
    return size;
}
