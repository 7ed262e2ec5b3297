/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_RULE_FIXTURE_H
#define HONE_TESTS_RULE_FIXTURE_H

#include "tests/unit/unit.h"
#include "cache/family/rule.h"

/* Two configurations for tall and for wide problems, and one for where rows are short. */
static const char rule_text[] =
    "{'goal': 'mean',"
    " 'values': [{'name': 'M', 'low': 1, 'high': 4096}, {'name': 'N', 'low': 16, 'high': 1024},"
    "            {'name': 'ORDER', 'words': ['row', 'column']}],"
    " 'features': ['M * N', 'ORDER == row', 'N % 4'],"
    " 'nodes': [{'feature': 0, 'threshold': 65536, 'left': 1, 'right': 2},"
    "           {'configuration': 0, 'sure': true},"
    "           {'feature': 1, 'threshold': 0, 'left': 3, 'right': 4},"
    "           {'configuration': 1, 'sure': false},"
    "           {'feature': 2, 'threshold': -1, 'left': 5, 'right': 6},"
    "           {'configuration': 0, 'sure': true},"
    "           {'configuration': 2, 'sure': true}],"
    " 'configurations': [{'BLOCK': 64}, {'BLOCK': 128}, {'BLOCK': 256}],"
    " 'predicted': {'mean': 0.019, 'worst': 0.07, 'sizes': 24},"
    " 'measured': {'mean': 0.021, 'worst': 0.09, 'sizes': 40}}";

/* JSON with ' for ". */
static inline json_t *parse_quoted(const char *text)
{
    json_error_t error;
    char *quoted FREED = strdup(text);
    for (char *c = quoted; *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    json_t *json = json_loads(quoted, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL)
        fail_msg("%s at %d of %s", error.text, error.position, text);
    return json;
}

static inline enum hn_status rule_from_json(const json_t *json, struct hn_rule *rule, struct hn_error *err)
{
    hn_error_init(err);
    hn_fields_read("rule", &hn_rule_structure, json, rule, err);
    return err->status;
}

static inline void read_rule(const char *text, struct hn_rule *rule)
{
    json_auto_t *json = parse_quoted(text);
    *rule = (struct hn_rule){0};
    assert_ok(rule_from_json(json, rule, &said));
}

#endif
