/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_HOSTS_NODE_H
#define HONE_TUNER_HOSTS_NODE_H

#include "base/error.h"

/* The files that came over the link, each under its hash: workers find the folder by this in their environment. */
#define HN_NODE_FILES "HONE_HOST_FILES"

/* The agent of a host, `hone worker node`: greets on its standard output, starts workers as it is told on its standard input, and
 * moves their bytes. It ends, and its workers with it, when a stream is closed, when nothing is heard for HN_LINK_SILENCE_MS, and
 * with its parent. gpus: how many the driver has, for the greeting. HN_EUSAGE: its input is a terminal. */
enum hn_status hn_node_run(int gpus, struct hn_error *err);

#endif
