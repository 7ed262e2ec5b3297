/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_DEVICE_L2_SET_ASIDE_H
#define HONE_RUNTIME_DEVICE_L2_SET_ASIDE_H

#include "runtime/device/context.h"

/* What of the L2 cache is set aside for persisting accesses belongs to the context, and what persists stays in the
 * cache after a launch. So the cache has one user at a time, who finds nothing in it that another one made persist. */

/* Makes the cache as this user (any address) wants it; NULL with 0 for one that has no wish. Nothing happens when it is
 * so already; else waits for what was launched. A CUresult, so that the caller can judge a refusal. */
CUresult hn_l2_use(struct hn_context *context, const void *user, int64_t set_aside);
/* Nothing persists any more; the user stays. Waits for what was launched. Nothing happens without a user. */
CUresult hn_l2_reset(struct hn_context *context);
/* Nothing set aside and nothing persisting, as in a new context, if it is this user that has it. */
void hn_l2_leave(struct hn_context *context, const void *user);

#endif
