/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_TICKET_H
#define HONE_TUNER_SESSION_TICKET_H

#include "base/hash.h"
#include "cache/record/record.h"
#include "runtime/compile/image.h"
#include "tuner/space/space.h"

/* The points that somebody has looked at are keys, the index of each value, numbered in the order seen: what is known of them goes
 * into arrays by this number, so that memory goes with what was tried and not with the size of the space, which need not be
 * enumerated. Below 0 when point a comes before b in the declared order. */
int hn_points_compare(const struct hn_keys *points, uint32_t a, uint32_t b);

/* One proposal on its way through a session. Tickets are numbered in the order proposed: the ladder's first, then the
 * strategy's. */
enum hn_ticket_state {
    HN_TICKET_COMPILING,
    HN_TICKET_COMPILED,   /* waits for its turn on the GPU */
    HN_TICKET_DUPLICATE,  /* waits for its original to finish */
    HN_TICKET_EVALUATING,
    HN_TICKET_FINISHED,
};

/* The part of a record that is compared. */
struct hn_result {
    double objective;
    double median_us;
    float low; /* lower end of the interval over the median */
    float clock_mhz;
    uint32_t against; /* the point that it duplicates or that stopped it early; HN_NO_KEY: none */
    uint8_t outcome;  /* enum hn_outcome */
    bool final;       /* took part in the final race that counts */
};

/* All that a ticket needs while it is under way, and for as long as somebody needs its record or its image. */
struct hn_flight {
    struct hn_record record;
    struct hn_image image; /* kept until measured, and for the best */
    size_t original;       /* of a duplicate: its ticket */
    size_t censor;         /* the ticket that it was held against when measured, or SIZE_MAX */
    size_t follower;       /* the first and the last duplicate that wait for this one, and the next that waits */
    size_t last_follower;  /* for the same: ticket + 1, 0 for none */
    size_t next_follower;
    double compiling_since_ms;
    bool held; /* somebody works on it: it stays */
};

/* There is one for every proposal of a session, so that it is small. */
struct hn_ticket {
    struct hn_result result;  /* once finished */
    struct hn_flight *flight; /* NULL: the record is in the cache */
    uint32_t point;           /* its number */
    uint8_t state;            /* enum hn_ticket_state */
    bool full;                /* of the ladder: no early stop */
    bool cached;              /* its record is of an earlier session */
    bool kept;                /* its record is in this session of the cache */
    bool decided;             /* the strategy was told of its compilation */
    bool told;                /* and that it is finished */
    bool replayed;            /* shares the record of an earlier ticket of the same point */
};

/* Growing array of tickets and where each point and each machine code has its first one. */
struct hn_tickets {
    struct hn_ticket *items;
    size_t count;
    size_t capacity;
    uint32_t *of_point; /* ticket + 1 by point; 0 for none */
    uint32_t point_capacity;
    struct hn_keys codes; /* of machine code with its launch */
    uint32_t *of_code;    /* ticket by code */
    uint32_t code_capacity;
};

void hn_tickets_init(struct hn_tickets *tickets);
void hn_tickets_finish(struct hn_tickets *tickets);
/* A new ticket, zeroed but for its point; its number. Earlier pointers become invalid; flights stay where they are. */
size_t hn_tickets_add(struct hn_tickets *tickets, uint32_t point);
/* Gives it a flight with empty record and image, where it has none. */
struct hn_flight *hn_tickets_fly(struct hn_tickets *tickets, size_t number);
void hn_tickets_land(struct hn_tickets *tickets, size_t number);
/* The first ticket of a point; SIZE_MAX when there is none. */
size_t hn_tickets_of_point(const struct hn_tickets *tickets, uint32_t point);
/* Makes `number` a duplicate that waits for `original`, both in flight; take_follower hands them out in that order,
 * then SIZE_MAX. */
void hn_tickets_follow(struct hn_tickets *tickets, size_t number, size_t original);
size_t hn_tickets_take_follower(struct hn_tickets *tickets, size_t original);
/* The ticket that first had this code; when there is none it is this one, and its own number comes back. code: as in a
 * record. */
size_t hn_tickets_first_of_code(struct hn_tickets *tickets, const char *code, size_t number);

#endif
