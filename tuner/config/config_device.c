/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "tuner/config/config_parts.h"

/* A config that names a limit of the device has it as one more problem value: results are of that
 * value, too, and whoever reads them need not know where it came from. */

/* For who wants nothing that depends on the device: those of an H200. */
static const int64_t nominal[HN_DEVICE_LIMITS] = {132, 1024, 232448, 52428800};

int64_t hn_config_nominal_limit(size_t limit)
{
    return nominal[limit];
}

static bool has_key(const struct hn_config_reader *reader, const char *key, const char *name)
{
    const struct hn_yaml *mapping = hn_yaml_get(reader->root, key);
    return mapping != NULL && hn_yaml_get(mapping, name) != NULL;
}

/* The first scalar below that has the name in it. */
static const struct hn_yaml *find_use(const struct hn_yaml *node, const char *name)
{
    if (node->kind == HN_YAML_SCALAR)
        return hn_config_mentions(node->text, name) ? node : NULL;
    const struct hn_yaml *found = NULL;
    for (const struct hn_yaml *child = node->child; child != NULL && found == NULL;
         child = child->next)
        found = find_use(child, name);
    return found;
}

static const struct hn_yaml *find_use_in_config(const struct hn_config_reader *reader,
                                                const char *name)
{
    static const char *const keys[] = {"parameters", "let",     "constraints", "promising",
                                       "arguments",  "launch",  "pipeline",    "compile",
                                       "reference",  "compare", "metrics"};
    const struct hn_yaml *found = NULL;
    if (has_key(reader, "parameters", name) || has_key(reader, "let", name) ||
        hn_bindings_get(&reader->config->problems[0], name) != NULL)
        return NULL;
    for (size_t i = 0; found == NULL && i < sizeof keys / sizeof keys[0]; i++) {
        const struct hn_yaml *node = hn_yaml_get(reader->root, keys[i]);
        found = node == NULL ? NULL : find_use(node, name);
    }
    return found;
}

/* 0: not known. */
int64_t hn_config_find_limit(struct hn_config_reader *reader, size_t limit, struct hn_error *reason)
{
    const struct hn_config_for *use = reader->use;
    const struct hn_value *given = hn_bindings_get(use->problem, hn_device_limit_names[limit]);
    if (given != NULL)
        return given->type == HN_INTEGER ? given->integer : 0;
    if (reader->device.identity.capability == 0 && use->find_device != NULL &&
        use->find_device(use->context, &reader->device, reason) != HN_OK)
        reader->device = (struct hn_device){0};
    return hn_device_limit(&reader->device, limit);
}

static int64_t find_value(struct hn_config_reader *reader, const struct hn_yaml *node, size_t limit)
{
    const char *name = hn_device_limit_names[limit];
    struct hn_error reason = {0};
    if (reader->use == NULL)
        return nominal[limit];
    int64_t value = hn_config_find_limit(reader, limit, &reason);
    if (value <= 0)
        hn_config_fail(reader, node,
                       "'%s' is the device's, which is not known here%s%s; give it by -p %s=%lld, "
                       "which is what an H200 has",
                       name, reason.message[0] == '\0' ? "" : ": ", reason.message, name,
                       (long long)nominal[limit]);
    return value;
}

static void add_limit(struct hn_config_reader *reader, const char *name, int64_t limit)
{
    struct hn_config *config = reader->config;
    struct hn_plan *plan = config->plan;
    const struct hn_value value = hn_integer(limit);
    for (size_t p = 0; reader->status == HN_OK && p < config->problem_count; p++)
        hn_config_take(reader, hn_bindings_set(&config->problems[p], name, &value, reader->err));
    hn_config_copy(reader, name, &plan->problem[plan->problem_count++]);
}

void hn_config_read_device(struct hn_config_reader *reader)
{
    for (size_t i = 0; i < HN_DEVICE_LIMITS && reader->status == HN_OK; i++) {
        const char *name = hn_device_limit_names[i];
        const struct hn_yaml *node = find_use_in_config(reader, name);
        int64_t value = node == NULL ? 0 : find_value(reader, node, i);
        if (node != NULL && reader->status == HN_OK)
            add_limit(reader, name, value);
    }
}
