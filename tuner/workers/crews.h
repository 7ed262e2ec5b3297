/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_WORKERS_CREWS_H
#define HONE_TUNER_WORKERS_CREWS_H

#include "tuner/workers/workers.h"

/* Searches side by side: the cards of all hosts are divided between crews, each of which a search uses in a thread of its own as the
 * workers that it has. Compile workers are shared. The thread that made the crews, and it alone, opens cards, moves compile workers on
 * and says who gets what; a card that is a crew's is that crew's thread's until it leaves. */
struct hn_crews;

/* Borrows workers that were started as `divided`. */
enum hn_status hn_crews_create(struct hn_workers *workers, struct hn_crews **crews, struct hn_error *err);
/* After all crews have ended. NULL is fine. */
void hn_crews_destroy(struct hn_crews *crews);

/* Moves on without blocking. HN_ERUN: nobody is left that compiles, of which the crews hear, too. */
enum hn_status hn_crews_move(struct hn_crews *crews, struct hn_error *err);
/* Until something is to be looked at. */
void hn_crews_sleep(struct hn_crews *crews);

/* A card that is known, there, and no crew's; i counts all cards, from 0. NULL: the i-th is not, or there is none. */
struct hn_card *hn_crews_idle(const struct hn_crews *crews, size_t i);
size_t hn_crews_card_count(const struct hn_crews *crews);
/* Whether there may be one later that nobody knows yet; whether there is one that is known and of use, if its host is there again. */
bool hn_crews_may_come(const struct hn_crews *crews);
bool hn_crews_remain(const struct hn_crews *crews);
/* It is of no use beside the others. */
void hn_crews_refuse(struct hn_crews *crews, const struct hn_card *card, const char *reason);
/* Why the last card that is of no use is none; "": there is none. */
const char *hn_crews_refusal(const struct hn_crews *crews);

/* An idle card leads a new one, or joins one, from which it goes when the crew ends. */
enum hn_status hn_crew_start(struct hn_crews *crews, struct hn_card *card, struct hn_workers **crew, struct hn_error *err);
void hn_crew_join(struct hn_crews *crews, struct hn_workers *crew, struct hn_card *card);
size_t hn_crew_size(struct hn_workers *crew);
/* Its thread's last call, once its backend is destroyed: cards let go of the problem. */
void hn_crew_leave(struct hn_workers *crew);
/* By any thread: who divides is to look. */
void hn_crews_wake(const struct hn_crews *crews);
/* By who divides, behind that. Cards that it refused stay so. lost: the host of the card that led it is lost for good. */
void hn_crew_end(struct hn_crews *crews, struct hn_workers *crew, bool *lost);

#endif
