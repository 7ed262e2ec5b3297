/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_FAMILY_RECALL_H
#define HONE_TUNER_FAMILY_RECALL_H

#include "tuner/family/measuring.h"

/* Puts into the matrix what the store knows of the family from before, by this device and version: points that were measured at
 * several sizes, and the sizes where some of the matrix' points were. No more than three quarters of the matrix' sizes; the store is
 * asked for what sizes[0] is a problem of, at which a session has run. */
enum hn_status hn_recall(struct hn_measuring *measuring, struct hn_error *err);

#endif
