/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_RULE_CODE_H
#define HONE_TUNER_SESSION_RULE_CODE_H

#include "cache/store/store.h"
#include "runtime/plan/plan.h"
#include "tuner/workers/compile_pool.h"

/* The programs of a family's rule. Words and frozen values of a problem are part of a program: a variant is one way to choose
 * them, and each configuration has a program for each variant that it can serve. */

/* How many variants there are; no more than are counted where they are too many for any use. */
size_t hn_rule_variants(const struct hn_plan *plan, const struct hn_rule *rule);
/* Sets what is the variant's of a problem (words, frozen numbers, whose ends are all that there is) and what all problems have
 * alike. Sticky. */
void hn_rule_set_variant(const struct hn_plan *plan, const struct hn_rule *rule, size_t variant, struct hn_bindings *problem,
                         struct hn_error *err);
/* Whether constraints let a configuration serve problems with these words at all. */
bool hn_rule_can_serve(const struct hn_plan *plan, const struct hn_bindings *point, const struct hn_bindings *problem);

/* Its programs. */
struct hn_rule_code_list {
    struct hn_rule_code_item {
        const struct hn_bindings *point; /* borrowed */
        struct hn_bindings values;       /* of problems, that are part of it: its image is kept as one of a task with these alone as
                                            its problem */
        size_t variant;                  /* the first that has it */
    } *items;
    size_t count;
};
/* Sticky; in any case values and items are the caller's to free. */
void hn_rule_code_list(const struct hn_plan *plan, const struct hn_rule *rule, struct hn_rule_code_list *list,
                       struct hn_error *err);

/* Keeps machine code with these values of problems where libhone looks for it: in a session of theirs, begun like that of the rule
 * where there is none. Sticky. */
void hn_rule_code_put(struct hn_store *store, const struct hn_store_session *rule, const struct hn_bindings *values,
                      const struct hn_bindings *point, const void *cubin, size_t size, const char *entries,
                      struct hn_error *err);

/* What the machine code of a rule is made of. Borrows all. */
struct hn_rule_code {
    struct hn_store *store;
    struct hn_compile_pool *pool;
    const struct hn_plan *plan;
    const struct hn_template *template;
    struct hn_store_session session; /* of the rule: identity without a problem, of the device that it is compiled for */
    const struct hn_rule *rule;
};

struct hn_rule_programs {
    size_t count, compiled, failed; /* all, those that the store did not have, and of them those that do not compile */
    uint64_t bytes;                 /* of machine code; what is the same is counted once */
    char message[512];              /* of the first that failed */
};

/* Compiles and keeps the programs that the store does not have. Sticky. */
void hn_rule_code_make(const struct hn_rule_code *code, struct hn_rule_programs *programs, struct hn_error *err);

#endif
