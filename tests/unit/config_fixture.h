/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_CONFIG_FIXTURE_H
#define HONE_TESTS_CONFIG_FIXTURE_H

#include "tests/unit/unit.h"
#include "tuner/config/config.h"

/* A config that can be read. */
static inline struct hn_config *load(const char *path)
{
    struct hn_config *config = NULL;
    assert_ok(hn_config_load(path, NULL, &config, &said));
    return keep(config, hn_config_destroy);
}

#endif
