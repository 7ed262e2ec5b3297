/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tuner/config/config_read.h"

static const char *const texture_keys[] = {"dimensions", "address", "filter",
                                           "normalized", "read",    NULL};

enum hn_status hn_config_refuse_texture(const struct hn_config_reader *reader,
                                        const struct hn_yaml *node)
{
    return hn_config_refuse(reader, node, texture_keys, "is no texture");
}

/* The place of a word in a list of choices. */
static enum hn_status read_choice(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                  const char *what, const char *const *choices, int count,
                                  int *choice)
{
    if (node->kind != HN_YAML_SCALAR)
        return hn_config_fail(reader, node, "found %s, expected one %s",
                              hn_yaml_kind_name(node->kind), what);
    for (int i = 0; i < count; i++) {
        if (strcmp(node->text, choices[i]) != 0)
            continue;
        *choice = i;
        return HN_OK;
    }
    return hn_config_fail_unknown(reader, node, what, node->text, choices, (size_t)count);
}

/* One for both dimensions, or a list of two. */
static enum hn_status read_address(const struct hn_config_reader *reader,
                                   const struct hn_yaml *node, struct hn_texture *texture)
{
    const struct hn_yaml *item = node;
    if (node->kind == HN_YAML_SEQUENCE && node->count == 2)
        item = node->child;
    else if (node->kind != HN_YAML_SCALAR)
        return hn_config_fail_found(reader, node, "an address mode, or a list of two: x, y");
    enum hn_status status = HN_OK;
    for (int i = 0; i < 2 && status == HN_OK; i++) {
        int choice = 0;
        status = read_choice(reader, item, "address mode", hn_texture_addresses,
                             HN_TEXTURE_ADDRESS_COUNT, &choice);
        texture->address[i] = (enum hn_texture_address)choice;
        item = item == node ? node : item->next;
    }
    return status;
}

static enum hn_status read_settings(const struct hn_config_reader *reader,
                                    const struct hn_yaml *parent, struct hn_texture *texture)
{
    const struct hn_yaml *dimensions = hn_yaml_get(parent, "dimensions");
    const struct hn_yaml *address = hn_yaml_get(parent, "address");
    const struct hn_yaml *filter = hn_yaml_get(parent, "filter");
    const struct hn_yaml *normalized = hn_yaml_get(parent, "normalized");
    const struct hn_yaml *read = hn_yaml_get(parent, "read");
    static const char *const sizes[] = {"1", "2"};
    static const char *const truths[] = {"false", "true"};
    int choice = 0;
    enum hn_status status = HN_OK;
    texture->address[0] = texture->address[1] = HN_TEXTURE_CLAMP;
    if (dimensions != NULL) {
        status = read_choice(reader, dimensions, "number of dimensions", sizes, 2, &choice);
        texture->dimensions = choice + 1;
    }
    if (status == HN_OK && address != NULL)
        status = read_address(reader, address, texture);
    choice = 0;
    if (status == HN_OK && filter != NULL)
        status = read_choice(reader, filter, "filter", hn_texture_filters, 2, &choice);
    texture->linear = choice == 1;
    choice = 0;
    if (status == HN_OK && normalized != NULL)
        status = read_choice(reader, normalized, "truth value", truths, 2, &choice);
    texture->normalized = choice == 1;
    choice = 0;
    if (status == HN_OK && read != NULL)
        status = read_choice(reader, read, "way to read", hn_texture_reads, 2, &choice);
    texture->as_float = choice == 1;
    return status;
}

enum hn_status hn_config_read_texture(const struct hn_config_reader *reader,
                                      const struct hn_yaml *node, struct hn_argument *argument)
{
    static const char *const for_others[] = {"type",  "count",   "width",  "height", "pitch",
                                             "value", "from",    "role",   "zero",   "fill",
                                             "file",  "compare", "length", NULL};
    argument->role = HN_ROLE_TEXTURE;
    enum hn_status status = hn_config_refuse(reader, node, for_others, "is a texture");
    if (status == HN_OK)
        status = hn_config_read_word(reader, hn_yaml_get(node, "texture"), "the name of a buffer",
                                     &argument->from);
    return status == HN_OK ? read_settings(reader, node, &argument->texture) : status;
}

enum hn_status hn_config_find_texture(const struct hn_config_reader *reader,
                                      const struct hn_yaml *item, struct hn_argument *argument)
{
    const struct hn_yaml *node = hn_yaml_get(item, "texture");
    const struct hn_argument *buffer = hn_plan_find_argument(reader->config->plan, argument->from);
    if (buffer == NULL || buffer->count == NULL)
        return hn_config_fail_found(reader, node, "the name of an argument that is a buffer");
    argument->element = buffer->element;
    argument->lanes = buffer->lanes;
    if (argument->texture.dimensions == 0)
        argument->texture.dimensions = buffer->shape.width == NULL ? 1 : 2;
    const char *why = hn_texture_check(&argument->texture, buffer);
    return why == NULL ? HN_OK
                       : hn_config_fail(reader, item, "texture '%s' over '%s': %s", argument->name,
                                        argument->from, why);
}
