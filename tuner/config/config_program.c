/* SPDX-License-Identifier: MIT */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/plan/launch.h"
#include "tuner/config/config_parts.h"

/* `run`: a program that is built and run in place of a kernel. Nothing is run here. */

static json_t *to_json(const struct hn_yaml *node)
{
    if (node->kind == HN_YAML_SCALAR)
        return hn_needed(json_string(node->text));
    json_t *json = hn_needed(node->kind == HN_YAML_MAPPING ? json_object() : json_array());
    for (const struct hn_yaml *child = node->child; child != NULL; child = child->next)
        if (node->kind == HN_YAML_MAPPING)
            json_object_set_new(json, child->key->text, to_json(child));
        else
            json_array_append_new(json, to_json(child));
    return json;
}

static void check_holes(struct hn_reader *reader, const struct hn_yaml *node)
{
    static const char *const told[] = {"HONE_LANE", "HONE_SOURCE"};
    const struct hn_plan *plan = reader->plan;
    size_t length, count = plan->name_count;
    const char **known = hn_need(count + 2, sizeof *known);
    memcpy(known, plan->names, count * sizeof *known);
    memcpy(known + count, told, sizeof told);
    for (const char *hole = node->text;
         !hn_failed(reader->err) && (hole = hn_command_hole(hole, &length)) != NULL;
         hole += length + 3) {
        char *name = hn_needed(strndup(hole + 2, length));
        if (hn_config_expect(reader, length > 0, node, "a name in each ${}") &&
            !hn_text_is_among(name, known, count + 2))
            hn_config_fail_unknown(reader, node, "name in ${}", name, known, count + 2);
        free(name);
    }
    free(known);
}

static void check_command(struct hn_reader *reader, const struct hn_yaml *node)
{
    static const char expected[] =
        "a program and its arguments in a list, as [make, \"BLOCK=${BLOCK}\"]; no shell reads it";
    const struct hn_yaml *item = hn_config_list(reader, node, expected);
    if (node == NULL || !hn_config_expect(reader, node->count > 0, node, expected))
        return;
    for (; item != NULL && hn_config_expect_kind(reader, item, HN_YAML_SCALAR, "text");
         item = item->next)
        check_holes(reader, item);
    /* env takes other words for variables and options. */
    const char *name = hn_failed(reader->err) ? "-" : node->child->text;
    hn_config_expect(reader, name[0] != '-' && name[0] != '\0' && strchr(name, '=') == NULL,
                     node->child, "the name of a program");
}

static void check_time(struct hn_reader *reader, const struct hn_yaml *node)
{
    static const char *const units[] = {"s", "ms", "us", "ns"};
    static const char expected[] = "where the output has the time: {json: path.to.it, unit: ms} or "
                                   "{regex: \"took ([0-9.]+) ms\", unit: ms}";
    regex_t regex;
    if (node == NULL || !hn_config_expect_kind(reader, node, HN_YAML_MAPPING, expected))
        return;
    const struct hn_yaml *json = hn_yaml_get(node, "json"), *form = hn_yaml_get(node, "regex");
    const struct hn_yaml *place = json != NULL ? json : form;
    hn_config_check_keys(reader, node, "json regex unit");
    hn_config_expect(reader, (json == NULL) != (form == NULL), node, expected);
    hn_config_expect_kind(reader, place, HN_YAML_SCALAR, "text");
    hn_config_read_choice(reader, hn_config_need(reader, node, "unit"), units, 4);
    if (form == NULL || hn_failed(reader->err))
        return;
    bool is_regex = regcomp(&regex, form->text, REG_EXTENDED | REG_NEWLINE) == 0;
    hn_config_expect(reader, is_regex && regex.re_nsub > 0, form,
                     "an extended regular expression whose first group, in (), is the time");
    if (is_regex)
        regfree(&regex);
}

/* Paths become absolute. */
static void read_files(struct hn_reader *reader, const struct hn_yaml *node, json_t *files)
{
    const struct hn_yaml *item = hn_config_list(reader, node, "a list of files");
    for (size_t i = 0; item != NULL && !hn_failed(reader->err); item = item->next, i++) {
        char *path = NULL;
        hn_config_read_path(reader, item, "the path of a file", &path);
        if (path != NULL)
            json_array_set_new(files, i, hn_needed(json_string(path)));
        free(path);
    }
}

void hn_config_read_program(struct hn_reader *reader, const struct hn_yaml *node)
{
    struct hn_plan *plan = reader->plan;
    const struct hn_yaml *build = hn_yaml_get(node, "build"), *check = hn_yaml_get(node, "check");
    enum hn_front_by by;
    hn_config_check_keys(reader, node, "build command time check files");
    const struct hn_yaml *item =
        hn_config_list(reader, build, "a list of commands, each a list, as [[make, all]]");
    for (; item != NULL && !hn_failed(reader->err); item = item->next)
        check_command(reader, item);
    check_command(reader, hn_config_need(reader, node, "command"));
    check_command(reader, check);
    check_time(reader, hn_config_need(reader, node, "time"));
    plan->reference.kind = HN_REFERENCE_NONE;
    plan->program = to_json(node);
    read_files(reader, hn_yaml_get(node, "files"), json_object_get(plan->program, "files"));
    hn_config_read_metrics(reader);
    if (!hn_failed(reader->err) && hn_plan_weighs(plan, &by))
        hn_config_fail(reader, hn_yaml_get(reader->root, "objective"),
                       "objective '%s' is not measured of programs: expected time, or a metric",
                       plan->objective);
}
