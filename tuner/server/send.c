/* SPDX-License-Identifier: MIT */
#include "tuner/server/send.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "base/text.h"
#include "cache/store/store_roofs.h"
#include "tuner/server/session_row.h"

/* Records in a statement. */
enum { BATCH = 500 };

/* A session of the cache, and what the server has of it. */
struct outgoing {
    const struct hn_sending *sending;
    const struct hn_store_extent *extent;
    char id[24]; /* on the server */
    int64_t known;
    bool found; /* it has the session */
};

static void print_integer(char text[24], int64_t integer)
{
    snprintf(text, 24, "%lld", (long long)integer);
}

/* Takes the JSON. */
static enum hn_status run_with_json(struct hn_connection *connection, const char *sql, json_t *json,
                                    const char *second, struct hn_error *err)
{
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (text == NULL)
        return hn_fail_memory(err);
    const char *const values[] = {text, second};
    enum hn_status status = hn_connection_run(connection, sql, values, second != NULL ? 2 : 1, err);
    free(text);
    return status;
}

static json_t *files_to_json(const struct hn_stored_plan *plan)
{
    struct hn_builder files = hn_build_array();
    for (size_t i = 0; i < plan->file_count; i++)
        hn_build_append(&files, json_pack("[ss]", plan->files[i].name, plan->files[i].text));
    return hn_build_finish(&files);
}

/* hash "": the cache keeps none. */
static enum hn_status send_plan(const struct hn_sending *sending, const struct hn_store_head *head,
                                char hash[33], struct hn_error *err)
{
    struct hn_stored_plan plan;
    hash[0] = '\0';
    enum hn_status status =
        hn_store_get_plan(sending->store, head->identity.kernel, &head->version, &plan, err);
    if (status == HN_ENOTFOUND)
        return HN_OK;
    if (status != HN_OK)
        return status;
    json_t *json = files_to_json(&plan);
    char *files = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
    if (files != NULL) {
        const struct hn_hash name = hn_plan_name(plan.json, files);
        memcpy(hash, name.hex, sizeof name.hex);
        const char *const values[] = {hash, plan.json, files};
        status = hn_connection_run(sending->connection,
                                   "INSERT INTO hone.plan VALUES($1, $2, $3)"
                                   " ON CONFLICT (hash) DO NOTHING",
                                   values, 3, err);
    } else {
        status = hn_fail_memory(err);
    }
    free(files);
    json_decref(json);
    hn_stored_plan_free(&plan);
    return status;
}

static enum hn_status send_head(const struct outgoing *outgoing, struct hn_error *err)
{
    struct hn_store_head head;
    struct hn_session_row row;
    char plan[33];
    const struct hn_sending *sending = outgoing->sending;
    enum hn_status status = hn_store_get_head(sending->store, outgoing->extent->id, &head, err);
    if (status != HN_OK)
        return status;
    status = send_plan(sending, &head, plan, err);
    if (status != HN_OK) {
        hn_store_head_finish(&head);
        return status;
    }
    status = hn_session_row_make(outgoing->extent->origin, &head, plan[0] == '\0' ? NULL : plan,
                                 &row, err);
    if (status != HN_OK)
        return status;
    status = run_with_json(sending->connection,
                           "INSERT INTO hone.session(" HN_SESSION_ROW_COLUMNS ") SELECT"
                           " " HN_SESSION_ROW_COLUMNS " FROM"
                           " json_populate_record(NULL::hone.session, $1::json)"
                           " ON CONFLICT (origin) DO NOTHING",
                           hn_session_row_to_json(&row), NULL, err);
    hn_session_row_finish(&row);
    return status;
}

/* What the server has of the session. */
static enum hn_status look_up(struct outgoing *outgoing, struct hn_error *err)
{
    json_t *rows;
    json_int_t id = 0;
    json_int_t records = 0;
    const char *const values[] = {outgoing->extent->origin};
    enum hn_status status = hn_connection_read(
        outgoing->sending->connection, "SELECT id, records FROM hone.session WHERE origin = $1",
        values, 1, &rows, err);
    if (status != HN_OK)
        return status;
    outgoing->found =
        json_unpack(json_array_get(rows, 0), "{s:I, s:I}", "id", &id, "records", &records) == 0;
    json_decref(rows);
    print_integer(outgoing->id, id);
    outgoing->known = records;
    return HN_OK;
}

/* Rows of one statement. */
struct batch {
    struct hn_builder rows;
    const char *origin;
    int64_t count;
};

static enum hn_status add_row(void *visitor, const struct hn_store_row *row, struct hn_error *err)
{
    struct batch *batch = visitor;
    const struct hn_hash checksum = hn_row_checksum(batch->origin, row->position, row->json);
    json_t *objective = isfinite(row->objective) ? json_real(row->objective) : json_null();
    hn_build_append(&batch->rows,
                    json_pack("{s:I, s:s, s:s, s:I, s:b, s:o, s:s, s:s}", "position",
                              (json_int_t)row->position, "point", row->point, "outcome",
                              row->outcome, "verification", (json_int_t)row->verification, "final",
                              row->final, "objective", objective, "json", row->json, "checksum",
                              checksum.hex));
    batch->count++;
    return batch->rows.failed ? hn_fail_memory(err) : HN_OK;
}

/* From outgoing->known on. What a server drops is left to it: the rest goes on. */
static enum hn_status send_batch(struct outgoing *outgoing, struct hn_error *err)
{
    char first[24];
    char end[24];
    json_t *kept = NULL;
    const struct hn_sending *sending = outgoing->sending;
    struct batch batch = {.rows = hn_build_array(), .origin = outgoing->extent->origin};
    enum hn_status status = hn_store_visit_rows(sending->store, outgoing->extent->id,
                                                outgoing->known, BATCH, add_row, &batch, err);
    json_t *rows = hn_build_finish(&batch.rows);
    if (status != HN_OK || batch.count == 0) {
        json_decref(rows);
        return status != HN_OK
                   ? status
                   : hn_fail(err, HN_EFORMAT, "session '%.64s' has lost records", batch.origin);
    }
    status = run_with_json(
        sending->connection,
        "INSERT INTO hone.record(session_id, position, point, outcome, verification, final,"
        " objective, json, checksum) SELECT $2::bigint, r.position, r.point, r.outcome,"
        " r.verification, r.final, r.objective, r.json, r.checksum"
        " FROM json_populate_recordset(NULL::hone.record, $1::json) r ON CONFLICT DO NOTHING",
        rows, outgoing->id, err);
    print_integer(first, outgoing->known);
    print_integer(end, outgoing->known + batch.count);
    const char *const values[] = {outgoing->id, first, end};
    if (status == HN_OK)
        status = hn_connection_read(
            sending->connection,
            "UPDATE hone.session SET records = greatest(records, $3::bigint) WHERE id = $1::bigint"
            " AND (SELECT count(*) FROM hone.record WHERE session_id = $1::bigint AND position >="
            " $2::bigint AND position < $3::bigint) = $3::bigint - $2::bigint RETURNING id",
            values, 3, &kept, err);
    const bool all_kept = json_array_size(kept) > 0;
    json_decref(kept);
    if (status == HN_OK && !all_kept)
        *sending->unkept += outgoing->extent->records - outgoing->known;
    outgoing->known = all_kept ? outgoing->known + batch.count : outgoing->extent->records;
    return status;
}

struct images {
    struct hn_connection *connection;
    const char *subject;
    json_t *known; /* point: hash */
};

static enum hn_status send_image(void *visitor, const struct hn_store_image *image,
                                 struct hn_error *err)
{
    static const char digits[] = "0123456789abcdef";
    const struct images *images = visitor;
    const unsigned char *bytes = image->cubin;
    const char *known = json_string_value(json_object_get(images->known, image->point));
    if (known != NULL && strcmp(known, image->hash) == 0)
        return HN_OK;
    char *hex = malloc(2 * image->size + 1);
    if (hex == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < image->size; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * image->size] = '\0';
    const char *const values[] = {images->subject, image->point, image->entry, hex, image->hash};
    enum hn_status status = hn_connection_run(
        images->connection,
        "INSERT INTO hone.image VALUES($1, $2, $3, decode($4, 'hex'), $5) ON CONFLICT"
        " (subject, point) DO UPDATE SET entry = excluded.entry, cubin = excluded.cubin,"
        " hash = excluded.hash",
        values, 5, err);
    free(hex);
    return status;
}

static enum hn_status send_images(const struct outgoing *outgoing, struct hn_error *err)
{
    json_t *rows;
    const struct hn_sending *sending = outgoing->sending;
    const char *const values[] = {outgoing->extent->origin};
    enum hn_status status = hn_connection_read(
        sending->connection,
        "SELECT s.subject, (SELECT json_object_agg(i.point, i.hash) FROM hone.image i WHERE"
        " i.subject = s.subject) AS images FROM hone.session s WHERE s.origin = $1",
        values, 1, &rows, err);
    if (status != HN_OK)
        return status;
    const json_t *row = json_array_get(rows, 0);
    struct images images = {.connection = sending->connection,
                            .subject = json_string_value(json_object_get(row, "subject")),
                            .known = json_object_get(row, "images")};
    if (images.subject != NULL)
        status =
            hn_store_visit_images(sending->store, outgoing->extent->id, send_image, &images, err);
    json_decref(rows);
    return status;
}

/* A rule that was sent by another is newer than what was fetched of it. */
static enum hn_status send_rule(const struct outgoing *outgoing, struct hn_error *err)
{
    struct hn_store_head head;
    const struct hn_sending *sending = outgoing->sending;
    bool own = outgoing->extent->id > sending->own_after;
    enum hn_status status = hn_store_get_head(sending->store, outgoing->extent->id, &head, err);
    if (status != HN_OK || head.rule == NULL) {
        hn_store_head_finish(&head);
        return status;
    }
    const struct hn_hash sum = hn_row_checksum(outgoing->extent->origin, -1, head.rule);
    const char *const values[] = {outgoing->id, head.rule, sum.hex};
    status = hn_connection_run(
        sending->connection,
        own ? "INSERT INTO hone.rule VALUES($1::bigint, $2, $3) ON CONFLICT (session_id)"
              " DO UPDATE SET json = excluded.json, checksum = excluded.checksum"
            : "INSERT INTO hone.rule VALUES($1::bigint, $2, $3) ON CONFLICT DO NOTHING",
        values, 3, err);
    hn_store_head_finish(&head);
    return status;
}

/* Makes the session on the server where it is missing, and sends the records that it lacks. */
static enum hn_status send_session(struct outgoing *outgoing, struct hn_error *err)
{
    enum hn_status status = look_up(outgoing, err);
    if (status == HN_OK && !outgoing->found) {
        status = send_head(outgoing, err);
        if (status == HN_OK)
            status = look_up(outgoing, err);
    }
    if (status == HN_OK && !outgoing->found)
        *outgoing->sending->unkept += outgoing->extent->records;
    while (status == HN_OK && outgoing->found && outgoing->known < outgoing->extent->records)
        status = send_batch(outgoing, err);
    return status;
}

enum hn_status hn_send_news(const struct hn_sending *sending, int64_t last_record,
                            struct hn_error *err)
{
    struct hn_store_extents extents;
    enum hn_status status = hn_store_get_extents(sending->store, last_record, &extents, err);
    for (size_t i = 0; status == HN_OK && i < extents.count; i++) {
        struct outgoing outgoing = {.sending = sending, .extent = &extents.items[i]};
        status = send_session(&outgoing, err);
    }
    hn_store_extents_free(&extents);
    return status;
}

enum hn_status hn_send_look(struct hn_connection *connection, const char *kernel, json_t **sessions,
                            struct hn_error *err)
{
    const char *const values[] = {kernel};
    return hn_connection_read(connection,
                              /* An origin that is longer than any is found to be nobody's. */
                              "SELECT left(s.origin, 257) AS origin, s.records,"
                              " u.session_id IS NOT NULL AS rule FROM (SELECT id, origin, records"
                              " FROM hone.session WHERE $1::text IS NULL OR kernel = $1"
                              " ORDER BY random() LIMIT 100000) s LEFT JOIN hone.rule u ON "
                              "u.session_id = s.id ORDER BY s.origin",
                              values, 1, sessions, err);
}

static enum hn_status add_roof(void *visitor, const struct hn_device_identity *device,
                               const struct hn_roofs *roofs, struct hn_error *err)
{
    struct hn_builder *rows = visitor;
    hn_build_append(rows,
                    json_pack("{s:s, s:i, s:i, s:s, s:s, s:f, s:f, s:f, s:f, s:f}", "device",
                              device->name, "capability", device->capability, "sm_count",
                              device->sm_count, "mig_profile", device->mig_profile, "driver",
                              roofs->driver, "measured", roofs->measured, "copy_gb_per_s",
                              roofs->copy_gb_per_s, "l2_gb_per_s", roofs->l2_gb_per_s,
                              "fp32_gflops", roofs->fp32_gflops, "launch_us", roofs->launch_us));
    return rows->failed ? hn_fail_memory(err) : HN_OK;
}

/* Those of the copy that the server has none of, or older ones. */
#define LACKING                                                                                    \
    "SELECT n.* FROM json_populate_recordset(NULL::hone.roof, $1::json) n WHERE NOT EXISTS"        \
    " (SELECT 1 FROM hone.roof r WHERE r.device = n.device AND r.capability = n.capability AND"    \
    " r.sm_count = n.sm_count AND r.mig_profile = n.mig_profile AND r.driver = n.driver AND"       \
    " r.measured >= n.measured)"

/* Nothing is written where nothing is new: a role may have the right to read only. */
static enum hn_status send_roofs(const struct hn_sending *sending, struct hn_error *err)
{
    json_t *lacking = NULL;
    struct hn_builder all = hn_build_array();
    enum hn_status status = hn_store_visit_roofs(sending->store, add_roof, &all, err);
    json_t *json = hn_build_finish(&all);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
    json_decref(json);
    const char *const values[] = {text};
    if (status == HN_OK && text == NULL)
        status = hn_fail_memory(err);
    if (status == HN_OK)
        status = hn_connection_read(sending->connection, LACKING, values, 1, &lacking, err);
    if (status == HN_OK && json_array_size(lacking) > 0)
        status = hn_connection_run(
            sending->connection,
            "INSERT INTO hone.roof AS r " LACKING
            " ON CONFLICT (device, capability, sm_count, mig_profile, driver) DO UPDATE SET"
            " measured = excluded.measured, copy_gb_per_s = excluded.copy_gb_per_s,"
            " l2_gb_per_s = excluded.l2_gb_per_s, fp32_gflops = excluded.fp32_gflops,"
            " launch_us = excluded.launch_us WHERE r.measured < excluded.measured",
            values, 1, err);
    json_decref(lacking);
    free(text);
    return status;
}

/* Both lists are ordered by origin; *at goes along the server's. */
static const json_t *find_theirs(const json_t *theirs, size_t *at, const char *origin)
{
    for (; *at < json_array_size(theirs); ++*at) {
        const json_t *row = json_array_get(theirs, *at);
        const char *name = json_string_value(json_object_get(row, "origin"));
        int order = name == NULL ? -1 : strcmp(name, origin);
        if (order >= 0)
            return order == 0 ? row : NULL;
    }
    return NULL;
}

static enum hn_status send_whole(const struct hn_sending *sending,
                                 const struct hn_store_extent *extent, const json_t *theirs,
                                 struct hn_error *err)
{
    struct outgoing outgoing = {.sending = sending, .extent = extent};
    const json_int_t known = json_integer_value(json_object_get(theirs, "records"));
    bool own = extent->id > sending->own_after;
    bool lacks = theirs == NULL || known < extent->records;
    bool lacks_rule = extent->rule && (own || !json_is_true(json_object_get(theirs, "rule")));
    enum hn_status status = lacks || lacks_rule ? send_session(&outgoing, err) : HN_OK;
    if (status == HN_OK && lacks_rule && outgoing.found)
        status = send_rule(&outgoing, err);
    return status == HN_OK && (lacks || own) ? send_images(&outgoing, err) : status;
}

enum hn_status hn_send_all(const struct hn_sending *sending, struct hn_error *err)
{
    struct hn_store_extents extents;
    json_t *theirs = NULL;
    size_t at = 0;
    enum hn_status status = hn_store_get_extents(sending->store, 0, &extents, err);
    *sending->unkept = 0;
    if (status == HN_OK)
        status = hn_send_look(sending->connection, NULL, &theirs, err);
    for (size_t i = 0; status == HN_OK && i < extents.count; i++)
        status = send_whole(sending, &extents.items[i],
                            find_theirs(theirs, &at, extents.items[i].origin), err);
    json_decref(theirs);
    hn_store_extents_free(&extents);
    return status == HN_OK ? send_roofs(sending, err) : status;
}
