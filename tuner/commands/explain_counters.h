/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_EXPLAIN_COUNTERS_H
#define HONE_TUNER_COMMANDS_EXPLAIN_COUNTERS_H

#include "tuner/session/task.h"

/* `hone explain --counters`: reads what this machine's GPU counts of the best point of each problem, where that is not
 * known, and keeps it in the cache, as `hone tune --counters` of that point alone does. What was not tuned on this GPU is left as it is. Why there are no counters is
 * told on stderr. */
enum hn_status hn_explain_count(const struct hn_config *config, enum hn_regime regime, struct hn_store *store,
                                struct hn_error *err);

#endif
