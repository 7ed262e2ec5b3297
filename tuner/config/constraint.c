/* SPDX-License-Identifier: MIT */
#include "tuner/config/constraint.h"

#include <stdlib.h>

void hn_config_constraint_finish(struct hn_config_constraint *constraint)
{
    free(constraint->text);
    hn_expression_destroy(constraint->expression);
    free(constraint->where);
}
