/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdlib.h>

#include "cache/record/gate.h"
#include "cache/record/record_json.h"
#include "cache/recording/recording_parts.h"
#include "cache/recording/recording_plan.h"

static void read_format(struct hn_json_reader *reader, const struct hn_field *field,
                        const json_t *json, void *member)
{
    int format = 0;
    (void)member;
    hn_json_count(reader, json, field->key, INT_MAX, &format);
    if (reader->status == HN_OK && (format < 1 || format > HN_RECORDING_FORMAT))
        reader->status =
            hn_fail(reader->err, HN_EFORMAT, "it has format %d, this Hone knows up to %d", format,
                    HN_RECORDING_FORMAT);
}

static void build_format(struct hn_builder *object, const struct hn_field *field,
                         const void *member)
{
    (void)member;
    hn_build_set(object, field->key, json_integer(HN_RECORDING_FORMAT));
}

static void read_source(struct hn_json_reader *reader, const struct hn_field *field,
                        const json_t *json, void *member)
{
    (void)field;
    hn_json_take(reader, hn_recording_plan_read(json, member, reader->err));
}

static void build_source(struct hn_builder *object, const struct hn_field *field,
                         const void *member)
{
    hn_build_set(object, field->key, hn_recording_plan_write(member));
}

static void read_rule(struct hn_json_reader *reader, const struct hn_field *field,
                      const json_t *json, void *member)
{
    struct hn_rule *rule = calloc(1, sizeof *rule);
    (void)field;
    *(struct hn_rule **)member = rule;
    if (rule == NULL) {
        hn_json_take(reader, hn_fail_memory(reader->err));
        return;
    }
    hn_rule_init(rule);
    hn_json_take(reader, hn_rule_from_json(json, rule, reader->err));
}

static void build_rule(struct hn_builder *object, const struct hn_field *field, const void *member)
{
    hn_build_set(object, field->key, hn_rule_to_json(*(struct hn_rule *const *)member));
}

static const struct hn_field_own rule = {read_rule, build_rule, NULL};
static const struct hn_field_own format = {read_format, build_format, NULL};
static const struct hn_field_own source = {read_source, build_source, NULL};

static bool has_plan(const void *recording)
{
    return ((const struct hn_recording *)recording)->plan.json != NULL;
}

static bool has_rule(const void *recording)
{
    return ((const struct hn_recording *)recording)->rule != NULL;
}

static void check_line(struct hn_json_reader *reader, const char *what, const char *line)
{
    if (reader->status == HN_OK && line != NULL)
        hn_json_take(reader, hn_gate_line(what, line, HN_COMMAND_MOST, reader->err));
}

static void check_head(struct hn_json_reader *reader, void *owner)
{
    const struct hn_recording *recording = owner;
    check_line(reader, "command", recording->command);
    check_line(reader, "date", recording->date);
    if (reader->status == HN_OK && recording->rule != NULL && recording->identity.problem.count > 0)
        hn_json_take(reader,
                     hn_fail(reader->err, HN_EFORMAT,
                             "it has a rule of a family and a problem, expected one of them"));
}

#define STRING(member) .kind = HN_FIELD_STRING, HN_AT(hn_recording, member)

/* The "hone" object at the top. */
static const struct hn_field head_fields[] = {
    {.key = "format", .needed = true, .kind = HN_FIELD_OWN, .of = &format},
    {.key = "signature", .needed = true, STRING(identity.signature)},
    {.key = "problem", .needed = true, HN_OWN(hn_recording, identity.problem, hn_bindings_field)},
    {.key = "regime", .needed = true, STRING(identity.regime)},
    {.key = "objective", .needed = true, STRING(identity.objective)},
    {.key = "device",
     .needed = true,
     HN_STRUCT(hn_recording, identity.device, hn_device_identity_structure)},
    {.key = "version", .needed = true, HN_STRUCT(hn_recording, version, hn_version_structure)},
    {.key = "source", HN_OWN(hn_recording, plan, source), .told = has_plan},
    {.key = "rule", HN_OWN(hn_recording, rule, rule), .told = has_rule},
    {.key = "learnt", .kind = HN_FIELD_REAL, HN_AT(hn_recording, learnt), .told = has_rule},
    {.key = "command", STRING(command)},
    {.key = "date", STRING(date)},
};
static const struct hn_structure head = HN_STRUCTURE(hn_recording, head_fields, check_head);

static const struct hn_field parameter_fields[] = {
    {.key = "", .needed = true, .kind = HN_FIELD_WORD}};
static const struct hn_structure parameter_list = {sizeof(char *), parameter_fields, 1, NULL, NULL};

/* What is around it, as Kernel Tuner has it too. */
static const struct hn_field root_fields[] = {
    {.key = "kernel_name", .needed = true, STRING(identity.kernel)},
    {.key = "tune_params_keys",
     .needed = true,
     HN_LIST(hn_recording, parameters, parameter_count, parameter_list)},
    {.key = "hone", .kind = HN_FIELD_STRUCT, .of = &head},
};
static const struct hn_structure root = HN_STRUCTURE(hn_recording, root_fields, NULL);

void hn_recording_head_read(struct hn_json_reader *reader, const json_t *json,
                            struct hn_recording *recording)
{
    hn_fields_read(reader, &root, json, recording);
}

json_t *hn_recording_head_write(const struct hn_recording *recording)
{
    return hn_fields_to_json(&head, recording);
}
