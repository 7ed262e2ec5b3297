/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_FAMILY_FIXTURE_H
#define HONE_TESTS_FAMILY_FIXTURE_H

#include "shared_cache.h"

#include "cache/store/store.h"
#include "tests/unit/rule_fixture.h"

/* Rules in the cache of the tests, and launches of problems of `scale`. */

static inline void store_ok(enum hn_status status, const struct hn_error *err)
{
    if (status != HN_OK)
        fail_msg("%s", err->message);
}

static inline void keep_image(struct hn_store *store, int64_t session, const struct hn_tuned *tuned,
                              const struct hn_bindings *point)
{
    struct hn_error err = {0};
    void *cubin = NULL;
    char *entry = NULL;
    size_t size = 0;
    store_ok(hn_store_get_image(store, &tuned->identity, &tuned->version, point, &cubin, &size, &entry, &err), &err);
    store_ok(hn_store_put_image(store, session, point, cubin, size, entry, &err), &err);
    free(cubin);
    free(entry);
}

/* With the images that were kept of the tuned size, of the first configurations. */
static inline void learn(struct hn_store *store, const struct hn_tuned *tuned, const struct hn_rule *rule,
                         size_t images, const struct hn_device_identity *device)
{
    struct hn_error err = {0};
    struct hn_identity identity = tuned->identity;
    struct hn_stored_plan stored;
    int64_t session = 0;
    hn_bindings_init(&identity.problem);
    identity.device = *device;
    store_ok(hn_store_get_plan(store, identity.kernel, &tuned->version, &stored, &err), &err);
    const struct hn_store_session begun = {
        .identity = &identity, .version = &tuned->version, .plan = &stored, .command = "hone tune"};
    store_ok(hn_store_begin(store, &begun, &session, &err), &err);
    for (size_t i = 0; i < images; i++)
        keep_image(store, session, tuned, &rule->configurations[i]);
    store_ok(hn_store_put_rule(store, session, rule, &err), &err);
    hn_stored_plan_free(&stored);
}

static inline void learn_on(const char *kernel, const char *text, size_t images, const char *device_name)
{
    struct hn_store *store;
    struct hn_tuned_list list;
    struct hn_rule rule;
    struct hn_error err = {0};
    read_rule(text, &rule);
    store_ok(hn_store_open(getenv("HONE_TEST_CACHE"), HN_STORE_WRITE, &store, &err), &err);
    store_ok(hn_store_list(store, kernel, &list, &err), &err);
    struct hn_device_identity device = list.items[0].identity.device;
    if (device_name != NULL)
        snprintf(device.name, sizeof device.name, "%s", device_name);
    learn(store, &list.items[0], &rule, images, &device);
    hn_tuned_list_free(&list);
    hn_store_close(store);
    hn_rule_finish(&rule);
}

static inline void expect_launch(struct hone_kernel *kernel, int64_t n)
{
    float *host = calloc((size_t)n, sizeof *host);
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
    CHECK_CUDA(cuMemFree(x));
    CHECK_CUDA(cuMemFree(y));
    free(host);
}

#endif
