/* SPDX-License-Identifier: MIT */
#include "tuner/commands/tune_spread.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "runtime/device/device.h"
#include "tuner/commands/open_cache.h"
#include "tuner/workers/workers.h"

/* Hosts that are not there by then are not waited for where all that is known is tuned. */
static const double hosts_wait_ms = 10e3;

enum { MODELS_MOST = 16 };

enum progress { WAITING, RUNNING, DONE };

struct item {
    enum progress progress;
    double started_ms; /* 0: not yet */
    bool later;        /* another tuner was at it: once there is nothing else to do */
    json_t *json;
};

/* Cards that can be compared, and what becomes of each problem on them. */
struct model {
    const struct hn_card *first;
    struct item *items; /* one a problem */
    size_t begin;       /* the problem that it starts with: what others find out there leads it */
};

/* A search under way. */
struct running {
    struct spread *spread;
    struct model *model;
    size_t problem;
    struct hn_workers *crew;
    struct hn_tune_search search;
    char label[160];
    char place[160];
    pthread_t thread;
    atomic_bool ended;
    enum hn_status status;
    struct hn_error err;
    struct running *next;
};

struct spread {
    struct hn_tune_spread *given;
    struct hn_crews *crews;
    size_t problem_count;
    struct model models[MODELS_MOST];
    size_t model_count;
    struct running *running;
    size_t running_count;
    bool told;             /* that there are several */
    bool follows;          /* something stands on stdout */
    enum hn_status status; /* the first failure: nothing more is begun */
    struct hn_error err;
};

static void *run_search(void *pointer)
{
    struct running *running = pointer;
    struct hn_tune_search *search = &running->search;
    running->err.message[0] = '\0';
    running->status =
        hn_cache_open_again(search->options, search->server, &search->store, &running->err);
    if (running->status == HN_OK) {
        running->status = hn_tune_search_run(search, &running->err);
        struct hn_error ignored;
        enum hn_status kept =
            hn_tune_report_loss(search, running->status == HN_OK ? &running->err : &ignored);
        running->status = running->status == HN_OK ? kept : running->status;
        hn_store_close(search->store);
    }
    hn_crew_leave(running->crew);
    atomic_store(&running->ended, true);
    hn_crews_wake(running->spread->crews);
    return NULL;
}

static void describe(const struct spread *spread, const struct hn_card *card,
                     struct running *running)
{
    const struct hn_config *config = spread->given->search->config;
    struct hn_text text;
    hn_text_init(&text);
    if (spread->problem_count > 1)
        hn_bindings_append(&text, &config->problems[running->problem]);
    snprintf(running->label, sizeof running->label, "%s", text.data != NULL ? text.data : "");
    hn_text_finish(&text);
    snprintf(running->place, sizeof running->place, " (GPU %s of host %s)", card->selector,
             card->host_name);
}

static void tell_several(struct spread *spread)
{
    const struct hn_tune_search *search = spread->given->search;
    if (spread->told || spread->running_count < 2 || search->options->quiet)
        return;
    spread->told = true;
    hn_progress_board_hold(search->board);
    fprintf(stderr, "problems are searched side by side, each on GPUs of its own\n");
    hn_progress_board_release(search->board);
}

static void add_running(struct spread *spread, struct running *running)
{
    running->next = spread->running;
    spread->running = running;
    spread->running_count++;
    tell_several(spread);
}

static enum hn_status start_search(struct spread *spread, struct model *model, size_t problem,
                                   struct hn_card *card, struct hn_error *err)
{
    struct item *item = &model->items[problem];
    struct running *running = hn_need(1, sizeof *running);
    if (item->started_ms <= 0)
        item->started_ms = spread->running == NULL && model == spread->models && problem == 0
                               ? spread->given->started_ms
                               : hn_now_ms();
    running->spread = spread;
    running->model = model;
    running->problem = problem;
    describe(spread, card, running);
    running->search = *spread->given->search;
    running->search.problem = problem;
    running->search.started_ms = item->started_ms;
    running->search.waits = item->later;
    running->search.label = running->label;
    running->search.place = running->place;
    running->search.follows = &spread->follows;
    running->search.names_device = spread->model_count > 1 || running->label[0] == '\0';
    enum hn_status status = hn_crew_start(spread->crews, card, &running->crew, err);
    if (status != HN_OK) {
        free(running);
        return status;
    }
    running->search.workers = running->crew;
    item->progress = RUNNING;
    add_running(spread, running);
    int failure = hn_thread_start(&running->thread, run_search, running);
    if (failure == 0)
        return HN_OK;
    /* As if it had run: there is nothing to join. */
    running->thread = pthread_self();
    running->status =
        hn_fail(&running->err, HN_ERUN, "a thread can not be started: %s", strerror(failure));
    atomic_store(&running->ended, true);
    return HN_OK;
}

static void note_failure(struct spread *spread, enum hn_status status, const struct hn_error *err)
{
    if (spread->status != HN_OK || status == HN_OK)
        return;
    spread->status = status;
    spread->err = *err;
}

static void end_search(struct spread *spread, struct running *running)
{
    struct item *item = &running->model->items[running->problem];
    struct hn_tune_search *search = &running->search;
    bool lost = false;
    if (!pthread_equal(running->thread, pthread_self()))
        pthread_join(running->thread, NULL);
    hn_crew_end(spread->crews, running->crew, &lost);
    /* Another card takes it up where it was left. */
    if (running->status != HN_OK && running->status != HN_EINTERRUPTED && lost &&
        hn_crews_remain(spread->crews)) {
        item->progress = WAITING;
        json_decref(search->json);
    } else if (running->status == HN_OK && search->later) {
        *item = (struct item){.progress = WAITING, .later = true};
    } else {
        item->progress = DONE;
        item->json = search->json;
        spread->given->found = spread->given->found && search->found;
        spread->given->cut = spread->given->cut || search->cut;
        note_failure(spread, running->status, &running->err);
    }
    free(running);
    spread->running_count--;
}

static void end_searches(struct spread *spread)
{
    struct running **at = &spread->running;
    while (*at != NULL) {
        struct running *running = *at;
        if (!atomic_load(&running->ended)) {
            at = &running->next;
            continue;
        }
        *at = running->next;
        end_search(spread, running);
    }
}

/* The config names a limit of the device, which is the first model's. */
static const char *find_other_limit(const struct spread *spread, const struct hn_card *card,
                                    char text[400])
{
    const struct hn_config *config = spread->given->search->config;
    for (size_t i = 0; spread->model_count > 0 && i < HN_DEVICE_LIMITS; i++) {
        const char *name = hn_device_limit_names[i];
        const struct hn_value *value = hn_bindings_get(&config->problems[0], name);
        int64_t limit = hn_device_limit(&card->device, i);
        if (value == NULL || value->type != HN_INTEGER || limit == 0 || limit == value->integer)
            continue;
        snprintf(text, 400,
                 "the config names '%s', which is %lld for this tune and %lld there (%.80s): tune "
                 "it on its own",
                 name, (long long)value->integer, (long long)limit, card->device.identity.name);
        return text;
    }
    return NULL;
}

static struct model *add_model(struct spread *spread, const struct hn_card *card)
{
    struct model *model = &spread->models[spread->model_count];
    struct item *items = hn_need(spread->problem_count, sizeof *items);
    size_t n = spread->model_count++;
    *model = (struct model){card, items, n * spread->problem_count / (n + 1)};
    return model;
}

/* The model of a card; NULL: the card is refused. */
static struct model *find_model(struct spread *spread, const struct hn_card *card)
{
    const char *reason = NULL;
    char text[400];
    for (size_t i = 0; reason == NULL && i < spread->model_count; i++) {
        const struct hn_device *first = &spread->models[i].first->device;
        if (!hn_device_identity_equal(&first->identity, &card->device.identity))
            continue;
        if (strcmp(first->driver, card->device.driver) == 0)
            return &spread->models[i];
        snprintf(text, sizeof text, "its driver is %.31s, and the first card's is %.31s",
                 card->device.driver, first->driver);
        reason = text;
    }
    if (reason == NULL)
        reason = find_other_limit(spread, card, text);
    if (reason == NULL && spread->model_count == MODELS_MOST)
        reason = "there are too many models of GPU for one tune";
    if (reason == NULL)
        return add_model(spread, card);
    hn_crews_refuse(spread->crews, card, reason);
    return NULL;
}

/* First those that no other tuner is at. problem_count: there is none. */
static size_t next_problem(const struct spread *spread, const struct model *model)
{
    size_t later = spread->problem_count;
    for (size_t i = spread->problem_count; i-- > 0;) {
        size_t problem = (model->begin + i) % spread->problem_count;
        if (model->items[problem].progress == WAITING && model->items[problem].later)
            later = problem;
    }
    for (size_t i = 0; i < spread->problem_count; i++) {
        size_t problem = (model->begin + i) % spread->problem_count;
        if (model->items[problem].progress == WAITING && !model->items[problem].later)
            return problem;
    }
    return later;
}

static struct running *find_smallest(const struct spread *spread, const struct model *model)
{
    struct running *smallest = NULL;
    for (struct running *running = spread->running; running != NULL; running = running->next)
        if (running->model == model && !atomic_load(&running->ended) &&
            (smallest == NULL || hn_crew_size(running->crew) < hn_crew_size(smallest->crew)))
            smallest = running;
    return smallest;
}

static enum hn_status use_card(struct spread *spread, struct hn_card *card, struct hn_error *err)
{
    struct model *model = find_model(spread, card);
    size_t problem = model != NULL ? next_problem(spread, model) : spread->problem_count;
    if (problem < spread->problem_count)
        return start_search(spread, model, problem, card, err);
    struct running *smallest = model != NULL ? find_smallest(spread, model) : NULL;
    if (smallest != NULL)
        hn_crew_join(spread->crews, smallest->crew, card);
    return HN_OK;
}

static enum hn_status use_cards(struct spread *spread, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < hn_crews_card_count(spread->crews); i++) {
        struct hn_card *card = hn_crews_idle(spread->crews, i);
        if (card != NULL)
            status = use_card(spread, card, err);
    }
    return status;
}

static bool is_all_done(const struct spread *spread)
{
    for (size_t i = 0; i < spread->model_count; i++)
        if (next_problem(spread, &spread->models[i]) < spread->problem_count)
            return false;
    return spread->model_count > 0;
}

/* Whether there is nothing to be waited for. */
static bool is_over(struct spread *spread)
{
    if (spread->running != NULL)
        return false;
    if (spread->status != HN_OK)
        return true;
    bool more = hn_crews_may_come(spread->crews);
    if (is_all_done(spread))
        return !more || hn_now_ms() - spread->given->started_ms > hosts_wait_ms;
    if (more || hn_crews_remain(spread->crews))
        return false;
    spread->status = hn_fail(&spread->err, HN_ERUN, "%s", hn_crews_refusal(spread->crews));
    return true;
}

static void run_all(struct spread *spread)
{
    struct hn_error err = {.message = ""};
    while (!is_over(spread)) {
        note_failure(spread, hn_crews_move(spread->crews, &err), &err);
        end_searches(spread);
        if (hn_interrupted() != 0)
            note_failure(spread, hn_tune_interrupted(&err), &err);
        if (spread->status == HN_OK)
            note_failure(spread, use_cards(spread, &err), &err);
        hn_crews_sleep(spread->crews);
    }
}

static void finish(struct spread *spread, json_t *results)
{
    for (size_t i = 0; i < spread->model_count; i++) {
        for (size_t n = 0; n < spread->problem_count; n++)
            if (spread->models[i].items[n].json != NULL)
                json_array_append_new(results, spread->models[i].items[n].json);
        free(spread->models[i].items);
    }
    hn_crews_destroy(spread->crews);
}

enum hn_status hn_tune_spread_run(struct hn_tune_spread *given, json_t *results,
                                  struct hn_error *err)
{
    struct spread spread = {.given = given, .problem_count = given->search->config->problem_count};
    given->found = true;
    enum hn_status status = hn_crews_create(given->search->workers, &spread.crews, err);
    if (status != HN_OK)
        return status;
    run_all(&spread);
    finish(&spread, results);
    if (spread.status != HN_OK)
        *err = spread.err;
    return spread.status;
}
