/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_RULES_H
#define HONE_CACHE_STORE_STORE_RULES_H

#include "cache/family/rule.h"
#include "cache/store/store.h"

/* Rules of families. A rule belongs to a session whose identity has no problem values: that is the task of the family, beside
 * the tasks of its problems. Images that are put into that session are those of the rule's configurations, for every
 * problem of the family. Words and frozen values of a problem are part of every program: where there are some, the images of
 * each way to choose them go into a session of the same version whose identity has these alone as its problem. */

struct hn_stored_rule {
    struct hn_identity identity; /* without a problem */
    struct hn_version version;
    struct hn_origin origin;
    int64_t session_id;
    double learnt; /* seconds since the epoch: when its session was begun */
    bool simulated;
    bool stale; /* learnt from what an older protocol than ours measured */
    struct hn_rule rule;
};
struct hn_stored_rules {
    struct hn_stored_rule *items;
    size_t count;
};

/* Commits what is pending, and the rule with it. A session has one: another takes its place. */
enum hn_status hn_store_put_rule(struct hn_store *store, int64_t session_id, const struct hn_rule *rule,
                                 struct hn_error *err);

/* Of each family the rule that counts: what was measured before what was simulated, what was learnt here before what was
 * imported, then the newest. Ordered by kernel and device. kernel NULL: of all kernels. A cache of a format before rules has
 * none. */
enum hn_status hn_store_get_rules(struct hn_store *store, const char *kernel, struct hn_stored_rules *rules,
                                  struct hn_error *err);
/* An empty one at the end of the list; NULL when out of memory. */
struct hn_stored_rule *hn_stored_rules_add(struct hn_stored_rules *rules);
void hn_stored_rules_free(struct hn_stored_rules *rules);

#endif
