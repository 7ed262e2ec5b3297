/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_FAMILY_FIXTURE_H
#define HONE_TESTS_FAMILY_FIXTURE_H

#include "shared_cache.h"

#include "cache/store/store.h"
#include "tests/unit/rule_fixture.h"

/* Rules in the cache of the tests, and launches of problems of `scale`. */

static inline void keep_image(struct hn_store *store, int64_t session, const struct hn_tuned *tuned,
                              const struct hn_bindings *point)
{
    void *cubin FREED = NULL;
    char *entry FREED = NULL;
    size_t size = 0;
    assert_ok(hn_store_get_image(store, &tuned->identity, &tuned->version, point, &cubin, &size, &entry, &said));
    assert_ok(hn_store_put_image(store, session, point, cubin, size, entry, &said));
}

/* With the images that were kept of the tuned size, of the first configurations. */
static inline void learn(struct hn_store *store, const struct hn_tuned *tuned, const struct hn_rule *rule,
                         size_t images, const struct hn_device_identity *device)
{
    struct hn_identity identity = tuned->identity;
    struct hn_stored_plan stored ENDED_BY(hn_stored_plan_free);
    int64_t session = 0;
    identity.problem = (struct hn_bindings){0};
    identity.device = *device;
    assert_ok(hn_store_get_plan(store, identity.kernel, &tuned->version, &stored, &said));
    const struct hn_store_session begun = {
        .identity = &identity, .version = &tuned->version, .plan = &stored, .command = "hone tune"};
    assert_ok(hn_store_begin(store, &begun, NULL, &session, &said));
    for (size_t i = 0; i < images; i++)
        keep_image(store, session, tuned, &rule->configurations[i]);
    assert_ok(hn_store_put_rule(store, session, rule, &said));
}

static inline void learn_on(const char *kernel, const char *text, size_t images, const char *device_name)
{
    struct hn_store *store;
    struct hn_tuned_list list ENDED_BY(hn_tuned_list_free);
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    read_rule(text, &rule);
    assert_ok(hn_store_open(getenv("HONE_TEST_CACHE"), HN_STORE_WRITE, &store, &said));
    assert_ok(hn_store_list(store, HN_STORE_RESULTS, kernel, NULL, &list, &said));
    struct hn_device_identity device = list.items[0].identity.device;
    if (device_name != NULL)
        snprintf(device.name, sizeof device.name, "%s", device_name);
    learn(store, &list.items[0], &rule, images, &device);
    hn_store_close(store);
}

static inline void expect_launch(struct hone_kernel *kernel, int64_t n)
{
    float *host FREED = calloc((size_t)n, sizeof *host);
    CUdeviceptr x = new_buffer(NULL, (size_t)n * sizeof *host);
    CUdeviceptr y = new_buffer(NULL, (size_t)n * sizeof *host);
    for (int64_t i = 0; i < n; i++)
        host[i] = (float)(i % 100);
    CHECK_CUDA(cuMemcpyHtoD(x, host, (size_t)n * sizeof *host));
    assert_int_equal(launch(kernel, x, y), HONE_OK);
    CHECK_CUDA(cuCtxSynchronize());
    CHECK_CUDA(cuMemcpyDtoH(host, y, (size_t)n * sizeof *host));
    for (int64_t i = 0; i < n; i++)
        if (host[i] != 2.5f * (float)(i % 100))
            fail_msg("element %lld of %lld is wrong", (long long)i, (long long)n);
    drop((void *)(uintptr_t)y);
    drop((void *)(uintptr_t)x);
}

#endif
