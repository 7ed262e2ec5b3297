/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_CONFIG_UNUSED_H
#define HONE_TUNER_CONFIG_CONFIG_UNUSED_H

#include "tuner/config/config.h"

/* The names of the parameters with several values that change nothing: they occur in no token of the template and of its
 * includes, and in no option, entry, launch, argument or reference. Constraints and metrics alone do not count. "" where
 * there is none, or where names may be hidden: pasted together by ##, or in headers that -I finds. Free it; NULL when out of
 * memory, or when the template can not be read. */
char *hn_config_find_unused(const struct hn_config *config);

#endif
