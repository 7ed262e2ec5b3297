/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_TURN_H
#define HONE_TUNER_WORKERS_TURN_H

#include <stdbool.h>

/* Whoever works on a GPU takes turns with others: a lock per device, held around all GPU work of a variant. It is one for all
 * users of the machine: the file /tmp/hone-UUID.lock, whatever TMPDIR says, or in $HONE_LOCKS, for where /tmp is not shared.
 * What lies there is nobody's word: a file that is no regular one, a link or a hard link is not touched. Who has the lock
 * writes its number and the time into the file, to be told to those that wait. */

/* The lock of a device, for hn_close(); -1 when there is none, which the others take: that must not end a run.
 * warning: why there is none, what that means and what to do; where it is NULL, that is said on stderr. */
int hn_turn_open(const char *uuid, char warning[512]);

/* Takes the turn if nobody has it, or waits for it. */
bool hn_turn_take(int lock, bool waits);
/* Waits for it; says on stderr who has it where that lasts. */
void hn_turn_await(int lock);
void hn_turn_end(int lock);

/* "process 4711 has it since 12:03:04", as far as it has said so. */
void hn_turn_holder(int lock, char text[64]);

#endif
