/* SPDX-License-Identifier: MIT */
#include "tuner/workers/gpu_client.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"

/* Turns are short: only who waits for longer wants to know why. */
static const double told_after_ms = 1000;

/* A worker may be killed from outside while it is set up; one that dies each time has a reason. */
static const int setup_deaths_most = 2;

/* Computing references may take long on a large machine; a hang still ends. */
static const double setup_limit_ms = 120e3;
/* Of one at a host that has got all that was sent. */
enum { MUTE_MS = 15000 };

struct hn_gpu_client *hn_gpu_client_create(double run_timeout_s, struct hn_host *host)
{
    struct hn_gpu_client *client = hn_need(1, sizeof *client);
    hn_process_init(&client->process);
    client->run_timeout_ms = run_timeout_s * 1e3;
    client->host = host;
    client->process.place = host != NULL ? hn_host_place(host) : NULL;
    return client;
}

static void end_turn(struct hn_gpu_client *client)
{
    if (client->meter.active > 0)
        hn_meter_end(&client->meter, hn_now_ms());
}

static void drop_request(struct hn_gpu_client *client)
{
    if (client->requested)
        hn_message_finish(&client->request);
    client->requested = false;
    client->waiting = false;
}

/* Returns how it ended, as waitpid() says. */
static int drop_worker(struct hn_gpu_client *client)
{
    client->step = 0;
    client->waiting = false;
    end_turn(client);
    return hn_process_kill(&client->process);
}

void hn_gpu_client_destroy(struct hn_gpu_client *client)
{
    if (client == NULL)
        return;
    hn_process_abandon(&client->process);
    drop_request(client);
    for (size_t i = 0; i < client->setup_count; i++)
        hn_message_finish(&client->setup[i]);
    free(client->setup);
    free(client);
}

bool hn_gpu_client_reachable(const struct hn_gpu_client *client)
{
    return client->process.pid != 0 || hn_process_ready(&client->process);
}

void hn_gpu_client_drop(struct hn_gpu_client *client)
{
    drop_worker(client);
    drop_request(client);
}

bool hn_gpu_client_busy(const struct hn_gpu_client *client)
{
    return client->requested;
}

enum hn_status hn_gpu_client_request(struct hn_gpu_client *client, struct hn_message *message,
                                     double timeout_s, struct hn_error *err)
{
    if (client->requested)
        return hn_fail(err, HN_ERUN, "the GPU worker is busy");
    client->request = *message;
    *message = (struct hn_message){0};
    client->requested = true;
    client->attempts = 0;
    client->request_limit_ms = timeout_s > 0 ? timeout_s * 1e3 : client->run_timeout_ms;
    return HN_OK;
}

static bool is_setting_up(const struct hn_gpu_client *client)
{
    return client->step < client->setup_count;
}

/* Whether a worker is to be told something. One that is not there is started by a request alone. */
static bool has_work(const struct hn_gpu_client *client)
{
    return client->requested || (client->process.pid != 0 && is_setting_up(client));
}

/* The setup message that is next, or the request. */
static const struct hn_message *current(const struct hn_gpu_client *client)
{
    return is_setting_up(client) ? &client->setup[client->step] : &client->request;
}

bool hn_gpu_client_quiet(const struct hn_gpu_client *client)
{
    return client->waiting && !is_setting_up(client) && hn_process_is_quiet(&client->process);
}

static double limit_ms(const struct hn_gpu_client *client)
{
    return is_setting_up(client) ? setup_limit_ms : client->request_limit_ms;
}

/* No limit holds while another tuner has its turn on the GPU; opening the device needs none. */
static bool awaits_turn(const struct hn_gpu_client *client)
{
    return client->waiting && client->process.greeted && !client->begun &&
           strcmp(hn_message_type(current(client)), "open") != 0;
}

const char *hn_gpu_client_holder(const struct hn_gpu_client *client)
{
    bool long_ago = hn_now_ms() - client->asked_ms > told_after_ms;
    return awaits_turn(client) && client->holder[0] != '\0' && long_ago ? client->holder : NULL;
}

int hn_gpu_client_timeout_ms(const struct hn_gpu_client *client)
{
    if (!client->waiting && client->process.pid == 0 && !hn_process_ready(&client->process))
        return -1;
    if (!client->waiting)
        return has_work(client) ? 0 : -1;
    if (awaits_turn(client))
        return client->host != NULL ? MUTE_MS / 10 : -1;
    double left = client->sent_ms + limit_ms(client) - hn_now_ms();
    return left > 0 ? (int)left + 1 : 0;
}

static void end_request(struct hn_gpu_client *client, struct hn_gpu_result *result,
                        enum hn_gpu_end end)
{
    result->end = end;
    drop_request(client);
}

/* What the worker will read of this machine gets to its host before the message. */
static void share_data(const struct hn_gpu_client *client, const struct hn_message *message)
{
    size_t i;
    json_t *file;
    json_array_foreach(client->host != NULL ? json_object_get(message->json, "data") : NULL, i,
                       file)
    {
        struct hn_hash hash = {.hex = ""};
        const char *path = json_string_value(json_object_get(file, "path"));
        snprintf(hash.hex, sizeof hash.hex, "%s", json_string_value(json_object_get(file, "hash")));
        hn_host_share(client->host, path, &hash);
    }
}

/* A failure to send shows as a closed channel, with the reason in the worker's end; but what is too
 * long for a message never gets there. */
static void send_current(struct hn_gpu_client *client, struct hn_gpu_result *result,
                         struct hn_error *err)
{
    struct hn_error reason;
    const struct hn_message *message = current(client);
    share_data(client, message);
    enum hn_status status = hn_channel_send(&client->process.channel, message, &reason);
    if (status != HN_EFORMAT && status != HN_ENOMEM)
        return;
    client->waiting = false;
    if (is_setting_up(client) || status == HN_ENOMEM) {
        hn_fail(err, HN_ERUN, "setting up the GPU worker ('%s'): %s", hn_message_type(message),
                reason.message);
        return;
    }
    snprintf(result->text, sizeof result->text, "%.600s", reason.message);
    end_request(client, result, HN_GPU_CRASH);
}

/* One that is not up may be soon. */
static void check_host(const struct hn_gpu_client *client, struct hn_error *err)
{
    struct hn_host_view view;
    hn_host_look(client->host, &view);
    if (view.state == HN_HOST_OUT)
        hn_fail(err, HN_ERUN, "the GPU's host %s is left out: %s", view.name, view.reason);
}

/* Sends what is next: a setup message that this worker has not had, or the request. Starts a worker
 * when there is none. */
static void send_next(struct hn_gpu_client *client, struct hn_gpu_result *result,
                      struct hn_error *err)
{
    if (hn_failed(err) || result->end != HN_GPU_NOTHING || client->waiting || !has_work(client))
        return;
    if (client->process.pid == 0 && !hn_process_ready(&client->process)) {
        check_host(client, err);
        return;
    }
    if (client->process.pid == 0) {
        if (hn_process_start(&client->process, NULL, "gpu", err) != HN_OK)
            return;
        client->step = 0;
    }
    if (!is_setting_up(client)) {
        client->attempts++;
        client->setup_deaths = 0;
    }
    client->waiting = true;
    client->begun = false;
    client->holder[0] = '\0';
    client->sent_ms = client->asked_ms = hn_now_ms();
    hn_process_forget_output(&client->process);
    send_current(client, result, err);
}

/* The worker is gone without an answer. */
static void take_death(struct hn_gpu_client *client, struct hn_gpu_result *result,
                       struct hn_error *err)
{
    char end[512];
    bool in_request = client->waiting && !is_setting_up(client);
    bool in_setup = client->waiting && !in_request;
    hn_process_describe_end(&client->process, drop_worker(client), end, sizeof end);
    /* What was in hand is no reason why a host is lost. */
    if (client->process.lost) {
        client->attempts -= in_request;
    } else if (in_setup && ++client->setup_deaths >= setup_deaths_most) {
        hn_fail(err, HN_ERUN, "the GPU worker died twice while it was set up: %s", end);
    } else if (in_request && client->attempts >= 2) {
        snprintf(result->text, sizeof result->text, "the GPU worker died twice: %s", end);
        end_request(client, result, HN_GPU_CRASH);
    }
}

static void add_health(struct hn_gpu_client *client, json_t *json)
{
    struct hn_health seen = {.watching = true};
    int numbers[4] = {0};
    const char *process = "";
    if (json == NULL || json_unpack(json, "{si si si si ss}", "checks", &numbers[0], "held_down",
                                    &numbers[1], "reasons", &numbers[2], "other_processes",
                                    &numbers[3], "process", &process) != 0)
        return;
    seen.checks = (unsigned)numbers[0];
    seen.held_down = (unsigned)numbers[1];
    seen.reasons = (unsigned)numbers[2];
    seen.other_processes = (unsigned)numbers[3];
    snprintf(seen.process, sizeof seen.process, "%s", process);
    hn_health_add(&client->health, &seen);
}

static void take_waiting(struct hn_gpu_client *client, const struct hn_message *message)
{
    const char *holder = json_string_value(json_object_get(message->json, "holder"));
    snprintf(client->holder, sizeof client->holder, "%s", holder != NULL ? holder : "");
    if (client->announces)
        fprintf(stderr, "waiting for the GPU: %s\n", client->holder);
    client->announces = false;
}

static void take_begun(struct hn_gpu_client *client)
{
    client->begun = true;
    client->holder[0] = '\0';
    client->sent_ms = hn_now_ms();
    if (client->meter.active == 0)
        hn_meter_begin(&client->meter, client->sent_ms);
}

static void take_failure(const struct hn_message *message, struct hn_error *err)
{
    json_int_t code = json_integer_value(json_object_get(message->json, "status"));
    const char *text = json_string_value(json_object_get(message->json, "message"));
    hn_fail(err, code > HN_OK && code < HN_EINTERRUPTED ? (enum hn_status)code : HN_ERUN, "%s",
            text != NULL ? text : "the GPU worker failed");
}

/* The message is empty then where it is the request's. */
static void take_reply(struct hn_gpu_client *client, struct hn_message *message,
                       struct hn_gpu_result *result)
{
    add_health(client, json_object_get(message->json, "health"));
    if (client->timeline != NULL)
        hn_timeline_add(client->timeline, hn_message_type(current(client)), client->asked_ms,
                        hn_now_ms());
    client->waiting = false;
    if (is_setting_up(client)) {
        client->step++;
        return;
    }
    bool dead = json_is_true(json_object_get(message->json, "dead"));
    result->message = *message;
    *message = (struct hn_message){0};
    end_request(client, result, HN_GPU_REPLY);
    if (dead) {
        drop_worker(client);
        hn_process_describe_output(&client->process, result->text, sizeof result->text);
    }
}

static void take_message(struct hn_gpu_client *client, struct hn_message *message,
                         struct hn_gpu_result *result, struct hn_error *err)
{
    if (hn_message_gate(message, err) != HN_OK)
        return;
    const char *type = hn_message_type(message);
    if (!client->process.greeted) {
        hn_process_greet(&client->process, message, err);
    } else if (strcmp(type, "guess") == 0) {
        json_int_t guess = json_integer_value(json_object_get(message->json, "capability"));
        client->guess = guess > 0 && guess <= 1000 ? (int)guess : 0;
    } else if (strcmp(type, "waiting") == 0) {
        take_waiting(client, message);
    } else if (strcmp(type, "begun") == 0) {
        take_begun(client);
    } else {
        end_turn(client);
        if (strcmp(type, "failed") == 0)
            take_failure(message, err);
        else if (client->waiting)
            take_reply(client, message, result);
    }
}

static void listen_to(struct hn_gpu_client *client, struct hn_gpu_result *result,
                      struct hn_error *err)
{
    if (client->process.pid == 0 || hn_process_is_quiet(&client->process))
        return;
    hn_process_drain(&client->process);
    while (!hn_failed(err) && client->process.pid != 0 && result->end == HN_GPU_NOTHING) {
        struct hn_message message;
        struct hn_error lost;
        switch (hn_channel_receive(&client->process.channel, false, &message, &lost)) {
        case HN_RECEIVED_NOTHING:
            return;
        case HN_RECEIVED_CLOSED:
            take_death(client, result, err);
            return;
        case HN_RECEIVED_MESSAGE:
            take_message(client, &message, result, err);
            hn_message_finish(&message);
            break;
        }
    }
}

/* A worker says at once who it is, and that it begins or waits for its turn. Where a connection
 * lives and its worker does not, nothing else would end the wait. */
static void check_mute(struct hn_gpu_client *client, struct hn_error *err)
{
    struct hn_host_view view;
    bool said = client->process.greeted && (!awaits_turn(client) || client->holder[0] != '\0');
    if (hn_failed(err) || client->host == NULL || !client->waiting || said)
        return;
    hn_host_look(client->host, &view);
    if (view.sends)
        client->sent_ms = hn_now_ms();
    if (hn_now_ms() - client->sent_ms < MUTE_MS)
        return;
    drop_worker(client);
    hn_fail(err, HN_ERUN, "the GPU's worker at host %s said nothing for %d s", view.name,
            MUTE_MS / 1000);
}

static void enforce_limit(struct hn_gpu_client *client, struct hn_gpu_result *result,
                          struct hn_error *err)
{
    if (hn_failed(err) || result->end != HN_GPU_NOTHING || !client->waiting ||
        awaits_turn(client) || hn_now_ms() - client->sent_ms < limit_ms(client))
        return;
    bool in_setup = is_setting_up(client);
    drop_worker(client);
    if (in_setup) {
        hn_fail(err, HN_ERUN, "the GPU worker was not set up after %g s", setup_limit_ms / 1e3);
        return;
    }
    snprintf(result->text, sizeof result->text,
             "still running after %g s (--run-timeout); its worker was killed",
             client->request_limit_ms / 1e3);
    end_request(client, result, HN_GPU_TIMEOUT);
}

enum hn_status hn_gpu_client_process(struct hn_gpu_client *client, struct hn_gpu_result *result,
                                     struct hn_error *err)
{
    result->end = HN_GPU_NOTHING;
    result->message = (struct hn_message){0};
    result->text[0] = '\0';
    hn_error_init(err);
    listen_to(client, result, err);
    if (result->end == HN_GPU_NOTHING)
        check_mute(client, err);
    enforce_limit(client, result, err);
    send_next(client, result, err);
    return err->status;
}

/* What holds for every problem. */
static bool is_lasting(const struct hn_message *message)
{
    return strcmp(hn_message_type(message), "open") == 0 ||
           strcmp(hn_message_type(message), "context") == 0;
}

void hn_gpu_client_keep(struct hn_gpu_client *client, const struct hn_message *message,
                        const char *replaces, bool taken)
{
    for (size_t i = 0; replaces != NULL && i < client->setup_count; i++) {
        if (strcmp(hn_message_type(&client->setup[i]), replaces) != 0)
            continue;
        hn_message_finish(&client->setup[i]);
        client->setup_count--;
        memmove(&client->setup[i], &client->setup[i + 1],
                (client->setup_count - i) * sizeof *client->setup);
        client->step -= client->step > i;
        break;
    }
    client->setup = hn_need_more(client->setup, client->setup_count + 1, sizeof *client->setup);
    if (hn_message_copy(&client->setup[client->setup_count++], message, NULL) != HN_OK)
        hn_needed(NULL);
    if (taken && client->process.pid != 0)
        client->step = client->setup_count;
}

void hn_gpu_client_keep_as(struct hn_gpu_client *client, const struct hn_gpu_client *other)
{
    for (size_t i = 0; i < other->setup_count; i++)
        if (!is_lasting(&other->setup[i]))
            hn_gpu_client_keep(client, &other->setup[i], NULL, false);
}

void hn_gpu_client_leave(struct hn_gpu_client *client)
{
    size_t lasting = 0;
    while (lasting < client->setup_count && is_lasting(&client->setup[lasting]))
        lasting++;
    bool at_work = client->requested || client->waiting;
    bool has_bench = client->process.pid != 0 && client->step > lasting;
    while (client->setup_count > lasting)
        hn_message_finish(&client->setup[--client->setup_count]);
    client->step = client->step < lasting ? client->step : lasting;
    client->health = (struct hn_health){0};
    if (at_work)
        hn_gpu_client_drop(client);
    if (at_work || !has_bench)
        return;
    struct hn_message leave;
    hn_message_init(&leave, "leave");
    hn_gpu_client_request(client, &leave, setup_limit_ms / 1e3, NULL);
}
