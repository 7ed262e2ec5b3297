/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_REGIME_H
#define HONE_CACHE_RECORD_REGIME_H

#include <stdbool.h>

/* What a launch finds and what is in its time. Cold and warm: the kernels alone, with an L2 cache that was flushed, or as
 * the launch before left it. The others are as programs launch, one behind the other, and what launching costs is in the
 * time: by stream; as a graph of one launch that is replayed; as a graph of HN_GRAPH_CHAIN launches, a part of it. */
enum hn_regime { HN_COLD, HN_WARM, HN_STREAM, HN_GRAPH, HN_GRAPH10 };
enum { HN_GRAPH_CHAIN = 10 };

/* For options and messages. */
#define HN_REGIMES "cold|warm|stream|graph|graph10"
#define HN_REGIMES_EXPECTED "cold, warm, stream, graph or graph10"

const char *hn_regime_name(enum hn_regime regime);
bool hn_regime_parse(const char *name, enum hn_regime *regime);
/* What launching costs is in the time. */
bool hn_regime_is_deployed(enum hn_regime regime);

#endif
