/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_CONFIG_SOURCES_H
#define HONE_TUNER_CONFIG_CONFIG_SOURCES_H

#include "tuner/config/config.h"

/* That what a config names is there: template and reference with their quoted includes, the name of each entry in their
 * text, and in the data files what each problem asks for. Nothing is compiled. A config that describes a space only
 * passes. HN_ECONFIG. */
enum hn_status hn_config_check_sources(const struct hn_config *config, struct hn_error *err);

/* The names of the parameters with several values that change nothing: they occur in no token of the template and of its
 * includes, and in no option, entry, launch, argument or reference. Constraints and metrics alone do not count. "" where
 * there is none, or where names may be hidden: pasted together by ##, or in headers that -I finds. Free it; NULL when out of
 * memory, or when the template can not be read. */
char *hn_config_find_unused(const struct hn_config *config);

#endif
