/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "tuner/hosts/hosts.c"

/* What a host sends: the input is what is read behind its launcher, a greeting and then frames for
 * two workers of it. */

static void read_greeting(const uint8_t *data, size_t size)
{
    struct hn_greeting greeting;
    struct hn_error err = {0};
    size_t before = 0;
    size_t length = 0;
    char text[256];
    enum hn_status status =
        hn_greeting_find((const char *)data, size, &greeting, &before, &length, &err);
    if (status == HN_ENOTFOUND)
        return;
    if (!fuzz_fine(status, &err))
        return;
    fuzz_require(before + length <= size, "a greeting lies in what was read");
    struct hn_greeting again;
    hn_greeting_write(&greeting, text);
    fuzz_require(hn_greeting_find(text, strlen(text), &again, &before, &length, &err) == HN_OK &&
                     memcmp(&again, &greeting, sizeof again) == 0,
                 "a greeting that was written is the greeting");
}

static void take_all(struct hn_host *host)
{
    struct hn_link_frame frame;
    while (hn_link_next(&host->link, &frame) == HN_LINK_FRAME) {
        fuzz_require(frame.size <= HN_LINK_CHUNK, "a frame is bounded");
        take_worker_frame(host, &frame);
    }
    move_workers(host);
}

static void move_frames(const uint8_t *data, size_t size)
{
    int in[2];
    struct hn_host host = {.hosts = NULL};
    struct hn_process processes[2];
    fuzz_require(pipe(in) == 0, "there is a pipe");
    hn_link_init(&host.link, in[0], open("/dev/null", O_WRONLY));
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    /* What does not fit into the pipe is cut off. */
    (void)!write(in[1], data, size);
    close(in[1]);
    for (int i = 0; i < 2; i++) {
        hn_process_init(&processes[i]);
        fuzz_require(add_worker(&host, "compile", &processes[i]), "there are descriptors");
    }
    while (hn_link_read(&host.link))
        take_all(&host);
    lose_workers(&host);
    for (int i = 0; i < 2; i++) {
        struct hn_host_worker *worker = find_worker(&host, processes[i].number);
        fuzz_require(worker != NULL && worker->ended, "a worker that is held here stays known");
        worker->left = true;
        processes[i].pid = 0;
        hn_process_kill(&processes[i]);
    }
    move_workers(&host);
    fuzz_require(host.worker_count == 0, "none is left");
    free(host.workers);
    hn_link_finish(&host.link);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_greeting(data, size);
    move_frames(data, size);
    return 0;
}
