/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_REPLAY_JUDGE_H
#define HONE_TUNER_COMMANDS_REPLAY_JUDGE_H

#include "cache/record/record.h"

enum hn_replay_verdict {
    HN_REPLAY_HOLDS, HN_REPLAY_VERIFIED_ONLY, HN_REPLAY_MACHINE, HN_REPLAY_SLOWER, HN_REPLAY_WRONG,
};

/* HN_REPLAY_SLOWER: half of the processes of now and more are slower than the record by more than `most` (a tenth at least
 * where the record is of one process) and than both intervals. The record's time is the median of its processes, or that of
 * its race, whichever is longer: a process may have been fast by chance. HN_REPLAY_MACHINE: slower, but for what the copies
 * or the clock lost. A single process (now->processes 0) is held against half of the limit: it is a reason to ask others. */
enum hn_replay_verdict hn_replay_judge_time(const struct hn_timing *was, const struct hn_timing *now, double most);

#endif
