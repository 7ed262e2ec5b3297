/* SPDX-License-Identifier: MIT */
#include "tuner/workers/workers.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/run.h"

/* Turns are short: only who waits for longer wants to know why. */
static const double told_after_ms = 1000;

/* A worker may be killed from outside while it is set up; one that dies each time has a reason. */
static const int setup_deaths_most = 2;

/* Computing references may take long; a hang still ends. */
static const double setup_least_ms = 120e3, setup_launches = 12;
/* So long may one at a host be silent that has got all that was sent. */
enum { MUTE_MS = 15000 };

void hn_card_job_finish(struct hn_card_job *job)
{
    hn_bindings_finish(&job->point);
    hn_message_finish(&job->message);
    hn_record_finish(&job->suspect);
    *job = (struct hn_card_job){.ticket = 0};
}

/* Another problem begins: what was found out in the one before is forgotten. */
static void begin(struct hn_card *card)
{
    hn_card_job_finish(&card->job);
    card->health = (struct hn_health){0};
    card->state = HN_CARD_NEW;
    card->evaluating = false;
    card->anchor = card->ratio_count = card->measured = 0;
    card->ratio = 1;
}

static void end_turn(struct hn_card *card)
{
    if (card->meter.active > 0)
        hn_meter_end(&card->meter, hn_now_ms());
}

static void drop_request(struct hn_card *card)
{
    if (card->requested)
        hn_message_finish(&card->request);
    card->requested = false;
    card->waiting = false;
}

/* Returns how it ended, as waitpid() says. */
static int drop_worker(struct hn_card *card)
{
    card->step = 0;
    card->waiting = false;
    end_turn(card);
    return hn_process_kill(&card->process);
}

void hn_card_drop(struct hn_card *card)
{
    drop_worker(card);
    drop_request(card);
}

/* Kills the worker and does not wait until the driver has cleaned up after it, which takes a tenth
 * of a second: who inherits the orphan reaps it. */
static void destroy_card(struct hn_card *card)
{
    hn_process_end(&card->process);
    if (card->process.pid > 0) {
        waitpid(card->process.pid, NULL, WNOHANG);
        card->process.pid = 0;
    }
    hn_process_kill(&card->process);
    drop_request(card);
    HN_FREE_EACH(message, card->setup, card->setup_count, hn_message_finish(message));
    hn_card_job_finish(&card->job);
    free(card);
}

bool hn_card_is_reachable(const struct hn_card *card)
{
    const struct hn_place *place = card->process.place;
    return card->process.pid != 0 || place == NULL || place->ready(place);
}

bool hn_card_is_left_out(const struct hn_card *card)
{
    return card->host != NULL && hn_host_look(card->host).state == HN_HOST_OUT;
}

void hn_card_request(struct hn_card *card, struct hn_message *message, double timeout_s,
                     struct hn_error *err)
{
    if (!hn_failed(err) && card->requested)
        hn_fail(err, HN_ERUN, "the GPU worker is busy");
    if (hn_failed(err))
        return;
    card->request = *message;
    *message = (struct hn_message){0};
    card->requested = true;
    card->attempts = 0;
    card->request_limit_ms = timeout_s > 0 ? timeout_s * 1e3 : card->run_timeout_ms;
}

static bool is_setting_up(const struct hn_card *card)
{
    return card->step < card->setup_count;
}

/* Whether a worker is to be told something. One that is not there is started by a request alone. */
static bool has_work(const struct hn_card *card)
{
    return card->requested || (card->process.pid != 0 && is_setting_up(card));
}

/* The setup message that is next, or the request. */
static const struct hn_message *current(const struct hn_card *card)
{
    return is_setting_up(card) ? &card->setup[card->step] : &card->request;
}

bool hn_card_is_quiet(const struct hn_card *card)
{
    return card->waiting && !is_setting_up(card) && hn_process_is_quiet(&card->process);
}

/* No limit holds while another tuner has its turn on the GPU; opening the device needs none. */
static bool awaits_turn(const struct hn_card *card)
{
    return card->waiting && card->process.greeted && !card->begun &&
           strcmp(hn_message_type(current(card)), "open") != 0;
}

const char *hn_card_holder(const struct hn_card *card)
{
    bool long_ago = hn_now_ms() - card->asked_ms > told_after_ms;
    return awaits_turn(card) && card->holder[0] != '\0' && long_ago ? card->holder : NULL;
}

static double limit_of(const struct hn_card *card)
{
    return is_setting_up(card) ? fmax(setup_least_ms, setup_launches * card->run_timeout_ms)
                               : card->request_limit_ms;
}

static int timeout_of(const struct hn_card *card)
{
    if (!card->waiting)
        return hn_card_is_reachable(card) && has_work(card) ? 0 : -1;
    if (awaits_turn(card))
        return card->host != NULL ? MUTE_MS / 10 : -1;
    double left = card->process.since_ms + limit_of(card) - hn_now_ms();
    return left > 0 ? (int)left + 1 : 0;
}

static void end_request(struct hn_card *card, struct hn_gpu_result *result, enum hn_gpu_end end)
{
    result->end = end;
    drop_request(card);
}

/* A failure to send shows as a closed channel, with the reason in the worker's end; but what is too
 * long for a message never gets there. */
static void send_current(struct hn_card *card, struct hn_gpu_result *result, struct hn_error *err)
{
    struct hn_error reason;
    const struct hn_message *message = current(card);
    size_t i;
    json_t *file;
    /* Files that the worker will read get to its host before the message. */
    json_array_foreach(card->host != NULL ? json_object_get(message->json, "data") : NULL, i, file)
    {
        struct hn_hash hash = {.hex = ""};
        const char *path = json_string_value(json_object_get(file, "path"));
        snprintf(hash.hex, sizeof hash.hex, "%s", json_string_value(json_object_get(file, "hash")));
        hn_host_share(card->host, path, &hash);
    }
    enum hn_status status = hn_channel_send(&card->process.channel, message, &reason);
    if (status != HN_EFORMAT && status != HN_ENOMEM)
        return;
    card->waiting = false;
    if (is_setting_up(card) || status == HN_ENOMEM) {
        hn_fail(err, HN_ERUN, "setting up the GPU worker ('%s'): %s", hn_message_type(message),
                reason.message);
        return;
    }
    snprintf(result->text, sizeof result->text, "%.600s", reason.message);
    end_request(card, result, HN_GPU_CRASH);
}

/* Sends a setup message that this worker has not had, or the request. Starts a missing worker. */
static void send_next(struct hn_card *card, struct hn_gpu_result *result, struct hn_error *err)
{
    if (hn_failed(err) || result->end != HN_GPU_NOTHING || card->waiting || !has_work(card))
        return;
    if (!hn_card_is_reachable(card)) {
        const struct hn_host_view view = hn_host_look(card->host);
        /* One that is not up may be soon. */
        if (view.state == HN_HOST_OUT)
            hn_fail(err, HN_ERUN, "the GPU's host %s is left out: %s", view.name, view.reason);
        return;
    }
    if (card->process.pid == 0) {
        if (hn_process_start(&card->process, NULL, "gpu", err) != HN_OK)
            return;
        card->step = 0;
    }
    if (!is_setting_up(card)) {
        card->attempts++;
        card->setup_deaths = 0;
    }
    card->waiting = true;
    card->begun = false;
    card->holder[0] = '\0';
    card->process.since_ms = card->asked_ms = hn_now_ms();
    /* What was printed before belongs to an earlier message. */
    hn_process_drain(&card->process);
    card->process.tail_size = 0;
    card->process.tail[0] = '\0';
    send_current(card, result, err);
}

/* The worker is gone without an answer. */
static void take_death(struct hn_card *card, struct hn_gpu_result *result, struct hn_error *err)
{
    bool in_request = card->waiting && !is_setting_up(card);
    bool in_setup = card->waiting && !in_request;
    const char *step = in_setup ? hn_message_type(current(card)) : "";
    const char *end = hn_process_describe_end(&card->process, drop_worker(card));
    /* The request in hand is no reason why a host is lost. */
    if (card->process.lost) {
        card->attempts -= in_request;
    } else if (in_setup && ++card->setup_deaths >= setup_deaths_most) {
        hn_fail(err, HN_ERUN, "the GPU worker died twice while it was set up ('%s'): %s", step,
                end);
    } else if (in_request && card->attempts >= 2) {
        snprintf(result->text, sizeof result->text, "the GPU worker died twice: %s", end);
        end_request(card, result, HN_GPU_CRASH);
    }
}

/* The message is empty then where it is the request's. */
static void take_reply(struct hn_card *card, struct hn_message *message,
                       struct hn_gpu_result *result)
{
    json_t *health = json_object_get(message->json, "health");
    struct hn_health seen = {.watching = true};
    struct hn_error ignored = {.status = HN_OK};
    hn_fields_read("health", &hn_health_structure, health, &seen, &ignored);
    if (health != NULL && !hn_failed(&ignored))
        hn_health_add(&card->health, &seen);
    if (card->timeline != NULL)
        hn_timeline_add(card->timeline, hn_message_type(current(card)), card->asked_ms,
                        hn_now_ms());
    card->waiting = false;
    if (is_setting_up(card)) {
        card->step++;
        return;
    }
    bool dead = json_is_true(json_object_get(message->json, "dead"));
    result->message = *message;
    *message = (struct hn_message){0};
    end_request(card, result, HN_GPU_REPLY);
    if (dead) {
        drop_worker(card);
        snprintf(result->text, sizeof result->text, "%s",
                 hn_process_describe_output(&card->process));
    }
}

static void take_message(struct hn_card *card, struct hn_message *message,
                         struct hn_gpu_result *result)
{
    const char *type = hn_message_type(message);
    if (strcmp(type, "guess") == 0) {
        json_int_t guess = json_integer_value(json_object_get(message->json, "capability"));
        card->guess = guess > 0 && guess <= 1000 ? (int)guess : 0;
    } else if (strcmp(type, "waiting") == 0) {
        const char *holder = json_string_value(json_object_get(message->json, "holder"));
        snprintf(card->holder, sizeof card->holder, "%s", holder != NULL ? holder : "");
        if (card->announces)
            fprintf(stderr, "waiting for the GPU: %s\n", card->holder);
        card->announces = false;
    } else if (strcmp(type, "begun") == 0) {
        card->begun = true;
        card->holder[0] = '\0';
        card->process.since_ms = hn_now_ms();
        if (card->meter.active == 0)
            hn_meter_begin(&card->meter, card->process.since_ms);
    } else {
        end_turn(card);
        if (card->waiting)
            take_reply(card, message, result);
    }
}

static void listen_to(struct hn_card *card, struct hn_gpu_result *result, struct hn_error *err)
{
    enum hn_received received = HN_RECEIVED_MESSAGE;
    bool failed = hn_failed(err);
    while (received == HN_RECEIVED_MESSAGE && result->end == HN_GPU_NOTHING) {
        struct hn_message message HN_ENDED_BY(hn_message_finish) = {0};
        received = hn_process_listen(&card->process, &message, err);
        if (received != HN_RECEIVED_MESSAGE)
            continue;
        take_message(card, &message, result);
    }
    if (received == HN_RECEIVED_CLOSED)
        take_death(card, result, err);
    else if (!failed && hn_failed(err))
        end_turn(card);
}

/* A worker says at once who it is, and that it begins or waits for its turn. Where a connection
 * lives and its worker does not, nothing else would end the wait. */
static void check_mute(struct hn_card *card, struct hn_error *err)
{
    bool said = card->process.greeted && (!awaits_turn(card) || card->holder[0] != '\0');
    if (hn_failed(err) || card->host == NULL || !card->waiting || said)
        return;
    const struct hn_host_view view = hn_host_look(card->host);
    if (view.sends)
        card->process.since_ms = hn_now_ms();
    if (card->process.seen_ms - card->process.since_ms < MUTE_MS)
        return;
    drop_worker(card);
    hn_fail(err, HN_ERUN, "the GPU's worker at host %s said nothing for %d s", view.name,
            MUTE_MS / 1000);
}

static void enforce_limit(struct hn_card *card, struct hn_gpu_result *result, struct hn_error *err)
{
    bool in_setup = is_setting_up(card);
    if (hn_failed(err) || result->end != HN_GPU_NOTHING || !card->waiting || awaits_turn(card) ||
        card->process.seen_ms - card->process.since_ms < limit_of(card))
        return;
    if (in_setup)
        hn_fail(err, HN_ERUN,
                "the GPU worker was not set up after %g s ('%s'); --run-timeout allows more",
                limit_of(card) / 1e3, hn_message_type(current(card)));
    drop_worker(card);
    if (in_setup)
        return;
    snprintf(result->text, sizeof result->text,
             "still running after %g s (--run-timeout); its worker was killed",
             card->request_limit_ms / 1e3);
    end_request(card, result, HN_GPU_TIMEOUT);
}

void hn_card_process(struct hn_card *card, struct hn_gpu_result *result, struct hn_error *err)
{
    result->end = HN_GPU_NOTHING;
    result->message = (struct hn_message){0};
    result->text[0] = '\0';
    listen_to(card, result, err);
    if (result->end == HN_GPU_NOTHING)
        check_mute(card, err);
    enforce_limit(card, result, err);
    send_next(card, result, err);
}

static void make_opening(const struct hn_card *card, struct hn_message *open)
{
    hn_message_init(open, "open");
    if (card->selector[0] != '\0')
        json_object_set_new(open->json, "device", json_string(card->selector));
}

static void take_opened(struct hn_card *card, struct hn_message *reply, struct hn_error *err)
{
    struct hn_message open HN_ENDED_BY(hn_message_finish) = {0};
    struct hn_message context HN_ENDED_BY(hn_message_finish) = {0};
    const char *warning = json_string_value(json_object_get(reply->json, "warning"));
    snprintf(card->warning, sizeof card->warning, "%s", warning != NULL ? warning : "");
    card->device = (struct hn_device){.ordinal = -1};
    hn_fields_read("device", &hn_device_structure, json_object_get(reply->json, "device"),
                   &card->device, err);
    if (hn_failed(err))
        return;
    make_opening(card, &open);
    hn_message_init(&context, "context");
    hn_card_keep(card, &open, "open", true);
    hn_card_keep(card, &context, "context", false);
    card->known = true;
    card->known_ms = hn_now_ms();
}

/* Asks for its device, and moves on with that: true once it is known. The worker makes a context
 * next. */
static bool ask_device(struct hn_card *card, struct hn_error *err)
{
    struct hn_message open HN_ENDED_BY(hn_message_finish) = {0};
    struct hn_gpu_result result;
    if (hn_failed(err) || card->known)
        return card->known;
    if (!card->requested) {
        make_opening(card, &open);
        hn_card_request(card, &open, 120, err);
    }
    hn_card_process(card, &result, err);
    if (!hn_failed(err) && result.end == HN_GPU_REPLY)
        take_opened(card, &result.message, err);
    else if (!hn_failed(err) && result.end != HN_GPU_NOTHING)
        hn_fail(err, HN_ERUN, "%s", result.text);
    hn_message_finish(&result.message);
    return card->known;
}

/* It holds for every problem. */
static bool is_lasting(const struct hn_message *message)
{
    return strcmp(hn_message_type(message), "open") == 0 ||
           strcmp(hn_message_type(message), "context") == 0;
}

void hn_card_keep(struct hn_card *card, const struct hn_message *message, const char *replaces,
                  bool taken)
{
    for (size_t i = 0; replaces != NULL && i < card->setup_count; i++) {
        if (strcmp(hn_message_type(&card->setup[i]), replaces) != 0)
            continue;
        hn_message_finish(&card->setup[i]);
        HN_DROP(card->setup, card->setup_count, i);
        card->step -= card->step > i;
        break;
    }
    if (hn_message_copy(HN_NEXT(card->setup, card->setup_count), message, NULL) != HN_OK)
        hn_needed(NULL);
    if (taken && card->process.pid != 0)
        card->step = card->setup_count;
}

void hn_card_keep_as(struct hn_card *card, const struct hn_card *other)
{
    for (size_t i = 0; i < other->setup_count; i++)
        if (!is_lasting(&other->setup[i]))
            hn_card_keep(card, &other->setup[i], NULL, false);
}

/* Lets go of the bench and what was set up for it; device and context stay for the next problem. A
 * worker that is still at work is killed, another one is asked to, as its request. */
static void leave_card(struct hn_card *card)
{
    size_t lasting = 0;
    while (lasting < card->setup_count && is_lasting(&card->setup[lasting]))
        lasting++;
    bool at_work = card->requested || card->waiting;
    bool has_bench = card->process.pid != 0 && card->step > lasting;
    while (card->setup_count > lasting)
        hn_message_finish(&card->setup[--card->setup_count]);
    card->step = card->step < lasting ? card->step : lasting;
    begin(card);
    if (at_work)
        hn_card_drop(card);
    if (at_work || !has_bench)
        return;
    struct hn_message leave;
    struct hn_error none = {.status = HN_OK};
    hn_message_init(&leave, "leave");
    hn_card_request(card, &leave, setup_least_ms / 1e3, &none);
}

static const int sleep_limit_ms = 200;
/* A search has so many compilations under way at first. */
static const int first_compilations = 16;

static struct hn_card *add_card(struct hn_workers *workers, struct hn_host *host,
                                const char *selector)
{
    struct hn_card *card = hn_need(1, sizeof *card);
    hn_process_init(&card->process);
    card->run_timeout_ms = workers->run_timeout_s * 1e3;
    card->host = host;
    card->process.place = host != NULL ? hn_host_place(host) : NULL;
    card->meter.whole = &workers->on_cards;
    snprintf(card->selector, sizeof card->selector, "%s", selector != NULL ? selector : "");
    begin(card);
    workers->cards[workers->card_count++] = card;
    return card;
}

/* The cards of a host that has said how many it has. Returns whether it has, or never will. */
static bool find_cards(struct hn_workers *workers, struct hn_host *host)
{
    const struct hn_host_view view = hn_host_look(host);
    size_t known = 0;
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
    const struct hn_host_view view = hn_host_look(card->host);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(workers->refusal, sizeof workers->refusal, format, arguments);
    va_end(arguments);
    if (view.state == HN_HOST_UP && view.gpus > 0)
        snprintf(card->refusal, sizeof card->refusal, "%.390s", workers->refusal);
    hn_card_drop(card);
    card->out = true;
}

static void open_card(struct hn_workers *workers, struct hn_card *card)
{
    const struct hn_host_view view = hn_host_look(card->host);
    struct hn_error err = {.status = HN_OK};
    if (!card->requested && view.state == HN_HOST_UP && view.gpus == 0)
        hn_fail(&err, HN_ERUN, "host %s has no GPU", view.name);
    else if (card->requested || view.state == HN_HOST_OUT || hn_card_is_reachable(card))
        ask_device(card, &err);
    for (size_t i = 0; card->known && i < workers->card_count && !hn_failed(&err); i++) {
        const struct hn_card *other = workers->cards[i];
        if (other != card && other->known && !other->out &&
            strcmp(other->device.uuid, card->device.uuid) == 0)
            hn_fail(&err, HN_ERUN, "it is named twice: it is a card of host %s too",
                    other->host_name);
    }
    if (hn_failed(&err))
        hn_workers_refuse(workers, card, "%s", err.message);
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

enum hn_status hn_workers_start(const struct hn_workers_options *options, struct hn_workers **out,
                                struct hn_error *err)
{
    bool elsewhere = options->host_count > 0;
    struct hn_workers *workers = hn_need(1, sizeof *workers);
    hn_error_init(err);
    workers->wakeup = -1;
    workers->run_timeout_s = options->run_timeout_s;
    workers->on_cards.whole = &workers->working;
    workers->pool = hn_compile_pool_create(elsewhere ? 0 : options->jobs,
                                           options->compile_timeout_s, HN_COMPILE_START_S);
    if (options->divided) {
        workers->lock = hn_need(1, sizeof *workers->lock);
        pthread_mutex_init(workers->lock, NULL);
        workers->pool->wakeup = hn_event_make(err);
    }
    if (!elsewhere)
        add_card(workers, NULL, options->device)->announces = options->announces;
    else if (!hn_failed(err) && (workers->wakeup = hn_event_make(err)) >= 0 &&
             hn_hosts_start(options->hosts, options->host_count, workers->wakeup, &workers->hosts,
                            err) == HN_OK)
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
        ask_device(workers->lead, err);
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
        destroy_card(card);
    }
    int wakeup = workers->pool->wakeup;
    hn_compile_pool_destroy(workers->pool);
    if (workers->whole == NULL) {
        hn_hosts_destroy(workers->hosts);
        hn_close(&workers->wakeup);
        free(workers->lock);
    }
    hn_close(&wakeup);
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

/* Of two limits, which are none where they are negative. */
static int earlier(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
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
    const size_t most = whole ? hn_compile_pool_poll(workers->pool, NULL, false) : 0;
    const size_t card_count = workers->card_count;
    if (workers->fds == NULL)
        workers->fds = hn_need(most + 2 + 2 * (workers->hosts != NULL ? HN_CARDS_MOST : card_count),
                               sizeof(struct pollfd));
    struct pollfd *fds = workers->fds;
    size_t count = 2;
    fds[0] = (struct pollfd){.fd = workers->pool->wakeup, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = whole ? workers->wakeup : -1, .events = POLLIN};
    if (whole) {
        count += hn_compile_pool_poll(workers->pool, fds + count, false);
        timeout_ms = earlier(timeout_ms, hn_compile_pool_timeout_ms(workers->pool));
    }
    for (size_t i = 0; i < card_count; i++) {
        struct hn_card *card = workers->cards[i];
        if (whole && is_elsewhere(workers, card))
            continue;
        count += hn_process_poll(&card->process, fds + count);
        timeout_ms = earlier(timeout_ms, timeout_of(card));
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
        count += hn_compile_pool_poll(workers->pool, fds + count, true);
    for (size_t i = 0; polled && i < card_count; i++)
        if (!whole || !is_elsewhere(workers, workers->cards[i]))
            count += hn_process_polled(&workers->cards[i]->process, fds + count);
    return woken;
}

bool hn_workers_open_lead(struct hn_workers *workers, bool waits, struct hn_error *err)
{
    struct hn_card *lead = workers->lead;
    size_t next = 0;
    if (hn_failed(err))
        return lead->known;
    while (!ask_device(lead, err) && !hn_failed(err) && waits) {
        hn_workers_sleep(workers, sleep_limit_ms);
        hn_interrupt_check(err);
    }
    if (!hn_failed(err) || err->status == HN_EINTERRUPTED)
        return lead->known;
    while (workers->cards[next++] != lead)
        continue;
    if (next == workers->card_count)
        return false;
    hn_workers_refuse(workers, lead, "%s", err->message);
    workers->lead = workers->cards[next];
    workers->lead->timeline = &workers->on_gpu;
    hn_error_init(err);
    return hn_workers_open_lead(workers, waits, err);
}

static void leave_cards(struct hn_workers *workers)
{
    const size_t count = workers->card_count;
    for (size_t i = 0; i < count; i++)
        leave_card(workers->cards[i]);
    for (bool waits = true; waits;) {
        waits = false;
        for (size_t i = 0; i < count; i++) {
            struct hn_card *card = workers->cards[i];
            struct hn_gpu_result result;
            struct hn_error reason = {.status = HN_OK};
            if (!card->requested)
                continue;
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
        hn_compile_pool_forget(workers->pool, HN_RANK_SETUP, NULL);
        leave_cards(workers);
        workers->on_gpu.count = 0;
        workers->compiling.count = 0;
    }
    workers->used = true;
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
    if (last == NULL || (!full && strcmp(last->what, what) != 0)) {
        last = &timeline->spans[timeline->count++];
        *last = (struct hn_span){.from_ms = from_ms, .to_ms = to_ms};
        snprintf(last->what, sizeof last->what, "%s", what);
    }
    last->from_ms = fmin(last->from_ms, from_ms);
    last->to_ms = fmax(last->to_ms, to_ms);
    last->count++;
    last->busy_ms += to_ms - from_ms;
}
