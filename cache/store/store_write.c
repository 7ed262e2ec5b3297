/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cache/record/gate.h"
#include "cache/store/store_internal.h"

/* Records are grouped for this long, so that a fast tune costs few transactions. */
enum { COMMIT_AFTER_MS = 50 };

enum hn_status hn_store_begin(struct hn_store *store, const struct hn_store_session *session,
                              int64_t *session_id, struct hn_error *err)
{
    assert(store->mode == HN_STORE_WRITE);
    enum hn_status status = hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    if (status == HN_OK)
        status = hn_store_add_session(store, session, session_id, err);
    if (status == HN_OK)
        status = hn_database_run(store->database, "COMMIT", err);
    hn_database_rollback(store->database);
    return status;
}

/* The next free slot; what is in it counts once pending_count is raised. */
static struct hn_pending *next_slot(struct hn_store *store)
{
    if (store->pending_count == store->pending_capacity) {
        size_t capacity = store->pending_capacity == 0 ? 64 : 2 * store->pending_capacity;
        struct hn_pending *grown = realloc(store->pending, capacity * sizeof *grown);
        if (grown == NULL)
            return NULL;
        store->pending = grown;
        store->pending_capacity = capacity;
    }
    struct hn_pending *slot = &store->pending[store->pending_count];
    *slot = (struct hn_pending){.cubin = NULL};
    hn_record_init(&slot->record);
    return slot;
}

static void finish_pending(struct hn_pending *pending)
{
    hn_record_finish(&pending->record);
    free(pending->cubin);
    free(pending->entry);
}

static void take_slot(struct hn_store *store)
{
    if (store->pending_count++ == 0)
        clock_gettime(CLOCK_MONOTONIC, &store->oldest);
}

enum hn_status hn_store_put(struct hn_store *store, int64_t session_id,
                            const struct hn_record *record, struct hn_error *err)
{
    assert(store->mode == HN_STORE_WRITE);
    struct hn_pending *slot = next_slot(store);
    if (slot == NULL)
        return hn_fail_memory(err);
    slot->session_id = session_id;
    enum hn_status status = hn_record_copy(&slot->record, record, err);
    if (status == HN_OK)
        take_slot(store);
    return status;
}

enum hn_status hn_store_put_image(struct hn_store *store, int64_t session_id,
                                  const struct hn_bindings *point, const void *cubin, size_t size,
                                  const char *entry, struct hn_error *err)
{
    assert(store->mode == HN_STORE_WRITE);
    struct hn_pending *slot = next_slot(store);
    if (slot == NULL)
        return hn_fail_memory(err);
    slot->session_id = session_id;
    slot->size = size;
    slot->cubin = malloc(size == 0 ? 1 : size);
    slot->entry = strdup(entry);
    enum hn_status status = slot->cubin == NULL || slot->entry == NULL
                                ? hn_fail_memory(err)
                                : hn_bindings_copy(&slot->record.point, point, err);
    if (status != HN_OK) {
        finish_pending(slot);
        return status;
    }
    memcpy(slot->cubin, cubin, size);
    take_slot(store);
    return HN_OK;
}

static enum hn_status write_pending(struct hn_store *store, const struct hn_pending *pending,
                                    struct hn_error *err)
{
    if (pending->cubin == NULL)
        return hn_store_add_record(store->database, pending->session_id, &pending->record, err);
    char *point = hn_store_text_of(&pending->record.point);
    enum hn_status status =
        point == NULL ? hn_fail_memory(err)
                      : hn_store_add_image(store->database, pending->session_id, point,
                                           pending->cubin, pending->size, pending->entry, err);
    free(point);
    return status;
}

enum hn_status hn_store_commit(struct hn_store *store, struct hn_error *err)
{
    enum hn_status status = hn_store_keep_place(store, err);
    if (status != HN_OK || store->pending_count == 0)
        return status;
    status = hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    for (size_t i = 0; status == HN_OK && i < store->pending_count; i++)
        status = write_pending(store, &store->pending[i], err);
    if (status == HN_OK)
        status = hn_database_run(store->database, "COMMIT", err);
    if (status != HN_OK) {
        hn_database_rollback(store->database);
        return status;
    }
    for (size_t i = 0; i < store->pending_count; i++)
        finish_pending(&store->pending[i]);
    store->pending_count = 0;
    hn_store_tell(store);
    return HN_OK;
}

int hn_store_due_ms(const struct hn_store *store)
{
    if (store->pending_count == 0)
        return -1;
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    int64_t elapsed_ms = (int64_t)(time.tv_sec - store->oldest.tv_sec) * 1000 +
                         (time.tv_nsec - store->oldest.tv_nsec) / 1000000;
    return elapsed_ms >= COMMIT_AFTER_MS ? 0 : (int)(COMMIT_AFTER_MS - elapsed_ms);
}

static enum hn_status add_records(struct hn_store *store, int64_t session_id,
                                  const struct hn_records *records, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < records->count; i++)
        status = hn_store_add_record(store->database, session_id, &records->items[i], err);
    return status;
}

enum hn_status hn_store_import(struct hn_store *store, const struct hn_store_session *session,
                               const struct hn_records *records, bool *added, struct hn_error *err)
{
    assert(store->mode == HN_STORE_WRITE);
    bool known = false;
    int64_t session_id = 0;
    enum hn_status status = hn_gate_date(session->started, err);
    if (status == HN_OK)
        status = hn_database_run(store->database, "BEGIN IMMEDIATE", err);
    if (status == HN_OK && session->origin != NULL)
        status = hn_store_has_origin(store, session->origin, &known, err);
    if (status == HN_OK && !known)
        status = hn_store_add_session(store, session, &session_id, err);
    if (status == HN_OK && !known)
        status = add_records(store, session_id, records, err);
    if (status == HN_OK && !known && session->rule != NULL)
        status = hn_store_write_rule(store->database, session_id, session->rule, err);
    if (status == HN_OK)
        status = hn_database_run(store->database, "COMMIT", err);
    hn_database_rollback(store->database);
    *added = !known;
    return status;
}
