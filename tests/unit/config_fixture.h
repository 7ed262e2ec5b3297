/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_CONFIG_FIXTURE_H
#define HONE_TESTS_CONFIG_FIXTURE_H

#include "tests/unit/unit.h"
#include "tuner/config/config.h"

/* A config that can be read. */
static inline struct hn_config *load(const char *path)
{
    struct hn_config *config = NULL;
    struct hn_error err = {0};
    enum hn_status status = hn_config_load(path, &config, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, HN_OK);
    return keep(config, hn_config_destroy);
}

#endif
