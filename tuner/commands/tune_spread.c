/* SPDX-License-Identifier: MIT */
#include "tuner/commands/tune.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/run.h"
#include "runtime/device/device.h"
#include "tuner/workers/workers.h"

/* Hosts that are not there by then are not waited for where all that is known is tuned. */
static const double hosts_wait_ms = 10e3;

/* So long does a card wait for those before it, so that the first of the list leads, and not
 * whoever was quickest. */
static const double order_ms = 1000;
static const int sleep_limit_ms = 200;

enum { MODELS_MOST = 16 };

enum progress { WAITING, RUNNING, DONE };

struct item {
    enum progress progress;
    double started_ms; /* 0: not yet */
    bool later;        /* another tuner was at it: once there is nothing else to do */
    bool again;        /* a card failed at it */
    json_t *json;      /* NULL: there is none, and none is appended */
};

/* Cards that can be compared, and what becomes of each problem on them. */
struct model {
    const struct hn_card *first;
    struct item *items; /* one a problem */
    size_t begin;       /* the problem that it starts with: what others find out there leads it */
};

/* A search under way. */
struct running {
    struct model *model;
    struct hn_tune_search search; /* its workers are a share */
    pthread_t thread;
    bool ended;
    struct hn_error err;
    LIST_ENTRY(running) next;
};

/* All of it is under the workers' lock. */
struct spread {
    struct hn_tune *tune;
    const struct hn_config *config;
    struct hn_workers *workers;
    size_t problem_count;
    struct model models[MODELS_MOST];
    size_t model_count;
    LIST_HEAD(, running) running;
    bool told;            /* that there are several */
    struct hn_error lost; /* why a card was, of which another may take up the search */
    struct hn_error *err; /* the first failure: nothing more is begun */
};

static void *run_search(void *pointer)
{
    struct running *running = pointer;
    struct hn_tune_search *search = &running->search;
    search->store = hn_cache_open_again(search->tune->given, &running->err);
    hn_tune_search_run(search, &running->err);
    if (search->store != NULL)
        hn_tune_report_loss(search->tune, search->store, &running->err);
    hn_store_close(search->store);
    hn_workers_lock(search->workers);
    hn_workers_leave(search->workers);
    running->ended = true;
    hn_event_signal(search->workers->whole->pool->wakeup);
    hn_workers_unlock(search->workers);
    return NULL;
}

/* Whether it serves a search, or may. */
static bool is_usable(const struct hn_card *card)
{
    return card->known && !card->out && card->refusal[0] == '\0' &&
           (card->away || !hn_card_is_left_out(card));
}

/* Whether it is still to be seen what the first `count` cards are. */
static bool has_unknown(const struct hn_workers *workers, size_t count)
{
    bool has = false;
    for (size_t i = 0; i < count; i++)
        has = has || (!workers->cards[i]->known && !workers->cards[i]->out);
    return has;
}

/* Those with which a card can be compared; NULL: it is the first of its kind. */
static struct model *model_of(struct spread *spread, const struct hn_card *card)
{
    for (size_t i = 0; i < spread->model_count; i++)
        if (hn_device_identity_equal(&spread->models[i].first->device.identity,
                                     &card->device.identity))
            return &spread->models[i];
    return NULL;
}

/* Whether there is one of the model, NULL: of none yet, or one that may turn out to be. */
static bool has_card(struct spread *spread, const struct model *model)
{
    const struct hn_workers *workers = spread->workers;
    bool has = has_unknown(workers, workers->card_count);
    for (size_t i = 0; i < workers->card_count; i++)
        has = has || (is_usable(workers->cards[i]) && model_of(spread, workers->cards[i]) == model);
    return has;
}

static void note_failure(struct spread *spread, const struct hn_error *err)
{
    if (!hn_failed(spread->err) && hn_failed(err))
        *spread->err = *err;
}

/* Cards that failed at a problem may do at others. Returns whether there is one. */
static bool readmit(struct spread *spread)
{
    bool any = false;
    for (size_t i = 0; spread->problem_count > 1 && i < spread->workers->card_count; i++) {
        struct hn_card *card = spread->workers->cards[i];
        if (card->out || card->refusal[0] == '\0')
            continue;
        card->refusal[0] = '\0';
        any = any || is_usable(card);
    }
    return any;
}

static void tell_several(struct spread *spread)
{
    struct hn_tune *tune = spread->tune;
    if (spread->told || LIST_NEXT(LIST_FIRST(&spread->running), next) == NULL ||
        tune->options->quiet)
        return;
    spread->told = true;
    /* Who prints may ask the workers something. */
    hn_workers_unlock(spread->workers);
    hn_progress_board_hold(&tune->board);
    fprintf(stderr, "problems are searched side by side, each on GPUs of its own\n");
    hn_progress_board_release(&tune->board);
    hn_workers_lock(spread->workers);
}

/* A share with a card that is known. NULL, and err: none can be had. */
static struct hn_workers *share_workers(struct hn_workers *workers, struct hn_card *lead,
                                        struct hn_error *err)
{
    int wakeup = hn_event_make(err);
    if (hn_failed(err))
        return NULL;
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
    return share;
}

static void start_search(struct spread *spread, struct model *model, size_t problem,
                         struct hn_card *card, struct hn_error *err)
{
    struct item *item = &model->items[problem];
    struct running *running = hn_need(1, sizeof *running);
    struct hn_tune_search *search = &running->search;
    if (item->started_ms <= 0)
        item->started_ms = LIST_EMPTY(&spread->running) && model == spread->models && problem == 0
                               ? spread->tune->search.started_ms
                               : hn_now_ms();
    running->model = model;
    *search = (struct hn_tune_search){.tune = spread->tune,
                                      .problem = problem,
                                      .started_ms = item->started_ms,
                                      .waits = item->later,
                                      .again = item->again};
    if (spread->problem_count > 1) {
        char *text HN_FREED = hn_needed(hn_bindings_text(&spread->config->problems[problem]));
        snprintf(search->label, sizeof search->label, "%s", text);
    }
    snprintf(search->place, sizeof search->place, " (GPU %s of host %s)", card->selector,
             card->host_name);
    search->names_device = spread->model_count > 1 || search->label[0] == '\0';
    search->workers = share_workers(spread->workers, card, err);
    if (hn_failed(err) || !hn_thread_start(&running->thread, run_search, running, err)) {
        hn_workers_destroy(search->workers);
        free(running);
        return;
    }
    item->progress = RUNNING;
    LIST_INSERT_HEAD(&spread->running, running, next);
    tell_several(spread);
}

static void end_search(struct spread *spread, struct running *running)
{
    struct hn_tune_search *search = &running->search;
    struct item *item = &running->model->items[search->problem];
    struct hn_workers *share = search->workers;
    const struct hn_error *err = &running->err;
    LIST_REMOVE(running, next);
    pthread_join(running->thread, NULL);
    bool refused = share->lead->refusal[0] != '\0';
    hn_workers_destroy(share);
    /* It was the problem's fault. */
    if (refused && !hn_failed(err))
        readmit(spread);
    /* Another card takes it up where it was left. */
    if (search->lost) {
        spread->lost = *err;
        item->progress = WAITING;
        item->again = item->again || (refused && spread->problem_count > 1);
        json_decref(search->json);
    } else if (!hn_failed(err) && search->later) {
        *item = (struct item){.progress = WAITING, .later = true};
    } else {
        item->progress = DONE;
        item->json = search->json;
        spread->tune->found = spread->tune->found && search->found;
        spread->tune->cut = spread->tune->cut || search->cut;
        note_failure(spread, err);
    }
    free(running);
}

/* Whether the card is refused, because the config names a limit of the device, which is the first
 * model's. */
static bool has_other_limit(struct spread *spread, struct hn_card *card)
{
    for (size_t i = 0; spread->model_count > 0 && i < HN_DEVICE_LIMITS; i++) {
        const char *name = hn_device_limit_names[i];
        const struct hn_value *value = hn_bindings_get(&spread->config->problems[0], name);
        int64_t limit = hn_device_limit(&card->device, i);
        if (value == NULL || value->type != HN_INTEGER || limit == 0 || limit == value->integer)
            continue;
        hn_workers_refuse(
            spread->workers, card,
            "the config names '%s', which is %lld for this tune and %lld there (%s): tune it on "
            "its own",
            name, (long long)value->integer, (long long)limit, card->device.identity.name);
        return true;
    }
    return false;
}

/* The model of a card; NULL: the card is refused. */
static struct model *find_model(struct spread *spread, struct hn_card *card)
{
    struct model *model = model_of(spread, card);
    if (model != NULL && strcmp(model->first->device.driver, card->device.driver) == 0)
        return model;
    if (model != NULL) {
        hn_workers_refuse(spread->workers, card, "its driver is %s, and the first card's is %s",
                          card->device.driver, model->first->device.driver);
        return NULL;
    }
    if (has_other_limit(spread, card))
        return NULL;
    if (spread->model_count == MODELS_MOST) {
        hn_workers_refuse(spread->workers, card, "there are too many models of GPU for one tune");
        return NULL;
    }
    size_t n = spread->model_count++;
    spread->models[n] = (struct model){card, hn_need(spread->problem_count, sizeof(struct item)),
                                       n * spread->problem_count / (n + 1)};
    return &spread->models[n];
}

/* First those that no other tuner is at. problem_count: there is none. */
static size_t next_problem(const struct spread *spread, const struct model *model)
{
    size_t later = spread->problem_count;
    for (size_t i = 0; i < spread->problem_count; i++) {
        size_t problem = (model->begin + i) % spread->problem_count;
        if (model->items[problem].progress != WAITING)
            continue;
        if (!model->items[problem].later)
            return problem;
        later = later < spread->problem_count ? later : problem;
    }
    return later;
}

static struct running *find_smallest(const struct spread *spread, const struct model *model)
{
    struct running *smallest = NULL, *running;
    LIST_FOREACH(running, &spread->running, next)
        if (running->model == model && !running->ended &&
            (smallest == NULL ||
             running->search.workers->card_count < smallest->search.workers->card_count))
            smallest = running;
    return smallest;
}

static void use_cards(struct spread *spread, struct hn_error *err)
{
    for (size_t i = 0; !hn_failed(err) && i < spread->workers->card_count; i++) {
        struct hn_card *card = spread->workers->cards[i];
        /* The first of the list comes first. */
        bool early = hn_now_ms() - card->known_ms < order_ms && has_unknown(spread->workers, i);
        bool idle = is_usable(card) && !card->away && hn_card_is_reachable(card) && !early;
        struct model *model = idle ? find_model(spread, card) : NULL;
        if (model == NULL)
            continue;
        size_t problem = next_problem(spread, model);
        struct running *smallest = find_smallest(spread, model);
        if (problem < spread->problem_count)
            start_search(spread, model, problem, card, err);
        else if (smallest != NULL)
            hn_workers_give(smallest->search.workers, card);
    }
}

/* Whether there is nothing to be waited for. */
static bool is_over(struct spread *spread)
{
    if (!LIST_EMPTY(&spread->running) || hn_failed(spread->err))
        return LIST_EMPTY(&spread->running);
    bool waits = spread->model_count == 0;
    bool goes_on = has_card(spread, NULL) &&
                   (waits || hn_now_ms() - spread->tune->search.started_ms < hosts_wait_ms);
    HN_EACH_OF(model, spread->models, spread->model_count) {
        bool more = next_problem(spread, model) < spread->problem_count;
        goes_on = goes_on || (more && has_card(spread, model));
        waits = waits || more;
    }
    if (goes_on || !waits || readmit(spread))
        return !goes_on && !waits;
    note_failure(spread, &spread->lost);
    if (!hn_failed(spread->err))
        hn_fail(spread->err, HN_ERUN, "%s", spread->workers->refusal);
    return true;
}

void hn_tune_spread_run(struct hn_tune *tune, struct hn_error *err)
{
    struct spread spread = {.tune = tune,
                            .config = tune->given->config,
                            .workers = tune->given->workers,
                            .problem_count = tune->given->config->problem_count,
                            .err = err};
    struct running *running, *next;
    hn_workers_lock(spread.workers);
    while (!is_over(&spread)) {
        struct hn_error now = {.status = HN_OK};
        if (hn_compile_pool_process(spread.workers->pool, &now) == HN_OK)
            hn_workers_open_cards(spread.workers);
        for (running = LIST_FIRST(&spread.running); running != NULL; running = next) {
            next = LIST_NEXT(running, next);
            if (running->ended)
                end_search(&spread, running);
        }
        if (!hn_failed(&now) && hn_interrupted() != 0)
            hn_fail(&now, HN_EINTERRUPTED, HN_TUNE_INTERRUPTED);
        if (!hn_failed(err))
            use_cards(&spread, &now);
        note_failure(&spread, &now);
        if (hn_workers_sleep(spread.workers, sleep_limit_ms))
            LIST_FOREACH(running, &spread.running, next)
                hn_event_signal(running->search.workers->pool->wakeup);
    }
    hn_workers_unlock(spread.workers);
    for (size_t i = 0; i < spread.model_count; i++) {
        for (size_t n = 0; n < spread.problem_count; n++)
            (void)json_array_append_new(tune->given->results, spread.models[i].items[n].json);
        free(spread.models[i].items);
    }
}
