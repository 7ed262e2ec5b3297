/* SPDX-License-Identifier: MIT */
#include "tuner/family/learnt.h"

#include <stdlib.h>

void hn_learnt_finish(struct hn_learnt *learnt)
{
    hn_rule_finish(&learnt->rule);
    for (size_t i = 0; i < learnt->wanted_count; i++)
        hn_bindings_finish(&learnt->wanted[i]);
    free(learnt->wanted);
    if (learnt->has_search)
        hn_bindings_finish(&learnt->search);
    *learnt = (struct hn_learnt){.wanted_count = 0};
}
