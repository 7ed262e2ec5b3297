/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_HOSTS_GREETING_H
#define HONE_TUNER_HOSTS_GREETING_H

#include <stddef.h>

#include "base/error.h"

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
