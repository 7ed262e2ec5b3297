/* SPDX-License-Identifier: MIT */
#include "runtime/process/message.h"

static json_t *strings(char *const *items, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_string(items[i]));
    return array;
}

json_t *hn_message_of_source(const struct hn_source *source, const char *architecture)
{
    json_t *includes = json_array();
    char name[HN_ARCHITECTURE_SIZE];
    hn_architecture_name(architecture, source->arch_specific, name);
    const struct hn_template *template = source->template;
    for (size_t i = 0; i < template->include_count; i++)
        json_array_append_new(
            includes, json_pack("[ss]", template->includes[i].name, template->includes[i].text));
    return json_pack("{ss ss ss ss so so so ss}", "type", "compile", "compiler",
                     hn_compiler_names[source->compiler], "name", template->path, "text",
                     source->text, "includes", includes, "entries",
                     strings(source->entries, source->entry_count), "options",
                     strings(source->options, source->option_count), "architecture", name);
}
