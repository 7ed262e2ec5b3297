/* SPDX-License-Identifier: MIT */
#include "cache/recording/recording.h"

#include "tests/unit/bindings_fixture.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/unit.h"

#define RECORDED HONE_SOURCE_DIR "/cache/recorded/nvidia-h200"
#define ONE RECORDED "/matmul-b_layout-row-k-32-m-4096-n-4096-nvidia-h200-cold.json.gz"

TEST(folder_gives_the_results_of_a_kernel)
{
    struct hn_tuned_list list ENDED_BY(hn_tuned_list_free) = {0};
    assert_ok(hn_recording_list(RECORDED, "matmul", &list, &said));
    assert_int_equal(list.count, 2);
    for (size_t i = 0; i < list.count; i++) {
        assert_string_equal(list.items[i].identity.kernel, "matmul");
        assert_string_equal(list.items[i].identity.device.name, "NVIDIA H200");
        assert_int_equal(list.items[i].best.outcome, HN_OUTCOME_OK);
        assert_int_equal(hn_bindings_get(&list.items[i].identity.problem, "K")->integer,
                         i == 0 ? 32 : 4096);
        assert_true(list.items[i].points > 100);
        assert_false(list.items[i].stale);
    }
}

/* As a cache that imports the recording would have it. */
TEST_WITH(best_is_that_of_a_cache, set_up, tear_down)
{
    struct hn_recording recording ENDED_BY(hn_recording_finish);
    struct hn_tuned_list list ENDED_BY(hn_tuned_list_free) = {0}, cached = {0};
    int64_t id = 0;
    assert_ok(hn_recording_load(ONE, &recording, &said));
    const struct hn_store_session session = {.identity = &recording.identity,
                                             .version = &recording.version,
                                             .origin = "test",
                                             .started = 1770000000};
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    assert_ok(hn_store_begin(store, &session, &recording.records, &id, &said));
    assert_ok(hn_store_list(store, HN_STORE_RESULTS, NULL, NULL, &cached, &said));
    assert_ok(hn_recording_list(ONE, "matmul", &list, &said));
    assert_int_equal(list.count, 1);
    assert_int_equal(cached.count, 1);
    assert_true(hn_identity_equal(&list.items[0].identity, &cached.items[0].identity));
    assert_true(hn_bindings_equal(&list.items[0].best.point, &cached.items[0].best.point));
    assert_true(list.items[0].best.timing.median_us == cached.items[0].best.timing.median_us);
    hn_tuned_list_free(&cached);
}

TEST(what_is_not_asked_for)
{
    struct hn_tuned_list list = {0};
    assert_ok(hn_recording_list(ONE, "matmu", &list, &said));
    assert_ok(hn_recording_list(ONE, "matmul_aat", &list, &said));
    assert_int_equal(list.count, 0);
    assert_error(hn_recording_list("/nowhere", "matmul", &list, &said), HN_ERUN,
                 "'/nowhere' cannot be read: No such file or directory");
    const struct hn_version version = {.template_hash = "0"};
    struct hn_stored_plan stored;
    assert_error(hn_recording_plan_find("/nowhere", "matmul", &version, &stored, &said), HN_ERUN,
                 "'/nowhere' cannot be read: No such file or directory");
    assert_null(stored.json);
    assert_int_equal(hn_recording_list(HONE_TEST_DATA "/plans/tiled.json", "tiled", &list, &said),
                     HN_EFORMAT);
}

TEST_WITH(a_point_that_does_not_fit_is_not_saved, set_up, tear_down)
{
    struct hn_recording recording ENDED_BY(hn_recording_finish);
    assert_ok(hn_recording_load(ONE, &recording, &said));
    set(&recording.records.items[2].point, "EXTRA", hn_integer(1));
    assert_error(hn_recording_save(in_folder("r.json"), &recording, &said), HN_ECONFIG,
                 "point 2 of the recording has 10 parameters, expected 9");
}
