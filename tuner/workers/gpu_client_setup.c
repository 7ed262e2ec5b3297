/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/workers/gpu_client_part.h"

static enum hn_status keep_setup(struct hn_gpu_client *client, const struct hn_message *message,
                                 const char *replaces, struct hn_error *err)
{
    for (size_t i = 0; replaces != NULL && i < client->setup_count; i++) {
        if (strcmp(hn_message_type(&client->setup[i]), replaces) != 0)
            continue;
        hn_message_finish(&client->setup[i]);
        return hn_message_copy(&client->setup[i], message, err);
    }
    struct hn_message *setup = realloc(client->setup, (client->setup_count + 1) * sizeof *setup);
    if (setup == NULL)
        return hn_fail_memory(err);
    client->setup = setup;
    enum hn_status status = hn_message_copy(&setup[client->setup_count], message, err);
    if (status == HN_OK)
        client->setup_count++;
    return status;
}

enum hn_status hn_gpu_client_keep(struct hn_gpu_client *client, const struct hn_message *message,
                                  const char *replaces, bool taken, struct hn_error *err)
{
    for (size_t i = 0; replaces != NULL && i < client->setup_count; i++) {
        if (strcmp(hn_message_type(&client->setup[i]), replaces) != 0)
            continue;
        hn_message_finish(&client->setup[i]);
        memmove(&client->setup[i], &client->setup[i + 1],
                (client->setup_count - i - 1) * sizeof *client->setup);
        client->setup_count--;
        client->step -= client->step > i;
        break;
    }
    enum hn_status status = keep_setup(client, message, NULL, err);
    if (status == HN_OK && taken && client->process.pid != 0)
        client->step = client->setup_count;
    return status;
}

enum hn_status hn_gpu_client_begin_setup(struct hn_gpu_client *client,
                                         const struct hn_message *message, struct hn_error *err)
{
    struct hn_message copy;
    struct hn_gpu_result result = {.end = HN_GPU_NOTHING};
    enum hn_status status = hn_message_copy(&client->beginning, message, err);
    if (status == HN_OK)
        status = hn_message_copy(&copy, message, err);
    if (status == HN_OK)
        status = hn_gpu_client_request(client, &copy, HN_GPU_SETUP_LIMIT_MS / 1e3, err);
    if (status == HN_OK)
        status = hn_gpu_client_send_next(client, &result, err);
    if (status == HN_OK && result.end != HN_GPU_NOTHING)
        status = hn_fail(err, HN_ERUN, "setting up the GPU worker ('%s'): %s",
                         hn_message_type(message), result.text);
    return status;
}

enum hn_status hn_gpu_client_end_setup(struct hn_gpu_client *client, const char *replaces,
                                       struct hn_message *reply, struct hn_error *err)
{
    struct hn_gpu_result result;
    struct hn_message message = client->beginning;
    client->beginning = (struct hn_message){0};
    enum hn_status status = hn_gpu_client_wait(client, &result, err);
    if (status != HN_OK)
        goto finish_message;
    if (result.end != HN_GPU_REPLY) {
        status = hn_fail(err, HN_ERUN, "setting up the GPU worker ('%s'): %s",
                         hn_message_type(&message), result.text);
        goto finish_message;
    }
    if (reply != NULL)
        *reply = result.message;
    else
        hn_message_finish(&result.message);
    /* The worker that has just answered has taken it already, unless its device faulted over it. */
    size_t had = client->setup_count;
    status = keep_setup(client, &message, replaces, err);
    if (status == HN_OK && client->process.pid != 0 && client->setup_count > had)
        client->step++;

finish_message:
    hn_message_finish(&message);
    return status;
}

enum hn_status hn_gpu_client_setup(struct hn_gpu_client *client, const struct hn_message *message,
                                   const char *replaces, struct hn_message *reply,
                                   struct hn_error *err)
{
    enum hn_status status = hn_gpu_client_begin_setup(client, message, err);
    return status == HN_OK ? hn_gpu_client_end_setup(client, replaces, reply, err) : status;
}

/* What holds for every problem. */
static bool is_lasting(const struct hn_message *message)
{
    return strcmp(hn_message_type(message), "open") == 0 ||
           strcmp(hn_message_type(message), "context") == 0;
}

static void forget_problem(struct hn_gpu_client *client)
{
    while (client->setup_count > 0 && !is_lasting(&client->setup[client->setup_count - 1]))
        hn_message_finish(&client->setup[--client->setup_count]);
    client->health = (struct hn_health){0};
}

enum hn_status hn_gpu_client_leave(struct hn_gpu_client *client, struct hn_error *err)
{
    struct hn_message leave;
    struct hn_gpu_result result = {.end = HN_GPU_NOTHING};
    enum hn_status status = HN_OK;
    /* A worker that is not up to date, or still at something, is not worth waiting for. */
    bool usable =
        client->process.pid != 0 && !client->requested && client->step == client->setup_count;
    if (usable) {
        hn_message_init(&leave, "leave");
        status = hn_gpu_client_request(client, &leave, HN_GPU_SETUP_LIMIT_MS / 1e3, err);
        if (status == HN_OK)
            status = hn_gpu_client_wait(client, &result, err);
        if (result.end == HN_GPU_REPLY)
            hn_message_finish(&result.message);
    }
    if (result.end != HN_GPU_REPLY)
        hn_gpu_client_drop(client);
    forget_problem(client);
    if (client->step > client->setup_count)
        client->step = client->setup_count;
    return status;
}
