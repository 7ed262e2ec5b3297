/* SPDX-License-Identifier: MIT */
#include "tuner/server/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "cache/family/rule.h"
#include "cache/record/gate.h"
#include "cache/record/record_json.h"
#include "cache/store/store.h"
#include "cache/store/store_roofs.h"
#include "tuner/server/send.h"
#include "tuner/server/session_row.h"

static const double most_ms = 120000;
/* Bytes of an answer. */
#define MOST "16777216"

/* A session that is being fetched. */
struct incoming {
    const struct hn_fetching *fetching;
    const char *origin;
    const char *objective; /* of its task */
    int64_t known;         /* records that the cache has; -1: it has not even the session */
    int64_t theirs;        /* records that the server says to have */
};

/* A column of a row, "" where it is NULL. */
static const char *text_of(const json_t *row, const char *column)
{
    const char *text = json_string_value(json_object_get(row, column));
    return text == NULL ? "" : text;
}

/* HN_EFORMAT is of what was fetched: the rest goes on. */
static enum hn_status refuse(struct incoming *incoming, const char *reason, struct hn_error *err)
{
    return hn_fail(err, HN_EFORMAT, "session '%.64s': %.1000s", incoming->origin, reason);
}

static enum hn_status read_record(struct incoming *incoming, const json_t *row,
                                  struct hn_record *record, struct hn_error *err)
{
    struct hn_error reason = {0};
    json_error_t place;
    const char *text = text_of(row, "json");
    const json_int_t position = json_integer_value(json_object_get(row, "position"));
    const struct hn_hash sum = hn_row_checksum(incoming->origin, position, text);
    if (position != incoming->known)
        return refuse(incoming, "a record is missing", err);
    if (strcmp(sum.hex, text_of(row, "checksum")) != 0)
        return refuse(incoming, "a record is not what was written", err);
    if (hn_gate_json(text, strlen(text), &reason) != HN_OK)
        return refuse(incoming, reason.message, err);
    json_t *json = json_loads(text, 0, &place);
    if (json == NULL)
        return refuse(incoming, place.text, err);
    enum hn_status status = hn_record_from_json(json, incoming->objective, record, &reason);
    json_decref(json);
    if (status == HN_OK)
        status = hn_gate_date(record->time, &reason);
    if (status == HN_ENOMEM)
        return hn_fail_memory(err);
    return status == HN_OK ? HN_OK : refuse(incoming, reason.message, err);
}

/* Appends an answer's records, which begin at the position incoming->known. */
static enum hn_status take_records(struct incoming *incoming, const json_t *rows,
                                   struct hn_error *err)
{
    const int64_t first = incoming->known;
    struct hn_records records = {calloc(json_array_size(rows) + 1, sizeof *records.items), 0};
    enum hn_status status = records.items == NULL ? hn_fail_memory(err) : HN_OK;
    while (status == HN_OK && records.count < json_array_size(rows)) {
        const json_t *row = json_array_get(rows, records.count);
        struct hn_record *record = &records.items[records.count++];
        hn_record_init(record);
        status = read_record(incoming, row, record, err);
        incoming->known++;
    }
    if (status == HN_OK)
        status = hn_store_extend(incoming->fetching->store, incoming->origin, first, &records, err);
    hn_records_free(&records);
    return status;
}

static enum hn_status fetch_records(struct incoming *incoming, int64_t *count, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    while (status == HN_OK && incoming->known < incoming->theirs) {
        json_t *rows;
        char first[24];
        char end[24];
        snprintf(first, sizeof first, "%lld", (long long)incoming->known);
        snprintf(end, sizeof end, "%lld", (long long)incoming->theirs);
        const char *const values[] = {incoming->origin, first, end};
        status = hn_connection_read(
            incoming->fetching->connection,
            /* No join: how many rows one gives a server without statistics guesses wrong. */
            "SELECT position, json, checksum FROM (SELECT position, json, checksum,"
            " sum(octet_length(json)::bigint + octet_length(checksum)) OVER (ORDER BY position) AS"
            " bytes FROM (SELECT position, json, checksum FROM hone.record WHERE session_id ="
            " (SELECT id FROM hone.session WHERE origin = $1) AND position >= $2::bigint AND "
            "position <"
            " $3::bigint"
            " ORDER BY position LIMIT 2000) r) r WHERE bytes <= " MOST " ORDER BY position",
            values, 3, &rows, err);
        if (status != HN_OK)
            return status;
        status = json_array_size(rows) > 0
                     ? take_records(incoming, rows, err)
                     : refuse(incoming, "a record is missing, or larger than " MOST " bytes", err);
        *count += status == HN_OK ? (int64_t)json_array_size(rows) : 0;
        json_decref(rows);
    }
    return status;
}

/* The plan's text and files, which the result of the parsed answer owns. files: the caller's to
 * free. */
static enum hn_status read_plan(const json_t *row, json_t **parsed, struct hn_store_plan *plan,
                                struct hn_error *err)
{
    const char *files = text_of(row, "files");
    enum hn_status status = hn_gate_json(files, strlen(files), err);
    if (status != HN_OK)
        return status;
    *parsed = json_loads(files, 0, NULL);
    const size_t count = json_array_size(*parsed);
    struct hn_store_file *list = calloc(count + 1, sizeof *list);
    if (list == NULL)
        return hn_fail_memory(err);
    *plan = (struct hn_store_plan){text_of(row, "json"), list, count};
    for (size_t i = 0; status == HN_OK && i < count; i++) {
        json_t *pair = json_array_get(*parsed, i);
        if (json_unpack(pair, "[ss]", &list[i].name, &list[i].text) != 0)
            status = hn_fail(err, HN_EFORMAT, "a plan's files are not names and texts");
        else
            status = hn_gate_line("the name of a template", list[i].name, HN_NAME_MOST, err);
    }
    return status == HN_OK ? hn_gate_json(plan->json, strlen(plan->json), err) : status;
}

static enum hn_status add_session(struct incoming *incoming, const struct hn_session_row *row,
                                  const struct hn_store_plan *plan, struct hn_error *err)
{
    bool added;
    const struct hn_records none = {NULL, 0};
    const struct hn_store_session session = {
        .identity = &row->head.identity,
        .version = &row->head.version,
        .plan = plan,
        .command = row->head.command,
        .simulated = row->head.simulated,
        .from = &row->head.from,
        .origin = row->origin,
        .started = row->head.started,
    };
    incoming->known = 0;
    return hn_store_import(incoming->fetching->store, &session, &none, &added, err);
}

static enum hn_status fetch_plan_and_add(struct incoming *incoming,
                                         const struct hn_session_row *row, struct hn_error *err)
{
    json_t *rows;
    json_t *parsed = NULL;
    struct hn_error reason = {0};
    struct hn_store_plan plan = {NULL, NULL, 0};
    const char *const values[] = {row->plan};
    if (row->plan == NULL)
        return add_session(incoming, row, NULL, err);
    enum hn_status status =
        hn_connection_read(incoming->fetching->connection,
                           "SELECT json, files FROM hone.plan WHERE hash = $1 AND"
                           " octet_length(json) <= " MOST " AND octet_length(files) <= " MOST,
                           values, 1, &rows, err);
    if (status != HN_OK)
        return status;
    const json_t *found = json_array_get(rows, 0);
    const struct hn_hash name = hn_plan_name(text_of(found, "json"), text_of(found, "files"));
    if (strcmp(name.hex, row->plan) != 0)
        status = refuse(incoming, "its plan is missing, too large or not what was written", err);
    else if (read_plan(found, &parsed, &plan, &reason) != HN_OK)
        status = refuse(incoming, reason.message, err);
    if (status == HN_OK)
        status = add_session(incoming, row, &plan, err);
    free((void *)(uintptr_t)plan.files);
    json_decref(parsed);
    json_decref(rows);
    return status;
}

/* The session's row, and the records that the cache lacks. */
static enum hn_status fetch_session(struct incoming *incoming, int64_t *records,
                                    struct hn_error *err)
{
    json_t *rows;
    struct hn_session_row row = {.origin = NULL};
    struct hn_error reason = {0};
    const char *const values[] = {incoming->origin};
    enum hn_status status =
        hn_connection_read(incoming->fetching->connection,
                           "SELECT " HN_SESSION_ROW_COLUMNS " FROM hone.session WHERE origin = $1"
                           " AND " HN_SESSION_ROW_LONGEST " <= 65536",
                           values, 1, &rows, err);
    if (status != HN_OK)
        return status;
    if (json_array_size(rows) == 0)
        status = refuse(incoming, "its row is missing or too large", err);
    else if (hn_session_row_read(json_array_get(rows, 0), &row, &reason) != HN_OK)
        status = refuse(incoming, reason.message, err);
    incoming->objective = row.head.identity.objective;
    if (status == HN_OK && incoming->known < 0)
        status = fetch_plan_and_add(incoming, &row, err);
    if (status == HN_OK)
        status = fetch_records(incoming, records, err);
    hn_session_row_finish(&row);
    json_decref(rows);
    return status;
}

static enum hn_status fetch_rule(struct incoming *incoming, struct hn_error *err)
{
    json_t *rows;
    struct hn_rule rule;
    struct hn_error reason = {0};
    int64_t id = 0;
    const char *const values[] = {incoming->origin};
    enum hn_status status =
        hn_connection_read(incoming->fetching->connection,
                           "SELECT u.json, u.checksum FROM hone.rule u JOIN hone.session s"
                           " ON s.id = u.session_id WHERE s.origin = $1"
                           " AND octet_length(u.json)::bigint + octet_length(u.checksum) <= " MOST,
                           values, 1, &rows, err);
    if (status != HN_OK)
        return status;
    const char *text = text_of(json_array_get(rows, 0), "json");
    const struct hn_hash sum = hn_row_checksum(incoming->origin, -1, text);
    hn_rule_init(&rule);
    if (strcmp(sum.hex, text_of(json_array_get(rows, 0), "checksum")) != 0)
        status = refuse(incoming, "its rule is too large or not what was written", err);
    else
        status = hn_gate_json(text, strlen(text), err);
    json_t *json = status == HN_OK ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (status == HN_OK && hn_rule_from_json(json, &rule, &reason) != HN_OK)
        status = refuse(incoming, reason.message, err);
    if (status == HN_OK)
        status = hn_store_find_session(incoming->fetching->store, incoming->origin, &id, NULL, err);
    if (status == HN_OK && id != 0)
        status = hn_store_put_rule(incoming->fetching->store, id, &rule, err);
    json_decref(json);
    hn_rule_finish(&rule);
    json_decref(rows);
    return status;
}

/* hex, of an even number of digits, as the server writes it; NULL: it is something else. */
static unsigned char *read_hex(const char *hex, size_t *size)
{
    static const char digits[] = "0123456789abcdef";
    *size = strlen(hex) / 2;
    unsigned char *bytes = malloc(*size + 1);
    for (size_t i = 0; bytes != NULL && i < *size; i++) {
        const char *high = memchr(digits, hex[2 * i], 16);
        const char *low = memchr(digits, hex[2 * i + 1], 16);
        if (high == NULL || low == NULL) {
            free(bytes);
            return NULL;
        }
        bytes[i] = (unsigned char)((high - digits) * 16 + (low - digits));
    }
    return bytes;
}

/* HN_EFORMAT counts as refused: what was fetched is bad, and the rest goes on. */
static enum hn_status count_refused(enum hn_status status, const struct hn_error *reason,
                                    struct hn_fetched *fetched, struct hn_error *err)
{
    if (status != HN_OK && status != HN_EFORMAT)
        return hn_fail(err, status, "%s", reason->message);
    if (status == HN_EFORMAT && fetched->refused++ == 0)
        snprintf(fetched->reason, sizeof fetched->reason, "%.500s", reason->message);
    return HN_OK;
}

static enum hn_status take_image(const struct hn_fetching *fetching, const json_t *row,
                                 struct hn_error *err)
{
    struct hn_bindings point;
    size_t size = 0;
    int64_t id = 0;
    hn_bindings_init(&point);
    unsigned char *bytes = read_hex(text_of(row, "cubin"), &size);
    enum hn_status status = bytes == NULL ? hn_fail_memory(err) : HN_OK;
    if (status == HN_OK && hn_bindings_parse(text_of(row, "point"), &point, NULL) != HN_OK)
        status = hn_fail(err, HN_EFORMAT, "the point of an image is not one");
    const struct hn_hash hash = hn_hash_bytes(bytes, size);
    if (status == HN_OK && strcmp(hash.hex, text_of(row, "hash")) != 0)
        status = hn_fail(err, HN_EFORMAT, "an image is too large or not what was written");
    if (status == HN_OK)
        status = hn_gate_line("the entry of an image", text_of(row, "entry"), HN_NAME_MOST, err);
    if (status == HN_OK)
        status = hn_store_find_session(fetching->store, text_of(row, "origin"), &id, NULL, err);
    if (status == HN_OK && id != 0)
        status = hn_store_put_image(fetching->store, id, &point, bytes, size, text_of(row, "entry"),
                                    err);
    if (status == HN_OK)
        status = hn_store_commit(fetching->store, err);
    free(bytes);
    hn_bindings_finish(&point);
    return status;
}

/* One at a time, as they may be large. */
static enum hn_status fetch_images(const struct hn_fetching *fetching, double end_ms,
                                   struct hn_fetched *fetched, struct hn_error *err)
{
    json_t *places;
    const char *const kernel[] = {fetching->kernel};
    enum hn_status status = hn_connection_read(
        fetching->connection,
        "SELECT i.subject, i.point, min(s.origin) AS origin FROM hone.image i JOIN hone.session s"
        " ON s.subject = i.subject WHERE ($1::text IS NULL OR s.kernel = $1) AND"
        " octet_length(i.subject) + octet_length(i.point) <= 4096 AND octet_length(s.origin) <= 256"
        " GROUP BY i.subject, i.point LIMIT 10000",
        kernel, 1, &places, err);
    for (size_t i = 0; status == HN_OK && !fetched->left && i < json_array_size(places); i++) {
        json_t *rows;
        struct hn_error reason = {0};
        const json_t *place = json_array_get(places, i);
        const char *const values[] = {text_of(place, "subject"), text_of(place, "point"),
                                      text_of(place, "origin")};
        status = hn_connection_read(
            fetching->connection,
            "SELECT point, left(entry, 4097) AS entry, left(hash, 33) AS hash, CASE WHEN"
            " octet_length(cubin) <= 4 * " MOST " THEN encode(cubin, 'hex') END AS cubin,"
            " $3::text AS origin FROM hone.image WHERE subject = $1 AND point = $2",
            values, 3, &rows, err);
        if (status == HN_OK && json_array_size(rows) == 1)
            status = count_refused(take_image(fetching, json_array_get(rows, 0), &reason), &reason,
                                   fetched, err);
        fetched->left = hn_now_ms() > end_ms;
        json_decref(rows);
    }
    json_decref(places);
    return status;
}

static enum hn_status take_roof(struct hn_store *store, json_t *row, struct hn_error *err)
{
    struct hn_roofs roofs = {.measured = 0};
    struct hn_roofs known;
    struct hn_device_identity device = {.capability = 0};
    const char *name;
    const char *profile;
    const char *driver;
    if (json_unpack(row, "{s:s, s:i, s:i, s:s, s:s, s:F, s:F, s:F, s:F, s:F}", "device", &name,
                    "capability", &device.capability, "sm_count", &device.sm_count, "mig_profile",
                    &profile, "driver", &driver, "measured", &roofs.measured, "copy_gb_per_s",
                    &roofs.copy_gb_per_s, "l2_gb_per_s", &roofs.l2_gb_per_s, "fp32_gflops",
                    &roofs.fp32_gflops, "launch_us", &roofs.launch_us) != 0 ||
        strlen(name) >= sizeof device.name || strlen(profile) >= sizeof device.mig_profile ||
        strlen(driver) >= sizeof roofs.driver)
        return hn_fail(err, HN_EFORMAT, "what a device can do at best is not texts and numbers");
    strcpy(device.name, name);
    strcpy(device.mig_profile, profile);
    strcpy(roofs.driver, driver);
    if (hn_gate_date(roofs.measured, err) != HN_OK)
        return HN_EFORMAT;
    if (hn_store_get_roofs(store, &device, roofs.driver, &known, NULL) == HN_OK &&
        known.measured >= roofs.measured)
        return HN_OK;
    return hn_store_put_roofs(store, &device, &roofs, err);
}

static enum hn_status fetch_roofs(const struct hn_fetching *fetching, struct hn_fetched *fetched,
                                  struct hn_error *err)
{
    json_t *rows;
    enum hn_status status = hn_connection_read(
        fetching->connection,
        "SELECT left(device, 128) AS device, capability, sm_count, left(mig_profile, 128) AS"
        " mig_profile, left(driver, 128) AS driver, measured, copy_gb_per_s, l2_gb_per_s,"
        " fp32_gflops, launch_us FROM hone.roof ORDER BY random() LIMIT 500",
        NULL, 0, &rows, err);
    for (size_t i = 0; status == HN_OK && i < json_array_size(rows); i++) {
        struct hn_error reason = {0};
        status = count_refused(take_roof(fetching->store, json_array_get(rows, i), &reason),
                               &reason, fetched, err);
    }
    fetched->left = fetched->left || json_array_size(rows) == 500;
    json_decref(rows);
    return status;
}

static int compare_origins(const void *origin, const void *extent)
{
    return strcmp(origin, ((const struct hn_store_extent *)extent)->origin);
}

static enum hn_status fetch_one(const struct hn_fetching *fetching, const json_t *theirs,
                                const struct hn_store_extents *all, struct hn_fetched *fetched,
                                struct hn_error *err)
{
    struct hn_error reason = {0};
    const char *origin = text_of(theirs, "origin");
    const struct hn_store_extent *own =
        all->count == 0
            ? NULL
            : bsearch(origin, all->items, all->count, sizeof *all->items, compare_origins);
    struct incoming incoming = {.fetching = fetching,
                                .origin = origin,
                                .known = own == NULL ? -1 : own->records,
                                .theirs = json_integer_value(json_object_get(theirs, "records"))};
    bool lacks = own == NULL || own->records < incoming.theirs;
    bool lacks_rule = json_is_true(json_object_get(theirs, "rule")) && (own == NULL || !own->rule);
    enum hn_status status = HN_OK;
    if (lacks)
        status = fetch_session(&incoming, &fetched->records, &reason);
    if (status == HN_OK && lacks_rule)
        status = fetch_rule(&incoming, &reason);
    fetched->sessions += lacks;
    return count_refused(status, &reason, fetched, err);
}

enum hn_status hn_fetch(const struct hn_fetching *fetching, struct hn_fetched *fetched,
                        struct hn_error *err)
{
    struct hn_store_extents own;
    json_t *theirs = NULL;
    const double begin_ms = hn_now_ms();
    *fetched = (struct hn_fetched){.sessions = 0};
    enum hn_status status = hn_store_get_extents(fetching->store, 0, &own, err);
    if (status == HN_OK)
        status = hn_send_look(fetching->connection, fetching->kernel, &theirs, err);
    /* From somewhere on, so that bad ones do not stand before the good ones each time. */
    const size_t count = json_array_size(theirs);
    for (size_t i = 0; status == HN_OK && !fetched->left && i < count; i++) {
        const json_t *row = json_array_get(theirs, ((size_t)begin_ms + i) % count);
        status = fetch_one(fetching, row, &own, fetched, err);
        fetched->left = fetched->sessions > HN_FETCH_MOST || hn_now_ms() > begin_ms + most_ms;
    }
    fetched->left = fetched->left || count == HN_LOOK_MOST;
    json_decref(theirs);
    hn_store_extents_free(&own);
    if (status == HN_OK && fetching->images)
        status = fetch_images(fetching, begin_ms + most_ms, fetched, err);
    return status == HN_OK ? fetch_roofs(fetching, fetched, err) : status;
}
