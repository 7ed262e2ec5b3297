/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_LIVE_H
#define HONE_TUNER_SESSION_LIVE_H

#include "tuner/session/backend.h"
#include "tuner/workers/workers.h"

/* The backend of worker processes, shared by live.c (the loop, bench, references, warm clocks, and all that is run while the caller
 * waits) and live_cards.c (evaluations, and several cards). Functions that take an err and return nothing are sticky. */

/* A point that the lead has measured in full, for the others to be held against. */
struct hn_live_anchor {
    struct hn_message message; /* "point" and "image" */
    struct hn_bindings point;
    double median_us;
};

struct hn_live {
    struct hn_backend base;
    struct hn_live_options options;
    struct hn_workers *workers;
    struct hn_compile_pool *pool; /* of the workers */
    bool prepared;
    bool asks; /* the lead, or waits for who leads then: it is moved on by whoever does */
    bool ends; /* what is done while a card is waited for failed: no fault of the card's */
    struct hn_message warm; /* the default point, with which cards warm up; json NULL: it is of no use */
    struct hn_live_anchor anchors[HN_ANCHORS];
    size_t anchor_count;
    uint64_t lead_finished;          /* points, to know when no more anchors are waited for */
    struct hn_card_job *returned; /* from cards that were lost: to be given to others */
    size_t returned_count;
    struct hn_card_usage usages[HN_CARDS_MOST];
    struct hn_backend_event *events; /* of other cards than the lead's, not taken yet */
    size_t event_count;
    char architecture[16];
    bool own_started;  /* what has to be compiled before the first evaluation */
    size_t ahead_count; /* points that are compiled ahead, before the device is known */
    double looked_ms;             /* when all cards and hosts were looked at */
    bool opened;                  /* all cards are */
    struct hn_keys references;    /* hashes of the depends values that have a reference */
    unsigned trials[HN_SUSPICION_COUNT]; /* how they ended */
    double started_ms;
};

/* live.c. Waits a while for the workers; compilations go on, and what the owner wants to do meanwhile is done. HN_EINTERRUPTED: a
 * signal came or the time is up. */
void hn_live_sleep(struct hn_live *live, struct hn_error *err);
/* Makes sure that the bench has the reference for this point. */
void hn_live_ensure_reference(struct hn_live *live, const struct hn_bindings *point, struct hn_error *err);
/* "point" and "image" of an object in a message. */
void hn_live_add_variant(struct hn_message *message, json_t *object, const struct hn_bindings *point,
                         const struct hn_image *image, struct hn_error *err);

/* live_cards.c. Evaluations become events. */
void hn_live_evaluate(struct hn_live *live, const struct hn_start *start, struct hn_error *err);
/* The record of a card's answer, or of how its worker ended, with times as of the first card. */
void hn_live_read_record(const struct hn_card *card, const struct hn_bindings *point, const struct hn_gpu_result *result,
                         struct hn_record *record, struct hn_error *err);
/* Times as of the first card. */
void hn_live_card_scale(const struct hn_card *card, struct hn_record *record);
/* Looks for cards, and moves all on without blocking; the lead's worker is set up meanwhile. */
void hn_live_cards_move(struct hn_live *live, struct hn_error *err);
/* Whether one of them can evaluate, and whether none does. */
void hn_live_cards_look(struct hn_live *live, struct hn_backend_state *state);
/* Asks the lead and waits for what it answers, or how its worker ended. For a loop that reads that, until this returns false: where the
 * lead is lost for good, or its answer is of no use, as err says, whoever leads then is asked. The message is taken over. */
bool hn_live_ask(struct hn_live *live, struct hn_message *message, double timeout_s, struct hn_gpu_result *result,
                 struct hn_error *err);

#endif
