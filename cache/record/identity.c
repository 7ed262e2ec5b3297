/* SPDX-License-Identifier: MIT */
#include "cache/record/record.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/schema.h"

bool hn_device_identity_equal(const struct hn_device_identity *a,
                              const struct hn_device_identity *b)
{
    return strcmp(a->name, b->name) == 0 && a->capability == b->capability &&
           a->sm_count == b->sm_count && strcmp(a->mig_profile, b->mig_profile) == 0;
}

void hn_identity_finish(struct hn_identity *identity)
{
    hn_fields_finish(&hn_identity_structure, identity);
    *identity = (struct hn_identity){0};
}

enum hn_status hn_identity_copy(struct hn_identity *to, const struct hn_identity *from,
                                struct hn_error *err)
{
    hn_error_init(err);
    *to = (struct hn_identity){.kernel = hn_copy_string(from->kernel, err),
                               .signature = hn_copy_string(from->signature, err),
                               .regime = hn_copy_string(from->regime, err),
                               .objective = hn_copy_string(from->objective, err),
                               .device = from->device};
    if (!hn_failed(err))
        (void)hn_bindings_copy(&to->problem, &from->problem, err);
    if (hn_failed(err))
        hn_identity_finish(to);
    return err->status;
}

static bool strings_equal(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

bool hn_identity_equal(const struct hn_identity *a, const struct hn_identity *b)
{
    return strings_equal(a->kernel, b->kernel) && strings_equal(a->signature, b->signature) &&
           strings_equal(a->regime, b->regime) && strings_equal(a->objective, b->objective) &&
           hn_bindings_equal(&a->problem, &b->problem) &&
           hn_device_identity_equal(&a->device, &b->device);
}

bool hn_version_same_source(const struct hn_version *a, const struct hn_version *b)
{
    return strcmp(a->template_hash, b->template_hash) == 0 &&
           strcmp(a->options_hash, b->options_hash) == 0 && strcmp(a->plan_hash, b->plan_hash) == 0;
}

bool hn_version_equal(const struct hn_version *a, const struct hn_version *b)
{
    return hn_version_same_source(a, b) && strcmp(a->driver, b->driver) == 0 &&
           strcmp(a->nvrtc, b->nvrtc) == 0 && a->protocol == b->protocol;
}

bool hn_version_knows_template(const struct hn_version *version)
{
    return version->template_hash[0] != '\0';
}

static const char *shown(const char *part)
{
    return part[0] == '\0' ? "unknown" : part;
}

void hn_version_append_difference(struct hn_text *text, const struct hn_version *was,
                                  const struct hn_version *is)
{
    const char *separator = "";
    const struct {
        const char *name, *was, *is;
        bool is_hash;
    } parts[] = {
        {"driver", was->driver, is->driver, false},
        {"NVRTC", was->nvrtc, is->nvrtc, false},
        {"template", was->template_hash, is->template_hash, true},
        {"options", was->options_hash, is->options_hash, true},
        {"plan", was->plan_hash, is->plan_hash, true},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(parts[i].was, parts[i].is) == 0)
            continue;
        hn_text_printf(text, "%s%s", separator, parts[i].name);
        if (!parts[i].is_hash)
            hn_text_printf(text, " %s -> %s", shown(parts[i].was), shown(parts[i].is));
        separator = ", ";
    }
    if (was->protocol != is->protocol)
        hn_text_printf(text, "%smeasuring protocol %d -> %d", separator, was->protocol,
                       is->protocol);
}

void hn_origin_of_file(const char *path, struct hn_origin *origin)
{
    int length = (int)strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    const char *slash = memrchr(path, '/', (size_t)length);
    const char *name = slash == NULL ? path : slash + 1;
    *origin = (struct hn_origin){.imported = 0};
    snprintf(origin->source, sizeof origin->source, "%.*s", length - (int)(name - path), name);
}

bool hn_origin_is_foreign(const struct hn_origin *origin)
{
    return origin->source[0] != '\0';
}

char *hn_origin_text(const struct hn_origin *origin)
{
    struct hn_text text = {0};
    time_t seconds = (time_t)origin->imported;
    struct tm utc;
    char date[40] = "";
    if (origin->imported > 0 && gmtime_r(&seconds, &utc) != NULL)
        snprintf(date, sizeof date, "%04d-%02d-%02d", utc.tm_year + 1900, utc.tm_mon + 1,
                 utc.tm_mday);
    bool foreign = hn_origin_is_foreign(origin);
    if (foreign)
        hn_text_printf(&text, "%s %s%s%s", origin->imported > 0 ? "imported from" : "read from",
                       origin->source, date[0] == '\0' ? "" : " on ", date);
    if (!foreign || origin->machine[0] != '\0')
        hn_text_printf(&text, "%smeasured on %s", foreign ? ", " : "", origin->machine);
    return hn_text_take(&text);
}

json_t *hn_origin_to_json(const struct hn_origin *origin)
{
    return json_pack("{s:s, s:o, s:f}", "machine", origin->machine, "source",
                     hn_string_to_json(origin->source), "imported", origin->imported);
}
