/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_FAMILY_RULE_PROGRAM_H
#define HONE_CACHE_FAMILY_RULE_PROGRAM_H

#include "base/expression/expression_terms.h"
#include "cache/family/rule.h"

/* A rule whose features are computed all at once (base/expression/expression_terms.h), for whoever asks it about many problems. */
struct hn_rule_program {
    const struct hn_rule *rule; /* borrowed */
    struct hn_program program;
    int *features; /* terms */
};

/* False: it can not be compiled, or memory is out. To be finished, whatever comes back. */
bool hn_rule_program_make(struct hn_rule_program *made, const struct hn_rule *rule);
void hn_rule_program_finish(struct hn_rule_program *made);

/* The leaf for a problem that is inside of what the rule was learnt for, with integers where that has whole numbers; NULL for all others. Not
 * to be called by several threads at once. */
const struct hn_rule_node *hn_rule_program_find(struct hn_rule_program *made, const struct hn_bindings *problem);

#endif
