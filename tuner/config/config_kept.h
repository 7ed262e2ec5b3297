/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_CONFIG_KEPT_H
#define HONE_TUNER_CONFIG_CONFIG_KEPT_H

#include "cache/store/store.h"
#include "runtime/compile/template.h"
#include "tuner/config/config.h"

/* What results keep of the config that they were tuned with: plan, template and includes, and the hashes by which a
 * version knows them. Owns all. */
struct hn_config_kept {
    char *kernel;
    struct hn_stored_plan plan;
    struct hn_version version; /* but for driver and NVRTC */
};

/* As results of that problem keep it: types of arguments and data are its own. Those of a problem with other names, which is none of the
 * config, are those of its first. HN_ECONFIG: template or data can not be read; a word is no type. */
enum hn_status hn_config_keep(const struct hn_config *config, const struct hn_bindings *problem, struct hn_config_kept *kept, struct hn_error *err);
void hn_config_kept_finish(struct hn_config_kept *kept);

/* Whether results of that identity and version are of another template, other options or another plan than the config is now. False of
 * another kernel's, of what does not say what it is of, and where files can not be read. */
bool hn_config_has_changed(const struct hn_config *config, const struct hn_identity *identity, const struct hn_version *version);
/* Marks as stale what the config has changed since, where that still lies where it was tuned. */
void hn_config_mark_changed(struct hn_store *store, struct hn_tuned_list *list);

/* The hashes of a plan and its templates; reference NULL: it names none. HN_ECONFIG: a data file can not be read. */
enum hn_status hn_config_version(const struct hn_plan *plan, const struct hn_bindings *problem, const struct hn_template *template,
                                 const struct hn_template *reference, struct hn_version *version,
                                 struct hn_error *err);

#endif
