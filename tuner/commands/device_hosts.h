/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_DEVICE_HOSTS_H
#define HONE_TUNER_COMMANDS_DEVICE_HOSTS_H

#include <jansson.h>

#include "cache/store/store.h"
#include "tuner/commands/command.h"

/* Shows what --workers names: hosts, their GPUs side by side with what the cache holds of their roofs, compile workers, and why a
 * host can not be used. store may be NULL. document: where to add "hosts"; NULL: text on stdout. HN_ERUN: no host can be used. */
enum hn_status hn_device_show_hosts(const struct hn_options *options, struct hn_store *store, json_t *document, struct hn_error *err);

#endif
