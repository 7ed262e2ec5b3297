/* SPDX-License-Identifier: MIT */
#include "cache/store/store.h"

#include "tests/unit/store_fixture.h"

EACH_TEST(set_up, tear_down)

/* Two versions of M = 4096 (the older with an image), one old session of the newer version, and a
 * simulated one. */
static struct hn_store *fill(void)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int64_t stale = begin_at(store, &version_1, 4096, false, 1000);
    int64_t old = begin_at(store, &version_2, 4096, false, 2000);
    int64_t newest = begin_at(store, &version_2, 4096, false, 3000);
    int64_t simulated = begin_at(store, &version_2, 4096, true, 4000);
    put_image(store, stale, 16, "matmul");
    put(store, stale, 16, 20);
    put(store, stale, 32, 21);
    put(store, old, 64, 30);
    put(store, newest, 16, 19);
    put(store, simulated, 16, 18);
    commit(store);
    return store;
}

static struct hn_pruned prune(struct hn_store *store, const struct hn_prune *what)
{
    struct hn_pruned pruned;
    assert_ok(hn_store_prune(store, what, &pruned, &said));
    return pruned;
}

TEST(stale_versions_go_with_plans_and_images)
{
    struct hn_store *store = fill();
    struct hn_pruned pruned = prune(store, &(struct hn_prune){.stale = true});
    assert_int_equal(pruned.sessions, 1);
    assert_int_equal(pruned.records, 2);
    assert_int_equal(pruned.images, 1);
    assert_int_equal(pruned.image_bytes, 5);
    assert_int_equal(count_of(store, &version_2, false), 2);
    drop(store);
    assert_int_equal(query(cache.path, "SELECT count(DISTINCT version) FROM session"), 1);
    assert_int_equal(query(cache.path, "SELECT count(*) FROM image"), 0);
    assert_int_equal(query(cache.path, "SELECT count(*) FROM session"), 3);
}

TEST(the_best_stays_whatever_its_age)
{
    struct hn_store *store = fill();
    struct hn_pruned pruned = prune(store, &(struct hn_prune){.before = 1e9});
    assert_int_equal(pruned.sessions, 2);
    assert_int_equal(count_of(store, &version_2, false), 1);
    assert_int_equal(count_of(store, &version_2, true), 1);
}

TEST(simulated_sessions_go_even_if_best)
{
    struct hn_store *store = fill();
    assert_int_equal(prune(store, &(struct hn_prune){.simulated = true}).sessions, 1);
    assert_int_equal(count_of(store, &version_2, true), 0);
    assert_int_equal(count_of(store, &version_2, false), 2);
}

TEST(images_alone)
{
    struct hn_store *store = fill();
    struct hn_pruned pruned = prune(store, &(struct hn_prune){.images = true});
    assert_int_equal(pruned.sessions, 0);
    assert_int_equal(pruned.images, 1);
    assert_int_equal(count_of(store, &version_1, false), 2);
    drop(store);
    assert_int_equal(query(cache.path, "SELECT count(*) FROM image"), 0);
}

TEST(another_kernel_is_left_alone)
{
    struct hn_store *store = fill();
    struct hn_pruned pruned = prune(
        store,
        &(struct hn_prune){.kernel = "copy", .stale = true, .simulated = true, .images = true});
    assert_int_equal(pruned.sessions + pruned.images, 0);
    drop(store);
    assert_int_equal(query(cache.path, "SELECT count(*) FROM record"), 5);
}
