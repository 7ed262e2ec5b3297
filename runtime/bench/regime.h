/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_REGIME_H
#define HONE_RUNTIME_BENCH_REGIME_H

#include <stdbool.h>

/* What the L2 cache holds when a launch is timed: nothing of its data, or what the launch before it left. */
enum hn_regime { HN_COLD, HN_WARM };
const char *hn_regime_name(enum hn_regime regime);
bool hn_regime_parse(const char *name, enum hn_regime *regime);

#endif
