/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_RECALL_H
#define HONE_TUNER_FAMILY_RECALL_H

#include "tuner/family/measuring.h"

/* Puts into the matrix what the store knows of the family from before, by this device and version: points that were measured at
 * eight sizes or more, and the sizes where four of the matrix' points were, up to three quarters of all that it takes. For after the
 * first session. */
enum hn_status hn_recall(struct hn_measuring *measuring, struct hn_error *err);

#endif
