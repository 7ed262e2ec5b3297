/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_TURN_H
#define HONE_TUNER_WORKERS_TURN_H

/* Whoever works on a GPU takes turns with others: a lock per device, held around all GPU work of a variant. Without a
 * place for its file there is none; that must not end a run. */

/* The lock of a device, to be closed with close(); -1 when there is none, which the others take. */
int hn_turn_open(const char *uuid);
/* Waits for the turn. */
void hn_turn_take(int lock);
void hn_turn_end(int lock);

#endif
