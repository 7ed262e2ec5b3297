/* SPDX-License-Identifier: MIT */
#include "cache/recording/recording_rules.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cache/recording/recording.h"
#include "cache/recording/recording_list.h"

/* Takes identity and rule of the recording. */
static enum hn_status append(struct hn_recording *recording, const char *path,
                             struct hn_stored_rules *rules, struct hn_error *err)
{
    struct hn_stored_rule *stored = hn_stored_rules_add(rules);
    if (stored == NULL)
        return hn_fail_memory(err);
    *stored = (struct hn_stored_rule){.identity = recording->identity,
                                      .version = recording->version,
                                      .learnt = recording->learnt,
                                      .stale = recording->version.protocol != HN_MEASURING_PROTOCOL,
                                      .rule = *recording->rule};
    hn_origin_of_file(path, &stored->origin);
    hn_identity_init(&recording->identity);
    hn_rule_init(recording->rule);
    return HN_OK;
}

struct wanted {
    const char *kernel;
    struct hn_stored_rules *rules;
};

static enum hn_status add_file(const char *path, void *data, struct hn_error *err)
{
    const struct wanted *wanted = data;
    struct hn_recording recording;
    enum hn_status status = hn_recording_load(path, &recording, err);
    if (status != HN_OK)
        return status;
    if (recording.rule != NULL && strcmp(recording.identity.kernel, wanted->kernel) == 0)
        status = append(&recording, path, wanted->rules, err);
    hn_recording_finish(&recording);
    return status;
}

enum hn_status hn_recording_add_rules(const char *path, const char *kernel,
                                      struct hn_stored_rules *rules, struct hn_error *err)
{
    struct stat about;
    struct hn_text folder = {0};
    struct wanted wanted = {kernel, rules};
    const char *slash = strrchr(path, '/');
    if (stat(path, &about) != 0)
        return hn_fail(err, HN_ERUN, "'%s' can not be read: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return hn_recordings_visit_rules(path, add_file, &wanted, err);
    hn_text_printf(&folder, "%.*s", slash != NULL ? (int)(slash - path) : 1,
                   slash != NULL ? path : ".");
    enum hn_status status = folder.failed
                                ? hn_fail_memory(err)
                                : hn_recordings_visit_rules(folder.data, add_file, &wanted, err);
    hn_text_finish(&folder);
    return status;
}
