/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_CONSTRAINT_H
#define HONE_TUNER_CONFIG_CONSTRAINT_H

#include "base/expression/expression.h"

/* A condition as a config says it. */
struct hn_config_constraint {
    char *text;
    struct hn_expression *expression;
    char *where; /* "configs/matmul.yaml:24:5" */
    bool promising; /* says what is worth a search, not what is valid */
};

void hn_config_constraint_finish(struct hn_config_constraint *constraint);

#endif
