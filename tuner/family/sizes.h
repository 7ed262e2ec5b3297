/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_SIZES_H
#define HONE_TUNER_FAMILY_SIZES_H

#include "tuner/config/family.h"

/* The problems of a family that are looked at: as hn_family_draw gives them, and, in turn with these, with sizes rounded to
 * multiples of 16, as most programs have them and what is drawn hardly ever is. A sequence by seed; *at moves behind it.
 * HN_ECONFIG: none was found. */
enum hn_status hn_family_next(const struct hn_family *family, uint64_t seed, uint64_t *at, struct hn_bindings *problem,
                              struct hn_error *err);

#endif
