/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cache/record/gate.h"
#include "cache/store/store_internal.h"
#include "cache/store/store_record.h"

void hn_records_free(struct hn_records *records)
{
    for (size_t i = 0; i < records->count; i++)
        hn_record_finish(&records->items[i]);
    free(records->items);
    *records = (struct hn_records){.items = NULL};
}

struct growing {
    struct hn_records *records;
    size_t capacity;
};

/* Takes the record over. */
static enum hn_status append_record(void *pointer, int64_t id, struct hn_record *record,
                                    struct hn_error *err)
{
    struct growing *growing = pointer;
    struct hn_records *records = growing->records;
    (void)id;
    if (records->count == growing->capacity) {
        size_t capacity = growing->capacity == 0 ? 256 : 2 * growing->capacity;
        struct hn_record *grown = realloc(records->items, capacity * sizeof *grown);
        if (grown == NULL)
            return hn_fail_memory(err);
        records->items = grown;
        growing->capacity = capacity;
    }
    records->items[records->count++] = *record;
    hn_record_init(record);
    return HN_OK;
}

enum hn_status hn_store_load(struct hn_store *store, const struct hn_identity *identity,
                             const struct hn_version *version, bool simulated,
                             struct hn_records *records, struct hn_error *err)
{
    struct growing growing = {.records = records};
    *records = (struct hn_records){.items = NULL};
    enum hn_status status = hn_store_visit(store, identity, version, simulated, HN_STORE_ALL,
                                           append_record, &growing, err);
    if (status != HN_OK)
        hn_records_free(records);
    return status;
}

enum hn_status hn_store_read_image(const struct hn_store *store, struct hn_statement *statement,
                                   const void **cubin, size_t *size, struct hn_error *err)
{
    *cubin = hn_column_bytes(statement, 1, size);
    const struct hn_hash hash = hn_hash_bytes(*cubin, *size);
    if (strcmp(hash.hex, hn_column_text(statement, 2)) != 0)
        return hn_fail(err, HN_EFORMAT,
                       "cache '%s' is damaged: an image has hash %s, expected '%.32s'; 'hone cache "
                       "prune --images' removes all images, 'hone tune' makes them again",
                       store->path, hash.hex, hn_column_text(statement, 2));
    return hn_store_expect_intact(store, statement, 3, "an image", err);
}

static enum hn_status take_image(const struct hn_store *store, struct hn_statement *statement,
                                 void **cubin, size_t *size, char **entry, struct hn_error *err)
{
    const void *bytes;
    enum hn_status status = hn_store_read_image(store, statement, &bytes, size, err);
    if (status != HN_OK)
        return status;
    *entry = strdup(hn_column_text(statement, 0));
    *cubin = malloc(*size == 0 ? 1 : *size);
    if (*entry == NULL || *cubin == NULL) {
        free(*entry);
        free(*cubin);
        *entry = NULL;
        *cubin = NULL;
        return hn_fail_memory(err);
    }
    if (*size > 0)
        memcpy(*cubin, bytes, *size);
    return HN_OK;
}

enum hn_status hn_store_get_image(struct hn_store *store, const struct hn_identity *identity,
                                  const struct hn_version *version, const struct hn_bindings *point,
                                  void **cubin, size_t *size, char **entry, struct hn_error *err)
{
    int64_t task_id = 0;
    int64_t version_id = 0;
    bool row = false;
    struct hn_statement *statement = NULL;
    *cubin = NULL;
    *entry = NULL;
    char *key = hn_store_text_of(point);
    enum hn_status status = key == NULL ? hn_fail_memory(err) : HN_OK;
    if (status == HN_OK)
        status = hn_store_find_task(store, identity, &task_id, err);
    if (status == HN_OK)
        status = hn_store_find_version(store, version, &version_id, err);
    if (status == HN_OK)
        status = hn_database_prepare(
            store->database,
            "SELECT entry, cubin, hash, " HN_IMAGE_INTACT("") " FROM image WHERE task_id = ? AND "
                                                              "version_id = ? AND point = ?",
            &statement, err);
    if (status == HN_OK) {
        hn_bind_integer(statement, task_id);
        hn_bind_integer(statement, version_id);
        hn_bind_text(statement, key);
        status = hn_statement_step(statement, &row, err);
    }
    if (status == HN_OK)
        status = row ? take_image(store, statement, cubin, size, entry, err)
                     : hn_fail(err, HN_ENOTFOUND, "the cache keeps no image of %s", key);
    hn_statement_finish(statement);
    free(key);
    return status == HN_ENOTFOUND && store->base != NULL
               ? hn_store_get_image(store->base, identity, version, point, cubin, size, entry, err)
               : status;
}

void hn_stored_plan_free(struct hn_stored_plan *plan)
{
    for (size_t i = 0; i < plan->file_count; i++) {
        free(plan->files[i].name);
        free(plan->files[i].text);
    }
    free(plan->files);
    free(plan->json);
    *plan = (struct hn_stored_plan){.json = NULL};
}

static enum hn_status append_file(struct hn_statement *statement, struct hn_stored_plan *plan,
                                  struct hn_error *err)
{
    struct hn_stored_file *grown =
        realloc(plan->files, (plan->file_count + 1) * sizeof *plan->files);
    if (grown == NULL)
        return hn_fail_memory(err);
    plan->files = grown;
    struct hn_stored_file *file = &plan->files[plan->file_count++];
    *file = (struct hn_stored_file){.name = NULL};
    enum hn_status status =
        hn_gate_line("the name of a template", hn_column_text(statement, 1), HN_NAME_MOST, err);
    if (status != HN_OK)
        return status;
    file->name = strdup(hn_column_text(statement, 1));
    file->text = strdup(hn_column_text(statement, 2));
    return file->name == NULL || file->text == NULL ? hn_fail_memory(err) : HN_OK;
}

/* One row a file; a plan without files has one row whose position is NULL. */
static enum hn_status read_plan(const struct hn_store *store, struct hn_statement *statement,
                                struct hn_stored_plan *plan, struct hn_error *err)
{
    bool row = false;
    enum hn_status status = hn_statement_step(statement, &row, err);
    while (status == HN_OK && row) {
        status = hn_store_expect_intact(store, statement, 4, "a plan or a file of it", err);
        if (status != HN_OK)
            return status;
        if (plan->json == NULL) {
            plan->json = strdup(hn_column_text(statement, 0));
            status = plan->json == NULL ? hn_fail_memory(err)
                                        : hn_gate_json(plan->json, strlen(plan->json), err);
        }
        if (status != HN_OK)
            return status;
        if (hn_column_integer(statement, 3) != 0)
            status = append_file(statement, plan, err);
        if (status == HN_OK)
            status = hn_statement_step(statement, &row, err);
    }
    return status;
}

enum hn_status hn_store_get_plan(struct hn_store *store, const char *kernel,
                                 const struct hn_version *version, struct hn_stored_plan *plan,
                                 struct hn_error *err)
{
    int64_t version_id = 0;
    struct hn_statement *statement = NULL;
    *plan = (struct hn_stored_plan){.json = NULL};
    enum hn_status status = hn_store_find_version(store, version, &version_id, err);
    if (status == HN_OK)
        status = hn_database_prepare(
            store->database,
            "SELECT p.json, f.name, f.text, f.position IS NOT "
            "NULL, " HN_PLAN_INTACT("p.") " AND (f.position IS NULL "
                                          "OR " HN_PLAN_FILE_INTACT("f.") ") FROM plan p LEFT "
                                                                          "JOIN plan_file f"
                                                                          " ON f.version_id = "
                                                                          "p.version_id AND "
                                                                          "f.kernel = p.kernel"
                                                                          " WHERE p.version_id "
                                                                          "= ? AND p.kernel = ? "
                                                                          "ORDER BY f.position",
            &statement, err);
    if (status == HN_OK && hn_version_knows_template(version)) {
        hn_bind_integer(statement, version_id);
        hn_bind_text(statement, kernel);
        status = read_plan(store, statement, plan, err);
    }
    if (status == HN_OK && plan->json == NULL)
        status =
            hn_fail(err, HN_ENOTFOUND, "the cache keeps no plan of this version of '%s'", kernel);
    hn_statement_finish(statement);
    if (status != HN_OK)
        hn_stored_plan_free(plan);
    return status == HN_ENOTFOUND && store->base != NULL
               ? hn_store_get_plan(store->base, kernel, version, plan, err)
               : status;
}
