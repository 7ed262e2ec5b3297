/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_HOSTS_INSTALL_H
#define HONE_TUNER_HOSTS_INSTALL_H

#include "tuner/hosts/link.h"

/* A host without Hone is given this very program over its launcher, which starts `sh` there: a line that makes a folder of its own under
 * TMPDIR, says that it is ready, takes so many bytes and runs them as the agent; the agent removes file and folder before it greets. */
#define HN_INSTALL_READY "\nhone-install\n"

/* Queues the line. HN_ERUN: this program can not be read. */
enum hn_status hn_install_begin(struct hn_bytes *output, bool count, struct hn_error *err);
/* Queues the program. */
enum hn_status hn_install_send(struct hn_bytes *output, struct hn_error *err);
/* By the agent: takes away what it was started from. */
void hn_install_remove(void);

#endif
