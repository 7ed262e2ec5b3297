/* SPDX-License-Identifier: MIT */
#include "tuner/server/session_row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "base/text.h"
#include "cache/record/gate.h"

enum { NUMBER_MOST = 1000000 };

#define STRING(name, member)                                                                       \
    .key = (name), .needed = true, .kind = HN_FIELD_STRING, HN_AT(hn_session_row, member)
#define CHARS(name, member)                                                                        \
    .key = (name), .needed = true, .kind = HN_FIELD_CHARS, HN_AT(hn_session_row, member),          \
    .most = sizeof((struct hn_session_row *)NULL)->member - 1
#define NUMBER(name, member)                                                                       \
    .key = (name), .needed = true, .kind = HN_FIELD_COUNT, .most = NUMBER_MOST,                    \
    HN_AT(hn_session_row, member)
#define REAL(name, member)                                                                         \
    .key = (name), .needed = true, .kind = HN_FIELD_REAL, HN_AT(hn_session_row, member)

static const struct hn_field fields[] = {
    {STRING("origin", origin)},
    {STRING("subject", subject)},
    {STRING("kernel", head.identity.kernel)},
    {STRING("signature", head.identity.signature)},
    {STRING("problem", problem)},
    {STRING("regime", head.identity.regime)},
    {STRING("objective", head.identity.objective)},
    {CHARS("device", head.identity.device.name)},
    {NUMBER("capability", head.identity.device.capability)},
    {NUMBER("sm_count", head.identity.device.sm_count)},
    {CHARS("mig_profile", head.identity.device.mig_profile)},
    {CHARS("template_hash", head.version.template_hash)},
    {CHARS("options_hash", head.version.options_hash)},
    {CHARS("plan_hash", head.version.plan_hash)},
    {CHARS("driver", head.version.driver)},
    {CHARS("nvrtc", head.version.nvrtc)},
    {NUMBER("protocol", head.version.protocol)},
    {REAL("started", head.started)},
    {STRING("command", head.command)},
    {.key = "simulated",
     .needed = true,
     .kind = HN_FIELD_FLAG,
     HN_AT(hn_session_row, head.simulated)},
    {CHARS("machine", head.from.machine)},
    {CHARS("source", head.from.source)},
    {REAL("imported", head.from.imported)},
    {.key = "plan", .kind = HN_FIELD_STRING, HN_AT(hn_session_row, plan)},
    {STRING("checksum", checksum)},
};

static const struct hn_structure structure = HN_STRUCTURE(hn_session_row, fields, NULL);

void hn_session_row_finish(struct hn_session_row *row)
{
    hn_store_head_finish(&row->head);
    free(row->origin);
    free(row->subject);
    free(row->problem);
    free(row->plan);
    free(row->checksum);
    *row = (struct hn_session_row){.origin = NULL};
}

enum hn_status hn_subject_of(const struct hn_identity *identity, const struct hn_version *version,
                             struct hn_hash *subject, struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_text_printf(&text, "%s\n%s\n%s\n%s\n", identity->kernel, identity->signature,
                   identity->regime, identity->objective);
    hn_bindings_append(&text, &identity->problem);
    hn_text_printf(&text, "\n%s\n%d\n%d\n%s\n", identity->device.name, identity->device.capability,
                   identity->device.sm_count, identity->device.mig_profile);
    hn_text_printf(&text, "%s\n%s\n%s\n%s\n%s\n%d\n", version->template_hash, version->options_hash,
                   version->plan_hash, version->driver, version->nvrtc, version->protocol);
    if (!text.failed)
        *subject = hn_hash_bytes(text.data, text.length);
    enum hn_status status = text.failed ? hn_fail_memory(err) : HN_OK;
    hn_text_finish(&text);
    return status;
}

json_t *hn_session_row_to_json(const struct hn_session_row *row)
{
    return hn_fields_to_json(&structure, row);
}

/* Of all that is written, but the checksum itself. Numbers as C has them: a server writes them
 * otherwise. */
static char *sum_of(const struct hn_session_row *row)
{
    struct hn_text text;
    const struct hn_store_head *head = &row->head;
    const double times[] = {head->started, head->from.imported};
    hn_text_init(&text);
    hn_text_printf(&text, "%s\n%s\n%s\n%s\n%s\n%d\n", row->origin, row->subject,
                   row->plan == NULL ? "" : row->plan, head->from.machine, head->from.source,
                   head->simulated);
    hn_text_append_bytes(&text, times, sizeof times);
    hn_text_append(&text, head->command);
    char *sum = text.failed ? NULL : strdup(hn_hash_bytes(text.data, text.length).hex);
    hn_text_finish(&text);
    return sum;
}

enum hn_status hn_session_row_make(const char *origin, struct hn_store_head *head, const char *plan,
                                   struct hn_session_row *row, struct hn_error *err)
{
    struct hn_hash subject;
    struct hn_text problem;
    *row = (struct hn_session_row){.head = *head};
    hn_text_init(&problem);
    hn_bindings_append(&problem, &head->identity.problem);
    enum hn_status status = hn_subject_of(&head->identity, &head->version, &subject, err);
    row->problem = hn_text_take(&problem);
    row->origin = strdup(origin);
    row->plan = plan == NULL ? NULL : strdup(plan);
    if (status == HN_OK)
        row->subject = strdup(subject.hex);
    if (status == HN_OK && (row->problem == NULL || row->origin == NULL || row->subject == NULL ||
                            (plan != NULL && row->plan == NULL)))
        status = hn_fail_memory(err);
    if (status == HN_OK)
        row->checksum = sum_of(row);
    if (status == HN_OK && row->checksum == NULL)
        status = hn_fail_memory(err);
    if (status != HN_OK)
        hn_session_row_finish(row);
    return status;
}

static enum hn_status gate(struct hn_session_row *row, struct hn_error *err)
{
    struct hn_store_head *head = &row->head;
    const struct hn_origin *from = &head->from;
    bool passes =
        hn_bindings_parse(row->problem, &head->identity.problem, err) == HN_OK &&
        hn_gate_identity(&head->identity, err) == HN_OK &&
        hn_gate_version(&head->version, err) == HN_OK &&
        hn_gate_line("the name of a machine", from->machine, sizeof from->machine, err) == HN_OK &&
        hn_gate_line("the source of a session", from->source, sizeof from->source, err) == HN_OK &&
        hn_gate_line("the command of a session", head->command, HN_COMMAND_MOST, err) == HN_OK &&
        hn_gate_line("the origin of a session", row->origin, HN_NAME_MOST, err) == HN_OK &&
        hn_gate_date(head->started, err) == HN_OK;
    return passes ? HN_OK : HN_EFORMAT;
}

/* Whether subject and checksum are those of what stands beside them. */
static enum hn_status check(const struct hn_session_row *row, struct hn_error *err)
{
    struct hn_hash subject;
    enum hn_status status = hn_subject_of(&row->head.identity, &row->head.version, &subject, err);
    if (status != HN_OK)
        return status;
    char *sum = sum_of(row);
    if (sum == NULL)
        return hn_fail_memory(err);
    if (strcmp(sum, row->checksum) != 0 || strcmp(subject.hex, row->subject) != 0)
        status = hn_fail(err, HN_EFORMAT, "its row is not what was written");
    free(sum);
    return status;
}

enum hn_status hn_session_row_read(const json_t *json, struct hn_session_row *row,
                                   struct hn_error *err)
{
    struct hn_json_reader reader = {"session", HN_OK, err, NULL};
    *row = (struct hn_session_row){.origin = NULL};
    hn_identity_init(&row->head.identity);
    hn_fields_read(&reader, &structure, json, row);
    const bool whole = row->origin != NULL && row->subject != NULL && row->problem != NULL &&
                       row->checksum != NULL && row->head.command != NULL &&
                       row->head.identity.kernel != NULL && row->head.identity.signature != NULL &&
                       row->head.identity.regime != NULL && row->head.identity.objective != NULL;
    if (reader.status == HN_OK && !whole)
        return hn_fail(err, HN_EFORMAT, "a column of its row is NULL");
    enum hn_status status = reader.status == HN_OK ? gate(row, err) : reader.status;
    return status == HN_OK ? check(row, err) : status;
}

struct hn_hash hn_row_checksum(const char *origin, int64_t position, const char *text)
{
    char place[24];
    snprintf(place, sizeof place, "%lld", (long long)position);
    const struct hn_hash name = hn_hash_string(origin);
    const struct hn_hash at = hn_hash_string(place);
    const struct hn_hash where = hn_hash_join(&name, &at);
    const struct hn_hash what = hn_hash_string(text);
    return hn_hash_join(&where, &what);
}

struct hn_hash hn_plan_name(const char *json, const char *files)
{
    const struct hn_hash parts[] = {hn_hash_string(json), hn_hash_string(files)};
    return hn_hash_join(&parts[0], &parts[1]);
}
