/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/device/library.h"
#include "runtime/libhone/kernel.h"
#include "runtime/process/process.h"

/* The program `hone`, which does for applications what should not happen in them. */

/* "<prefix>/bin/hone" for "<prefix>/lib/libhone.so.0"; NULL where there is none. */
static char *command_beside_library(void)
{
    char path[4096];
    char *command = NULL;
    const void *own = NULL;
    enum hone_status (*function)(const char *, struct hone_cache **, struct hone_error *) =
        hone_open;
    memcpy(&own, &function, sizeof own);
    if (!hn_library_path(own, path, sizeof path))
        return NULL;
    for (int i = 0; i < 3; i++) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            break;
        *slash = '\0';
        free(command);
        if (asprintf(&command, "%s/bin/hone", path) < 0)
            return NULL;
        if (access(command, X_OK) == 0)
            return command;
    }
    free(command);
    return NULL;
}

char *hn_lib_command(const struct hone_options *options)
{
    const char *environment = getenv("HONE_COMMAND");
    if (options->tune_command != NULL)
        return strdup(options->tune_command);
    if (environment != NULL && environment[0] != '\0')
        return strdup(environment);
    char *beside = command_beside_library();
    return beside != NULL ? beside : strdup("hone");
}

/* To start, with NVRTC, and to compile: as long as a tune gives a variant. */
static const double LIMIT_MS = 60e3;

/* What a compile worker is asked for, and what came of it. */
struct child {
    struct hn_process process;
    const struct hn_source *source;
    const char *architecture;
    struct hn_image *image;
    bool done;
};

static enum hn_status ask(struct child *child, struct hn_error *err)
{
    struct hn_message request = {.json = hn_message_of_source(child->source, child->architecture)};
    if (request.json == NULL)
        return hn_fail(err, HN_ECONFIG, "the template %s is not UTF-8",
                       child->source->template->path);
    enum hn_status status = hn_channel_send(&child->process.channel, &request, err);
    hn_message_finish(&request);
    return status;
}

static enum hn_status take(struct child *child, struct hn_message *message, struct hn_error *err)
{
    enum hn_status status = hn_message_gate(message, err);
    if (status != HN_OK)
        return status;
    const char *type = hn_message_type(message);
    if (!child->process.greeted)
        return hn_process_greet(&child->process, message, err);
    if (strcmp(type, "ready") == 0)
        return ask(child, err);
    if (strcmp(type, "compiled") == 0) {
        child->done = true;
        return hn_message_get_image(message, json_object_get(message->json, "image"), child->image,
                                    err);
    }
    const char *why = json_string_value(json_object_get(message->json, "message"));
    return hn_fail(err, HN_ERUN, "%s", why == NULL ? "it failed without a word" : why);
}

/* Takes what is there; HN_ERUN when the child is gone. */
static enum hn_status listen(struct child *child, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    hn_process_drain(&child->process);
    while (status == HN_OK && !child->done) {
        struct hn_message message;
        struct hn_error lost = {0};
        switch (hn_channel_receive(&child->process.channel, false, &message, &lost)) {
        case HN_RECEIVED_NOTHING:
            return HN_OK;
        case HN_RECEIVED_CLOSED: {
            char end[512];
            hn_process_describe_end(&child->process, hn_process_kill(&child->process), end,
                                    sizeof end);
            return hn_fail(err, HN_ERUN, "the process that compiles was %s", end);
        }
        case HN_RECEIVED_MESSAGE:
            break;
        }
        status = take(child, &message, err);
        hn_message_finish(&message);
    }
    return status;
}

static enum hn_status converse(struct child *child, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    double until_ms = hn_now_ms() + LIMIT_MS;
    while (status == HN_OK && !child->done) {
        struct pollfd fds[2];
        double left_ms = until_ms - hn_now_ms();
        if (left_ms <= 0)
            return hn_fail(err, HN_ERUN, "compiling took more than %g s and was ended",
                           LIMIT_MS / 1e3);
        poll(fds, hn_process_poll(&child->process, fds), (int)left_ms + 1);
        status = listen(child, err);
    }
    return status;
}

enum hn_status hn_lib_compile(const struct hone_options *options, const struct hn_source *source,
                              const char *architecture, struct hn_image *image,
                              struct hn_error *err)
{
    struct child child = {.source = source, .architecture = architecture, .image = image};
    char *command = hn_lib_command(options);
    if (command == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_process_start(&child.process, command, "compile", err);
    free(command);
    if (status != HN_OK)
        return HN_ENOTFOUND;
    status = converse(&child, err);
    hn_process_kill(&child.process);
    return status;
}
