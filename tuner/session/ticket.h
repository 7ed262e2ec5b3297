/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_TICKET_H
#define HONE_TUNER_SESSION_TICKET_H

#include "cache/record.h"
#include "runtime/image.h"

/* One proposal on its way through a session. Tickets are numbered in the order proposed: the ladder's first, then the
 * strategy's. */
enum hn_ticket_state {
    HN_TICKET_COMPILING,
    HN_TICKET_COMPILED,   /* waits for its turn on the GPU */
    HN_TICKET_DUPLICATE,  /* waits for its original to finish */
    HN_TICKET_EVALUATING,
    HN_TICKET_FINISHED,
};

struct hn_ticket {
    enum hn_ticket_state state;
    uint64_t point; /* number in the space */
    struct hn_record record;
    struct hn_image image; /* kept until measured, and for the best */
    uint64_t original;     /* of a duplicate: its ticket */
    size_t censor;         /* the ticket that it was held against when measured, or SIZE_MAX */
    size_t follower;       /* the first and the last duplicate that wait for this one, and the next that waits */
    size_t last_follower;  /* for the same: ticket + 1, 0 for none */
    size_t next_follower;
    bool full;             /* of the ladder: no early stop */
    bool cached;
    bool replayed; /* shares the record of an earlier ticket of the same point */
    double compiling_since_ms;
};

/* Growing array of tickets and where each point and each machine code has its first one. */
struct hn_tickets {
    struct hn_ticket *items;
    size_t count;
    size_t capacity;
    uint32_t *of_point; /* ticket + 1 by point number; 0 for none */
    void *by_code;      /* tree of code keys */
};

enum hn_status hn_tickets_init(struct hn_tickets *tickets, uint64_t points, struct hn_error *err);
void hn_tickets_finish(struct hn_tickets *tickets);
/* A new ticket, zeroed but for its number and empty record and image. Earlier pointers become invalid. */
enum hn_status hn_tickets_add(struct hn_tickets *tickets, uint64_t point, struct hn_ticket **ticket,
                              struct hn_error *err);
/* The first ticket of a point; NULL when there is none. */
struct hn_ticket *hn_tickets_of_point(struct hn_tickets *tickets, uint64_t point);
/* Makes `number` a duplicate that waits for `original`; take_follower hands them out in that order, then SIZE_MAX. */
void hn_tickets_follow(struct hn_tickets *tickets, size_t number, size_t original);
size_t hn_tickets_take_follower(struct hn_tickets *tickets, size_t original);
/* The ticket that first had this code key; when there is none it is this one, and its own number comes back. */
enum hn_status hn_tickets_first_of_code(struct hn_tickets *tickets, const char *key, uint64_t number, uint64_t *first,
                                        struct hn_error *err);

#endif
