/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_STRATEGY_SCREEN_H
#define HONE_TUNER_STRATEGY_SCREEN_H

#include "tuner/strategy/encoding.h"
#include "tuner/strategy/gaussian.h"
#include "tuner/strategy/trail.h"

/* Whether a compiled point is worth measuring: a Gaussian process of the costs that sees, beside the parameters, what
 * the compiler made of them: registers, spills, local and shared memory, occupancy. Compiling is parallel and cheap,
 * measuring is not. */
struct hn_screen;

/* Borrows trail and encoding. */
enum hn_status hn_screen_create(const struct hn_trail *trail, const struct hn_encoding *encoding,
                                struct hn_screen **screen, struct hn_error *err);
void hn_screen_destroy(struct hn_screen *screen);

/* Notes the resources of a point of the trail. False when it is almost certain (all but one in a thousand) that the
 * point does not beat the best one told. */
bool hn_screen_pass(struct hn_screen *screen, uint32_t point, const struct hn_resources *resources);

#endif
