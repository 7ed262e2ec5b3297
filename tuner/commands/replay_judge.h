/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_REPLAY_JUDGE_H
#define HONE_TUNER_COMMANDS_REPLAY_JUDGE_H

#include "cache/record/record.h"

enum hn_replay_verdict {
    HN_REPLAY_HOLDS, HN_REPLAY_VERIFIED_ONLY, HN_REPLAY_MACHINE, HN_REPLAY_SLOWER, HN_REPLAY_WRONG,
};

/* HN_REPLAY_SLOWER: the fastest process of now is slower than the record's by more than `most`, than processes differed
 * then (a tenth where that is not known), and than both intervals. HN_REPLAY_MACHINE: it would not be, but for what the
 * copies or the clock lost. */
enum hn_replay_verdict hn_replay_judge_time(const struct hn_timing *was, const struct hn_timing *now, double most);

#endif
