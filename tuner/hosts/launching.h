/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_HOSTS_LAUNCHING_H
#define HONE_TUNER_HOSTS_LAUNCHING_H

#include "runtime/process/process.h"
#include "tuner/hosts/link.h"

/* How an agent comes up at a host: the command that starts it, this program where there is no Hone, and the line by which it greets. */

/* Starts `run hone worker node`, or with `installs` `run sh`, by the shell, in a process group of its own. to and from: its stdin and stdout; its stderr is
 * drained as a worker's output. hone NULL: this very program, by its path. count: whether the agent is to look how many GPUs
 * there are. */
enum hn_status hn_launcher_start(struct hn_process *launcher, const char *run, const char *hone, bool count, bool installs, int *to, int *from,
                                 struct hn_error *err);

/* A host without Hone is given this very program over its launcher, which starts `sh` there: a line that makes a folder of its own under
 * TMPDIR, says that it is ready, takes so many bytes and runs them as the agent; the agent removes file and folder before it greets. */
#define HN_INSTALL_READY "\nhone-install\n"

/* Queues the line. HN_ERUN: this program can not be read. */
enum hn_status hn_install_begin(struct hn_bytes *output, bool count, struct hn_error *err);
/* Queues the program. */
enum hn_status hn_install_send(struct hn_bytes *output, struct hn_error *err);
/* By the agent: takes away what it was started from. */
void hn_install_remove(void);

/* What a host's agent says first: a line, so that it is found behind what launchers and shells print, and can be read by whatever
 * Hone is at the other end.
 *
 *     hone-node protocol=4 build=0.1.0 host=gpu7 compile=16 gpus=4 */
struct hn_greeting {
    int protocol;
    char build[32];
    char host[64];
    int compile; /* workers that the machine allows */
    int gpus;    /* that the driver has */
};

/* With the newline before and behind it. */
void hn_greeting_write(const struct hn_greeting *greeting, char text[256]);

/* Looks for it: *size is how many bytes come before it, *length its own. HN_ENOTFOUND: it is not there yet. HN_ERUN: it is of
 * another Hone, or is none. */
enum hn_status hn_greeting_find(const char *text, size_t limit, struct hn_greeting *greeting, size_t *size, size_t *length,
                                struct hn_error *err);

#endif
