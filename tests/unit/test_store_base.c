/* SPDX-License-Identifier: MIT */
#include "tests/unit/store_fixture.h"

#include "cache/store/store.h"
#include "cache/store/store_roofs.h"

EACH_TEST(set_up, tear_down)

static const struct hn_device_identity device = {"NVIDIA H200", 90, 132, ""};

/* Own: M = 4096 with tiles 16 and 32. Base: the same with 32 and 64, and M = 512 with an image and
 * a plan. */
static struct hn_store *open_both(void)
{
    const char *path = in_folder("base.db");
    struct hn_text_file file = {"matmul.cu", "text"};
    json_auto_t *json = json_object();
    const struct hn_stored_plan plan = {json, &file, 1};
    const struct hn_roofs roofs = {.copy_gb_per_s = 4000,
                                   .l2_gb_per_s = 8000,
                                   .fp32_gflops = 60000,
                                   .launch_us = 2,
                                   .measured = 1000,
                                   .driver = "580.1"};
    int64_t id;
    struct hn_store *base = open_store(path, HN_STORE_WRITE);
    int64_t session = begin_at(base, &version_1, 4096, false, 5000);
    put(base, session, 32, 3);
    put(base, session, 64, 4);
    struct hn_identity *identity = identity_of(512);
    const struct hn_store_session other = {
        .identity = identity, .version = &version_1, .plan = &plan, .command = ""};
    assert_ok(hn_store_begin(base, &other, NULL, &id, &said));
    put(base, id, 8, 1);
    put_image(base, id, 8, "e");
    assert_ok(hn_store_put_roofs(base, &device, &roofs, &said));
    drop(base);
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    session = begin(store);
    put(store, session, 16, 7);
    put(store, session, 32, 8);
    commit(store);
    assert_ok(hn_store_open(path, HN_STORE_READ, &base, &said));
    hn_store_set_base(store, base);
    return store;
}

TEST(lists_have_both)
{
    struct hn_store *store = open_both();
    const struct hn_tuned *list = list_of(store, NULL, 2);
    /* In the order of problems; of the one that both have, what is one's own. */
    assert_string_equal(list->origin.source, "base.db");
    assert_true(list->best.timing.median_us == 1);
    assert_int_equal(list->session_id, 0);
    assert_string_equal(list[1].origin.source, "");
    assert_true(list[1].best.timing.median_us == 7);
}

static void count_record(void *visitor, int64_t id, struct hn_record *record, struct hn_error *err)
{
    int *count = visitor;
    (void)id;
    (void)record;
    (void)err;
    ++*count;
}

TEST(records_of_both_are_told_apart)
{
    static const struct {
        enum hn_store_whose whose;
        int count;
    } cases[] = {{HN_STORE_OWN, 2}, {HN_STORE_IMPORTED, 2}, {HN_STORE_ALL, 3}};
    struct hn_store *store = open_both();
    struct hn_identity *identity = identity_of(4096);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int count = 0;
        hn_error_init(&said);
        hn_store_visit(store, identity, &version_1, false, cases[i].whose, count_record, &count,
                       &said);
        assert_ok(said.status);
        assert_int_equal(count, cases[i].count);
    }
    struct hn_records records ENDED_BY(hn_records_free) = load_of(store, &version_1, false);
    for (size_t i = 0; i < records.count; i++)
        assert_true(records.items[i].timing.median_us != 3); /* its own of that point counts */
}

TEST(the_rest_is_found_in_the_base)
{
    struct hn_store *store = open_both();
    struct hn_stored_plan plan ENDED_BY(hn_stored_plan_free);
    struct hn_roofs roofs;
    struct hn_record record;
    void *cubin FREED;
    size_t size;
    char *entry FREED;
    struct hn_identity *identity = identity_of(512);
    make_record(&record, 8, 1);
    assert_ok(hn_store_get_plan(store, "matmul", &version_1, &plan, &said));
    assert_string_equal(plan.files[0].text, "text");
    assert_ok(hn_store_get_image(store, identity, &version_1, &record.point, &cubin, &size, &entry,
                                 &said));
    assert_int_equal(size, 5);
    assert_ok(hn_store_get_roofs(store, &device, NULL, &roofs, &said));
    assert_true(roofs.copy_gb_per_s > 3999);
    hn_record_finish(&record);
    drop(store);
    /* And nothing of it came into one's own. */
    assert_int_equal(query(cache.path, "SELECT count(*) FROM record"), 2);
    assert_int_equal(query(cache.path, "SELECT count(*) FROM roof"), 0);
}
