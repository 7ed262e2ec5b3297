/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_CACHE_COMMAND_H
#define HONE_TUNER_COMMANDS_CACHE_COMMAND_H

#include "cache/store/store.h"
#include "tuner/commands/command.h"
#include "tuner/report/render.h"

/* A cache that is open for a command, and what of it the command line asks for: -p chooses tunings with these values, --device-name
 * those of a device. What takes an err is sticky (base/error.h). */

/* Parts of `hone cache` that bring tunings from one place to another, or set them side by side. */
void hn_cache_export(struct hn_given *given, struct hn_error *err);
void hn_cache_import(struct hn_given *given, struct hn_error *err);
void hn_cache_merge(struct hn_given *given, struct hn_error *err);
void hn_cache_diff(struct hn_given *given, struct hn_error *err);

/* Whether it fits -p and --device-name; drops those that do not, or that are simulated where only what was measured is wanted. */
bool hn_cache_fits(const struct hn_given *given, const struct hn_identity *identity);
void hn_cache_filter(const struct hn_given *given, bool measured, struct hn_tuned_list *list);
/* The tunings of a kernel (NULL: of all) that fit, with --history also former versions. HN_ENOTFOUND names what there is. */
void hn_cache_select(const struct hn_given *given, const char *kernel, struct hn_tuned_list *list, struct hn_error *err);

/* Whether Kernel Tuner measured it. */
bool hn_cache_is_kernel_tuners(const struct hn_tuned *tuned);
/* "M=4096,N=4096", "-" when there is none; free it. */
char *hn_cache_problem_text(const struct hn_bindings *problem);
/* Below a table of tunings with a column of regimes. */
#define HN_CACHE_REGIMES_LINE "L2: what that cache holds when a launch begins; see docs/outcomes.md{?tunings}"
/* Identity, version and best of a tuning, and the remarks on it. */
json_t *hn_cache_tuned_to_json(const struct hn_tuned *tuned);

#endif
