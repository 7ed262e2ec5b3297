/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "runtime/process/message.h"
#include "tuner/hosts/hosts_part.h"

/* A host that lies: `liar LIE AGENT...` starts the agent, hands on what goes both ways, and changes
 * what workers there say. */

static const char *lie;
static struct hn_link hone, agent;

/* What came of each worker's channel and is no whole message yet. */
static struct hn_bytes parts[4096];
static bool opened[4096];

static void change(struct hn_message *message)
{
    json_t *json = message->json;
    json_t *record = json_object_get(json, "record");
    if (strcmp(lie, "record") == 0 && record != NULL)
        json_object_set_new(record, "outcome", json_string("splendid"));
    if (strcmp(lie, "point") == 0 && record != NULL)
        json_object_set_new(record, "point", json_pack("{si}", "BLOCK", 4711));
    if ((strcmp(lie, "failed") == 0 || strcmp(lie, "interrupted") == 0) && record != NULL) {
        json_object_set_new(json, "type", json_string("failed"));
        json_object_set_new(json, "status",
                            json_integer(lie[0] == 'f' ? HN_ECONFIG : HN_EINTERRUPTED));
        json_object_set_new(json, "message", json_string("the config is wrong"));
    }
    if (strcmp(lie, "cubin") == 0 && json_object_get(json, "image") != NULL)
        for (size_t i = 0; i < message->blob_count; i++)
            memset(message->blobs[i].data, 'x', message->blobs[i].size);
    if (strcmp(lie, "roofs") == 0 && json_object_get(json, "roofs") != NULL)
        json_object_set_new(json_object_get(json, "roofs"), "copy_gb_per_s", json_integer(-1));
    if (strcmp(lie, "race") == 0)
        json_object_del(json, "records");
    if (strcmp(lie, "noise") == 0 && json_object_get(json, "noise") != NULL)
        json_object_set_new(json, "noise", json_integer(-1));
}

/* A whole message of a worker, with its size before it. */
static void tell(uint32_t worker, const char *frame, size_t size)
{
    struct hn_message message;
    struct hn_error said;
    char *changed;
    if (strcmp(lie, "frame") == 0 && memmem(frame, size, "\"record\"", 8) != NULL)
        hn_bytes_append(&hone.output, "no frame at all", 15);
    if (hn_message_decode(frame + 4, size - 4, &message, &said) != HN_OK)
        exit(3);
    /* Its device is known, and it is heard no more; of what it compiles it is. */
    bool speaks = strcmp(lie, "silent") != 0 || !opened[worker % 4096];
    opened[worker % 4096] |= json_object_get(message.json, "device") != NULL;
    change(&message);
    if (hn_message_encode(&message, &changed, &size, NULL) != HN_OK)
        exit(3);
    if (speaks)
        hn_link_put(&hone, HN_LINK_DATA, worker, changed, size);
    free(changed);
    hn_message_finish(&message);
}

static void take_data(const struct hn_link_frame *frame)
{
    struct hn_bytes *part = &parts[frame->worker % 4096];
    hn_bytes_append(part, frame->data, frame->size);
    while (hn_bytes_size(part) >= 4) {
        const unsigned char *at = (const unsigned char *)part->data + part->start;
        size_t size = 4 + ((size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16);
        if (hn_bytes_size(part) < size)
            return;
        tell(frame->worker, (const char *)at, size);
        part->start += size;
    }
}

static void carry(struct hn_link *from, struct hn_link *to)
{
    struct hn_link_frame frame;
    if (!hn_link_read(from))
        exit(0);
    while (hn_link_next(from, &frame) == HN_LINK_FRAME) {
        bool said = from == &agent && frame.kind != HN_LINK_BEAT;
        if (said && strcmp(lie, "mute") == 0)
            continue;
        if (from == &agent && frame.kind == HN_LINK_DATA)
            take_data(&frame);
        else
            hn_link_put(to, frame.kind, frame.worker, frame.data, frame.size);
    }
}

static void start(char **words, int *to, int *from)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        exit(3);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], 0);
        dup2(out[1], 1);
        execvp(words[0], words);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    *to = in[1];
    *from = out[0];
}

/* It is handed on as it is. */
static void greet(int from)
{
    char text[4096];
    size_t size = 0, before = 0, length = 0;
    struct hn_greeting greeting;
    while (hn_greeting_find(text, size, &greeting, &before, &length, NULL) != HN_OK)
        if (size == sizeof text || read(from, text + size++, 1) != 1)
            exit(3);
    if (write(1, text, size) != (ssize_t)size)
        exit(3);
}

int main(int argc, char **argv)
{
    int to, from;
    if (argc < 3)
        return 2;
    lie = argv[1];
    start(argv + 2, &to, &from);
    greet(from);
    hn_link_init(&hone, 0, 1);
    hn_link_init(&agent, from, to);
    for (;;) {
        struct pollfd fds[] = {
            {.fd = 0, .events = POLLIN},
            {.fd = from, .events = POLLIN},
            {.fd = hn_bytes_size(&hone.output) > 0 ? 1 : -1, .events = POLLOUT},
            {.fd = hn_bytes_size(&agent.output) > 0 ? to : -1, .events = POLLOUT}};
        poll(fds, 4, -1);
        if (fds[0].revents != 0)
            carry(&hone, &agent);
        if (fds[1].revents != 0)
            carry(&agent, &hone);
        if (!hn_bytes_write(&hone.output, hone.out) || !hn_bytes_write(&agent.output, agent.out))
            return 0;
    }
}
