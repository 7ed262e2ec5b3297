/* SPDX-License-Identifier: MIT */
#include "runtime/process/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

void hn_worker_fail(struct hn_channel *channel, enum hn_status status, const struct hn_error *err)
{
    struct hn_message message;
    hn_message_init(&message, "failed");
    json_object_set_new(message.json, "status", json_integer(status));
    json_object_set_new(message.json, "message", json_string(err->message));
    hn_channel_send(channel, &message, NULL);
    hn_message_finish(&message);
}

/* With nvcc's processes. */
static double cpu_ms(void)
{
    struct timespec spent;
    struct rusage children;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    getrusage(RUSAGE_CHILDREN, &children);
    return (double)(spent.tv_sec + children.ru_utime.tv_sec + children.ru_stime.tv_sec) * 1e3 +
           (double)spent.tv_nsec * 1e-6 +
           (double)(children.ru_utime.tv_usec + children.ru_stime.tv_usec) * 1e-3;
}

/* One variant too large to be sent is no reason to end the run. */
static void shorten(struct hn_image *image)
{
    const size_t most = HN_MESSAGE_LIMIT - (4u << 20);
    if (image->size <= most)
        return;
    char message[96];
    snprintf(message, sizeof message, "its code has %zu bytes; at most %zu can be sent",
             image->size, most);
    hn_image_finish(image);
    image->message = strdup(message);
}

/* False when hone is gone. */
static bool answer(struct hn_channel *channel, const struct hn_nvrtc *nvrtc,
                   const struct hn_message *message)
{
    struct hn_compile_request request;
    struct hn_image image;
    struct hn_message reply = {0};
    struct hn_error err = {0};
    hn_image_init(&image);
    double start_ms = cpu_ms();
    if (hn_message_get_request(message, &request, &err) == HN_OK)
        hn_compile(nvrtc, &request, &image, &err);
    hn_message_finish_request(&request);
    if (!hn_failed(&err)) {
        shorten(&image);
        hn_message_init(&reply, "compiled");
        json_object_set_new(reply.json, "cpu_ms", json_real(cpu_ms() - start_ms));
        if (hn_message_add_image(&reply, "image", &image, &err) == HN_OK)
            hn_channel_send(channel, &reply, &err);
    }
    hn_message_finish(&reply);
    hn_image_finish(&image);
    if (hn_failed(&err))
        hn_worker_fail(channel, err.status, &err);
    return !hn_failed(&err);
}

/* There are as many as cores: hone and the GPU worker, which only ever need a moment, go first. */
static const int niceness = 5;

void hn_worker_compile(struct hn_channel *channel)
{
    struct hn_nvrtc nvrtc;
    struct hn_message ready, request;
    struct hn_error err = {0};
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + niceness);
    enum hn_status status = hn_nvrtc_open(&nvrtc, &err);
    if (status != HN_OK) {
        hn_worker_fail(channel, status, &err);
        return;
    }
    hn_machine_limit_memory();
    hn_message_init(&ready, "ready");
    json_object_set_new(ready.json, "nvrtc", json_sprintf("%d.%d", nvrtc.major, nvrtc.minor));
    bool alive = hn_channel_send(channel, &ready, &err) == HN_OK;
    hn_message_finish(&ready);
    while (alive && hn_channel_receive(channel, true, &request, &err) == HN_RECEIVED_MESSAGE) {
        alive = answer(channel, &nvrtc, &request);
        hn_message_finish(&request);
    }
    hn_nvrtc_close(&nvrtc);
}
