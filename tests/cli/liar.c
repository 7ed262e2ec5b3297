/* SPDX-License-Identifier: MIT */
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

/* A host that lies: `liar LIE FOLDER AGENT...` starts the agent, hands on what goes both ways, and
 * changes what workers there say. In the folder it leaves its number in `told` once it has told its
 * device, in `lied` with each lie, and in `left` when hone then ends a worker. `patient` says the
 * truth, and after the first records and images no more of them until there is a file `go`. */

static const char *lie;
static int folder;
static bool has_lied, waits;
static struct hn_link hone, agent;

/* What came of each worker's channel and was not told yet. */
static struct hn_bytes parts[4096];
static bool opened[4096];
/* So many records, and images, does a patient one tell. */
enum { TOLD_MOST = 8 };
static int records, images;

static void note(const char *name)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%d\n", (int)getpid());
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, (size_t)length) != length)
        exit(3);
    close(fd);
}

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

/* A whole message of a worker, with its size before it. False: not yet. */
static bool tell(uint32_t worker, const char *frame, size_t size)
{
    struct hn_message message;
    struct hn_error said;
    char *changed;
    if (hn_message_decode(frame + 4, size - 4, &message, &said) != HN_OK)
        exit(3);
    int *count = json_object_get(message.json, "record") != NULL  ? &records
                 : json_object_get(message.json, "image") != NULL ? &images
                                                                  : NULL;
    bool tells = !waits || count == NULL || *count < TOLD_MOST;
    if (tells && count != NULL)
        ++*count;
    /* Its device is known, and it is heard no more; of what it compiles it is. */
    bool silent = strcmp(lie, "silent") == 0 && opened[worker % 4096];
    bool frames = strcmp(lie, "frame") == 0 && count == &records;
    json_t *truth = json_deep_copy(message.json);
    change(&message);
    if (hn_message_encode(&message, &changed, &size, NULL) != HN_OK)
        exit(3);
    if (silent || frames || !json_equal(truth, message.json) ||
        (strcmp(lie, "cubin") == 0 && count == &images)) {
        has_lied = true;
        note("lied");
    }
    if (frames)
        hn_bytes_append(&hone.output, "no frame at all", 15);
    if (tells && !silent)
        hn_link_put(&hone, HN_LINK_DATA, worker, changed, size);
    if (json_object_get(message.json, "device") != NULL && !opened[worker % 4096]) {
        opened[worker % 4096] = true;
        note("told");
    }
    json_decref(truth);
    free(changed);
    hn_message_finish(&message);
    return tells;
}

static void tell_part(uint32_t worker)
{
    struct hn_bytes *part = &parts[worker];
    while (hn_bytes_size(part) >= 4) {
        const unsigned char *at = (const unsigned char *)part->data + part->start;
        size_t size = 4 + ((size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16);
        if (hn_bytes_size(part) < size || !tell(worker, (const char *)at, size))
            return;
        part->start += size;
    }
}

static void wait_no_more(void)
{
    waits = waits && faccessat(folder, "go", F_OK, 0) != 0;
    for (uint32_t worker = 0; !waits && worker < 4096; worker++)
        tell_part(worker);
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
        if (from == &hone && frame.kind == HN_LINK_END && has_lied)
            note("left");
        if (from == &agent && frame.kind == HN_LINK_DATA) {
            hn_bytes_append(&parts[frame.worker % 4096], frame.data, frame.size);
            tell_part(frame.worker % 4096);
        } else {
            hn_link_put(to, frame.kind, frame.worker, frame.data, frame.size);
        }
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
    if (argc < 4 || (folder = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return 2;
    lie = argv[1];
    waits = strcmp(lie, "patient") == 0;
    start(argv + 3, &to, &from);
    greet(from);
    hn_link_init(&hone, 0, 1);
    hn_link_init(&agent, from, to);
    for (;;) {
        struct pollfd fds[] = {
            {.fd = 0, .events = POLLIN},
            {.fd = from, .events = POLLIN},
            {.fd = hn_bytes_size(&hone.output) > 0 ? 1 : -1, .events = POLLOUT},
            {.fd = hn_bytes_size(&agent.output) > 0 ? to : -1, .events = POLLOUT}};
        poll(fds, 4, waits ? 20 : -1);
        if (waits)
            wait_no_more();
        if (fds[0].revents != 0)
            carry(&hone, &agent);
        if (fds[1].revents != 0)
            carry(&agent, &hone);
        if (!hn_bytes_write(&hone.output, hone.out) || !hn_bytes_write(&agent.output, agent.out))
            return 0;
    }
}
