/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cache/store/store.h"
#include "cache/store/store_roofs.h"
#include "fuzz.h"
#include "hostile_cache.h"
#include "tuner/export/export.h"

/* A cache that somebody else wrote (hostile_cache.h says how an input makes one), read as `hone
 * cache list`, `show`, `check`, `merge` and `hone export` read it. What is handed out has passed
 * the gate, and a cache that took it over is whole. */

static void look_at_record(const struct hn_record *record, const char *objective)
{
    struct hn_error err = {0};
    hn_gate_record(record, objective, &err);
    fuzz_require(!hn_failed(&err), err.message);
}

static void look_at_plan(struct hn_store *store, const struct hn_tuned *tuned)
{
    struct hn_stored_plan stored;
    struct hn_plan *plan = NULL;
    struct hn_error err = {0};
    enum hn_status status =
        hn_store_get_plan(store, tuned->identity.kernel, &tuned->version, &stored, &err);
    (void)fuzz_fine(status, &err);
    if (status != HN_OK)
        return;
    (void)fuzz_fine(hn_plan_from_json(stored.json, &plan, &err), &err);
    hn_plan_destroy(plan);
    hn_stored_plan_free(&stored);
}

static void look_at_image(struct hn_store *store, const struct hn_tuned *tuned)
{
    void *cubin FREED = NULL;
    size_t size = 0;
    char *entry FREED = NULL;
    struct hn_error err = {0};
    enum hn_status status = hn_store_get_image(store, &tuned->identity, &tuned->version,
                                               &tuned->best.point, &cubin, &size, &entry, &err);
    (void)fuzz_fine(status, &err);
}

static void look_at_tuned(struct hn_store *store, const struct hn_tuned *tuned)
{
    struct hn_records records ENDED_BY(hn_records_free);
    struct hn_roofs roofs;
    struct hn_error err = {0};
    struct hn_store_head head ENDED_BY(hn_store_head_finish) = {0};
    hn_gate_identity(&tuned->identity, &err);
    struct hn_version read = {.protocol = 0};
    json_auto_t *version = hn_fields_to_json(&hn_version_structure, &tuned->version);
    hn_fields_read("version", &hn_version_structure, version, &read, &err);
    fuzz_require(!hn_failed(&err), err.message);
    look_at_record(&tuned->best, tuned->identity.objective);
    enum hn_status status =
        hn_store_load(store, &tuned->identity, &tuned->version, tuned->simulated, &records, &err);
    (void)fuzz_fine(status, &err);
    for (size_t i = 0; i < records.count; i++)
        look_at_record(&records.items[i], tuned->identity.objective);
    look_at_plan(store, tuned);
    look_at_image(store, tuned);
    (void)fuzz_fine(hn_store_get_roofs(store, &tuned->identity.device, NULL, &roofs, &err), &err);
    hn_error_init(&err);
    (void)fuzz_fine(hn_store_get_head(store, tuned->session_id, &head, &err), &err);
}

static void look_at_all(struct hn_store *store)
{
    static const enum hn_store_listed lists[] = {HN_STORE_RESULTS, HN_STORE_VERSIONS};
    for (size_t i = 0; i < 2; i++) {
        struct hn_tuned_list list ENDED_BY(hn_tuned_list_free);
        struct hn_error err = {0};
        (void)fuzz_fine(hn_store_list(store, lists[i], i == 0 ? NULL : "idle", NULL, &list, &err),
                        &err);
        for (size_t j = 0; j < list.count; j++)
            look_at_tuned(store, &list.items[j]);
    }
}

/* mutate.c writes it: in a header it stands in a string or in a comment that goes on. */
static void require_inside(const char *header)
{
    for (const char *at = header; (at = strstr(at, "*/ #error")) != NULL; at++) {
        const char *line = at;
        while (line > header && line[-1] != '\n')
            line--;
        fuzz_require(memchr(line, '"', (size_t)(at - line)) != NULL, "no comment ends early");
    }
}

static void export_all(struct hn_store *store)
{
    static const enum hn_export_kind kinds[] = {HN_EXPORT_HEADER, HN_EXPORT_JSON, HN_EXPORT_SOURCE,
                                                HN_EXPORT_PATCH};
    struct hn_export export ENDED_BY(hn_export_finish);
    struct hn_bindings problem = {0};
    struct hn_error err = {0};
    const struct hn_export_request request = {.kernel = "idle", .problem = &problem};
    enum hn_status status = hn_export_open(store, &request, &export, &err);
    (void)fuzz_fine(status, &err);
    for (size_t i = 0; status == HN_OK && i < sizeof kinds / sizeof *kinds; i++) {
        struct hn_text text ENDED_BY(hn_text_finish) = {0};
        (void)fuzz_fine(hn_export_formats[kinds[i]]->write(&export, &text, &err), &err);
        if (kinds[i] == HN_EXPORT_HEADER && text.data != NULL)
            require_inside(text.data);
    }
}

static bool is_whole(struct hn_store *store)
{
    struct hn_text report ENDED_BY(hn_text_finish) = {0};
    struct hn_error err = {0};
    enum hn_status status = hn_store_check(store, &report, &err);
    (void)fuzz_fine(status, &err);
    fuzz_require(status != HN_EFORMAT || report.length > 0, "what is damaged is listed");
    return status == HN_OK;
}

/* The path of an empty cache. */
static const char *make_own(void)
{
    static char *empty;
    static size_t size;
    struct hn_store *store;
    struct hn_error err = {0};
    if (empty == NULL) {
        const char *path = fuzz_write_file("own.db", (const uint8_t *)"", 0);
        fuzz_require(hn_store_open(path, HN_STORE_WRITE, &store, &err) == HN_OK, err.message);
        hn_store_close(store);
        fuzz_require(hn_file_read(path, 1 << 20, &empty, &size, &err) == HN_OK, err.message);
    }
    return fuzz_write_file("own.db", (const uint8_t *)empty, size);
}

/* All or nothing of it is taken. */
static void take_over(struct hn_store *from)
{
    struct hn_store *store;
    struct hn_store_merged merged;
    struct hn_error err = {0};
    const char *path = make_own();
    fuzz_require(hn_store_open(path, HN_STORE_WRITE, &store, &err) == HN_OK, err.message);
    enum hn_status status = hn_store_merge(store, from, true, &merged, &err);
    (void)fuzz_fine(status, &err);
    fuzz_require(status != HN_OK || is_whole(store), "what was taken over is whole");
    hn_store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hn_store *store;
    struct hn_error err = {0};
    const char *path = fuzz_hostile_cache(data, size);
    if (!fuzz_fine(hn_store_open(path, HN_STORE_READ, &store, &err), &err))
        return 0;
    fuzz_require(is_whole(store) || size > 0, "what nobody changed is whole");
    look_at_all(store);
    export_all(store);
    take_over(store);
    hn_store_close(store);
    return 0;
}
