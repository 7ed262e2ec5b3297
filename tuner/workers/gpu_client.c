/* SPDX-License-Identifier: MIT */
#include "tuner/workers/gpu_client.h"

#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "tuner/workers/gpu_client_part.h"

/* A signal that comes just before a sleep is seen after it. */
static const int sleep_limit_ms = 200;

/* Turns are short: only who waits for longer wants to know why. */
static const double told_after_ms = 1000;

/* A worker may be killed from outside while it is set up; one that dies each time has a reason. */
static const int setup_deaths_most = 2;

enum hn_status hn_gpu_client_create(double run_timeout_s, bool announces,
                                    struct hn_gpu_client **out, struct hn_error *err)
{
    struct hn_gpu_client *client = calloc(1, sizeof *client);
    if (client == NULL)
        return hn_fail_memory(err);
    hn_process_init(&client->process);
    client->run_timeout_ms = run_timeout_s * 1e3;
    client->announces = announces;
    *out = client;
    return HN_OK;
}

void hn_gpu_client_set_host(struct hn_gpu_client *client, struct hn_host *host)
{
    client->host = host;
    client->process.place = hn_host_place(host);
}

static void end_turn(struct hn_gpu_client *client)
{
    if (client->meter.active > 0)
        hn_meter_end(&client->meter, hn_now_ms());
}

void hn_gpu_client_drop_request(struct hn_gpu_client *client)
{
    if (client->requested)
        hn_message_finish(&client->request);
    client->requested = false;
    client->waiting = false;
}

int hn_gpu_client_drop_worker(struct hn_gpu_client *client)
{
    client->step = 0;
    client->waiting = false;
    end_turn(client);
    return hn_process_kill(&client->process);
}

void hn_gpu_client_end(const struct hn_gpu_client *client)
{
    hn_process_end(&client->process);
}

void hn_gpu_client_destroy(struct hn_gpu_client *client)
{
    if (client == NULL)
        return;
    hn_process_abandon(&client->process);
    hn_gpu_client_drop_request(client);
    hn_message_finish(&client->beginning);
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
    hn_gpu_client_drop_worker(client);
    hn_gpu_client_drop_request(client);
}

bool hn_gpu_client_busy(const struct hn_gpu_client *client)
{
    return client->requested;
}

struct hn_meter *hn_gpu_client_meter(struct hn_gpu_client *client)
{
    return &client->meter;
}

void hn_gpu_client_set_sleep(struct hn_gpu_client *client, hn_gpu_client_sleep *sleep,
                             void *sleeper)
{
    client->sleep = sleep;
    client->sleeper = sleeper;
}

void hn_gpu_client_set_timeline(struct hn_gpu_client *client, struct hn_timeline *timeline)
{
    client->timeline = timeline;
}

int hn_gpu_client_guess(const struct hn_gpu_client *client)
{
    return client->guess;
}

enum hn_status hn_gpu_client_request(struct hn_gpu_client *client, struct hn_message *message,
                                     double timeout_s, struct hn_error *err)
{
    if (client->requested)
        return hn_fail(err, HN_ERUN, "the GPU worker is busy");
    client->request = *message;
    *message = (struct hn_message){0};
    client->requested = true;
    client->waiting = false;
    client->attempts = 0;
    client->request_limit_ms = timeout_s > 0 ? timeout_s * 1e3 : client->run_timeout_ms;
    return HN_OK;
}

size_t hn_gpu_client_poll(struct hn_gpu_client *client, struct pollfd *fds)
{
    return hn_process_poll(&client->process, fds);
}

size_t hn_gpu_client_polled(struct hn_gpu_client *client, const struct pollfd *fds)
{
    return hn_process_polled(&client->process, fds);
}

bool hn_gpu_client_quiet(const struct hn_gpu_client *client)
{
    return client->waiting && client->step == client->setup_count &&
           hn_process_is_quiet(&client->process);
}

static double limit_ms(const struct hn_gpu_client *client)
{
    return client->step < client->setup_count ? HN_GPU_SETUP_LIMIT_MS : client->request_limit_ms;
}

/* No limit holds while another tuner has its turn on the GPU; opening the device needs none. */
static bool awaits_turn(const struct hn_gpu_client *client)
{
    const struct hn_message *sent =
        client->step < client->setup_count ? &client->setup[client->step] : &client->request;
    return client->waiting && client->process.greeted && !client->begun &&
           strcmp(hn_message_type(sent), "open") != 0;
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
        return client->requested ? 0 : -1;
    if (awaits_turn(client))
        return client->host != NULL ? HN_GPU_MUTE_MS / 10 : -1;
    double left = client->sent_ms + limit_ms(client) - hn_now_ms();
    return left > 0 ? (int)left + 1 : 0;
}

static void end_request(struct hn_gpu_client *client, struct hn_gpu_result *result,
                        enum hn_gpu_end end)
{
    result->end = end;
    hn_gpu_client_drop_request(client);
}

/* What the worker will read of this machine gets to its host before the message. */
static bool share_data(const struct hn_gpu_client *client, const struct hn_message *message)
{
    size_t i;
    json_t *file;
    bool shared = true;
    if (client->host == NULL)
        return true;
    json_array_foreach(json_object_get(message->json, "data"), i, file)
    {
        struct hn_hash hash = {.hex = ""};
        const char *path = json_string_value(json_object_get(file, "path"));
        snprintf(hash.hex, sizeof hash.hex, "%s", json_string_value(json_object_get(file, "hash")));
        shared = shared && hn_host_share(client->host, path, &hash);
    }
    return shared;
}

/* A failure to send shows as a closed channel, with the reason in the worker's end; but what is too
 * long for a message never gets there. */
static enum hn_status send(struct hn_gpu_client *client, const struct hn_message *message,
                           struct hn_gpu_result *result, struct hn_error *err)
{
    struct hn_error reason;
    if (!share_data(client, message))
        return hn_fail_memory(err);
    enum hn_status status = hn_channel_send(&client->process.channel, message, &reason);
    if (status != HN_EFORMAT && status != HN_ENOMEM)
        return HN_OK;
    client->waiting = false;
    if (client->step < client->setup_count || status == HN_ENOMEM)
        return hn_fail(err, HN_ERUN, "setting up the GPU worker ('%s'): %s",
                       hn_message_type(message), reason.message);
    snprintf(result->text, sizeof result->text, "%.600s", reason.message);
    end_request(client, result, HN_GPU_CRASH);
    return HN_OK;
}

/* One that is not up may be soon. */
static enum hn_status check_host(const struct hn_gpu_client *client, struct hn_error *err)
{
    struct hn_host_view view;
    hn_host_look(client->host, &view);
    if (view.state != HN_HOST_OUT)
        return HN_OK;
    return hn_fail(err, HN_ERUN, "the GPU's host %s is left out: %s", view.name, view.reason);
}

enum hn_status hn_gpu_client_send_next(struct hn_gpu_client *client, struct hn_gpu_result *result,
                                       struct hn_error *err)
{
    if (client->waiting || !client->requested)
        return HN_OK;
    if (client->process.pid == 0 && !hn_process_ready(&client->process))
        return check_host(client, err);
    if (client->process.pid == 0) {
        enum hn_status status = hn_process_start(&client->process, NULL, "gpu", err);
        if (status != HN_OK)
            return status;
        client->step = 0;
    }
    bool setting_up = client->step < client->setup_count;
    if (!setting_up) {
        client->attempts++;
        client->setup_deaths = 0;
    }
    client->waiting = true;
    client->begun = false;
    client->holder[0] = '\0';
    client->sent_ms = client->asked_ms = hn_now_ms();
    hn_process_forget_output(&client->process);
    return send(client, setting_up ? &client->setup[client->step] : &client->request, result, err);
}

/* The worker is gone without an answer. */
static enum hn_status take_death(struct hn_gpu_client *client, struct hn_gpu_result *result,
                                 struct hn_error *err)
{
    char end[512];
    bool in_request = client->waiting && client->step >= client->setup_count;
    bool in_setup = client->waiting && !in_request;
    hn_process_describe_end(&client->process, hn_gpu_client_drop_worker(client), end, sizeof end);
    /* What was in hand is no reason why a host is lost. */
    if (client->process.lost) {
        client->attempts -= in_request;
        return HN_OK;
    }
    if (in_setup && ++client->setup_deaths >= setup_deaths_most)
        return hn_fail(err, HN_ERUN, "the GPU worker died twice while it was set up: %s", end);
    if (in_request && client->attempts >= 2) {
        snprintf(result->text, sizeof result->text, "the GPU worker died twice: %s", end);
        end_request(client, result, HN_GPU_CRASH);
    }
    return HN_OK;
}

const struct hn_health *hn_gpu_client_health(const struct hn_gpu_client *client)
{
    return &client->health;
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

static void note_reply(struct hn_gpu_client *client)
{
    const struct hn_message *sent =
        client->step < client->setup_count ? &client->setup[client->step] : &client->request;
    if (client->timeline != NULL)
        hn_timeline_add(client->timeline, hn_message_type(sent), client->asked_ms, hn_now_ms());
}

static enum hn_status take_message(struct hn_gpu_client *client, struct hn_message *message,
                                   struct hn_gpu_result *result, struct hn_error *err)
{
    enum hn_status status = hn_message_gate(message, err);
    const char *type = hn_message_type(message);
    if (status != HN_OK)
        return status;
    if (!client->process.greeted)
        return hn_process_greet(&client->process, message, err);
    if (strcmp(type, "guess") == 0) {
        json_int_t guess = json_integer_value(json_object_get(message->json, "capability"));
        client->guess = guess > 0 && guess <= 1000 ? (int)guess : 0;
        return HN_OK;
    }
    if (strcmp(type, "waiting") == 0) {
        const char *holder = json_string_value(json_object_get(message->json, "holder"));
        snprintf(client->holder, sizeof client->holder, "%s", holder != NULL ? holder : "");
        if (client->announces)
            fprintf(stderr, "waiting for the GPU: %s\n", client->holder);
        client->announces = false;
        return HN_OK;
    }
    if (strcmp(type, "begun") == 0) {
        client->begun = true;
        client->holder[0] = '\0';
        client->sent_ms = hn_now_ms();
        if (client->meter.active == 0)
            hn_meter_begin(&client->meter, client->sent_ms);
        return HN_OK;
    }
    end_turn(client);
    if (strcmp(type, "failed") == 0) {
        json_int_t code = json_integer_value(json_object_get(message->json, "status"));
        const char *text = json_string_value(json_object_get(message->json, "message"));
        return hn_fail(err, code > HN_OK && code < HN_EINTERRUPTED ? (enum hn_status)code : HN_ERUN,
                       "%s", text != NULL ? text : "the GPU worker failed");
    }
    if (!client->waiting)
        return HN_OK;
    add_health(client, json_object_get(message->json, "health"));
    note_reply(client);
    client->waiting = false;
    if (client->step < client->setup_count) {
        client->step++;
        return HN_OK;
    }
    bool dead = json_is_true(json_object_get(message->json, "dead"));
    result->message = *message;
    *message = (struct hn_message){0};
    end_request(client, result, HN_GPU_REPLY);
    if (dead) {
        hn_gpu_client_drop_worker(client);
        hn_process_describe_output(&client->process, result->text, sizeof result->text);
    }
    return HN_OK;
}

static enum hn_status listen_to(struct hn_gpu_client *client, struct hn_gpu_result *result,
                                struct hn_error *err)
{
    struct hn_error lost;
    if (hn_process_is_quiet(&client->process))
        return HN_OK;
    hn_process_drain(&client->process);
    while (client->process.pid != 0 && result->end == HN_GPU_NOTHING) {
        struct hn_message message;
        switch (hn_channel_receive(&client->process.channel, false, &message, &lost)) {
        case HN_RECEIVED_NOTHING:
            return HN_OK;
        case HN_RECEIVED_CLOSED:
            return take_death(client, result, err);
        case HN_RECEIVED_MESSAGE:
            break;
        }
        enum hn_status status = take_message(client, &message, result, err);
        hn_message_finish(&message);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

/* A worker says at once who it is, and that it begins or waits for its turn. Where a connection
 * lives and its worker does not, nothing else would end the wait. */
static enum hn_status check_mute(struct hn_gpu_client *client, struct hn_error *err)
{
    struct hn_host_view view;
    bool said = client->process.greeted && (!awaits_turn(client) || client->holder[0] != '\0');
    if (client->host == NULL || !client->waiting || said)
        return HN_OK;
    hn_host_look(client->host, &view);
    if (view.sends)
        client->sent_ms = hn_now_ms();
    if (hn_now_ms() - client->sent_ms < HN_GPU_MUTE_MS)
        return HN_OK;
    hn_gpu_client_drop_worker(client);
    return hn_fail(err, HN_ERUN, "the GPU's worker at host %s said nothing for %d s", view.name,
                   HN_GPU_MUTE_MS / 1000);
}

static enum hn_status enforce_limit(struct hn_gpu_client *client, struct hn_gpu_result *result,
                                    struct hn_error *err)
{
    enum hn_status status = check_mute(client, err);
    if (status != HN_OK)
        return status;
    if (!client->waiting || awaits_turn(client) || hn_now_ms() - client->sent_ms < limit_ms(client))
        return HN_OK;
    bool in_setup = client->step < client->setup_count;
    hn_gpu_client_drop_worker(client);
    if (in_setup)
        return hn_fail(err, HN_ERUN, "the GPU worker was not set up after %g s",
                       HN_GPU_SETUP_LIMIT_MS / 1e3);
    snprintf(result->text, sizeof result->text,
             "still running after %g s (--run-timeout); its worker was killed",
             client->request_limit_ms / 1e3);
    end_request(client, result, HN_GPU_TIMEOUT);
    return HN_OK;
}

enum hn_status hn_gpu_client_process(struct hn_gpu_client *client, struct hn_gpu_result *result,
                                     struct hn_error *err)
{
    *result = (struct hn_gpu_result){.end = HN_GPU_NOTHING};
    enum hn_status status = HN_OK;
    if (client->process.pid != 0)
        status = listen_to(client, result, err);
    if (status == HN_OK && result->end == HN_GPU_NOTHING)
        status = enforce_limit(client, result, err);
    if (status == HN_OK && result->end == HN_GPU_NOTHING)
        status = hn_gpu_client_send_next(client, result, err);
    return status;
}

static enum hn_status sleep_on(struct hn_gpu_client *client, struct hn_error *err)
{
    struct pollfd fds[2];
    if (client->sleep != NULL)
        return client->sleep(client->sleeper, err);
    size_t count = hn_gpu_client_poll(client, fds);
    int timeout = hn_gpu_client_timeout_ms(client);
    poll(fds, count, timeout >= 0 && timeout < sleep_limit_ms ? timeout : sleep_limit_ms);
    return hn_interrupt_check(err);
}

enum hn_status hn_gpu_client_wait(struct hn_gpu_client *client, struct hn_gpu_result *result,
                                  struct hn_error *err)
{
    for (;;) {
        enum hn_status status = hn_gpu_client_process(client, result, err);
        if (status == HN_OK && result->end == HN_GPU_NOTHING)
            status = sleep_on(client, err);
        if (status != HN_OK || result->end != HN_GPU_NOTHING)
            return status;
    }
}
