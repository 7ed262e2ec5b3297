/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_CONFIG_FILES_H
#define HONE_TUNER_CONFIG_CONFIG_FILES_H

#include "cache/store/store.h"
#include "runtime/compile/template.h"
#include "tuner/config/config.h"

/* The files that a config names, and what results keep of it and of them. */

/* That there is a template, and that it and the reference's can be read. HN_ECONFIG. */
enum hn_status hn_config_check_files(const struct hn_config *config, struct hn_error *err);
/* That data files hold what a problem asks for. HN_ECONFIG. Sticky. */
void hn_config_check_data(const struct hn_config *config, size_t problem, struct hn_error *err);
/* That what a config names is there: template and reference with their quoted includes, the name of each entry in their
 * text, and in the data files what each problem asks for. Nothing is compiled. A config that describes a space only
 * passes. HN_ECONFIG. */
enum hn_status hn_config_check_sources(const struct hn_config *config, struct hn_error *err);

/* The names of the parameters with several values that change nothing: they occur in no token of the template and of its
 * includes, and in no option, entry, launch, argument or reference. Constraints and metrics alone do not count. "" where
 * there is none, or where names may be hidden: pasted together by ##, or in headers that -I finds. Free it; NULL when out of
 * memory, or when the template cannot be read. */
char *hn_config_find_unused(const struct hn_config *config);

/* Kept with results, of the config that they were tuned with: plan, template and includes, and the hashes by which a
 * version knows them. Owns all. */
struct hn_config_kept {
    struct hn_stored_plan plan;
    struct hn_version version; /* but for driver and NVRTC */
};

/* As results of that problem keep it: types of arguments and data are its own. Those of a problem with other names, which is none of the
 * config, are those of its first. HN_ECONFIG: template or data cannot be read; a word is no type. */
enum hn_status hn_config_keep(const struct hn_config *config, const struct hn_bindings *problem, struct hn_config_kept *kept, struct hn_error *err);

/* Whether a plan is one that was kept, but for its reference and what the keys (up to NULL) say of arguments: what --capture and --reference
 * gave, or a problem says, stands in the latter alone. These are put into the former. */
bool hn_config_is_plan(json_t *own, const json_t *kept, const char *const *keys);

/* Whether results of that identity and version are of another template, other options or another plan than the config is now. False of
 * another kernel's, of what does not say what it is of, and where files cannot be read. Data of --capture and --reference are no change where
 * the store (may be NULL) keeps the plan. */
bool hn_config_has_changed(const struct hn_config *config, struct hn_store *store, const struct hn_identity *identity,
                           const struct hn_version *version);
/* Marks a tuning as stale where the config has changed since, or its values or constraints exclude the best point now. */
void hn_config_mark_tuned(const struct hn_config *config, struct hn_store *store, struct hn_tuned *tuned);
/* The same of each by its own config, where that still lies where it was tuned. */
void hn_config_mark_changed(struct hn_store *store, struct hn_tuned_list *list);

/* The templates of a plan of the config, none yet, the reference's where it names one, and the hashes by which a version (NULL: nobody asks)
 * knows plan, options, templates and data. The caller finishes both, whatever comes of it. HN_ECONFIG. Sticky. */
void hn_config_load_templates(const struct hn_config *config, const struct hn_plan *plan,
                              const struct hn_bindings *problem, struct hn_template *template,
                              struct hn_template *reference, struct hn_version *version, struct hn_error *err);

#endif
