/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "runtime/bench/roofs.h"

#include "store_fixture.h"
#include "tuner/commands/command.h"
#include "tuner/report/bounds.h"
#include "tuner/report/render.h"

static const struct hn_device_identity h200 = {"NVIDIA H200", 90, 132, ""};
static const struct hn_device_identity slice = {"NVIDIA H200", 90, 16, "1g.18gb"};

static struct hn_roofs make_roofs(const char *driver, double measured)
{
    struct hn_roofs roofs = {4000, 8000, 50000, 2, measured, "", {.power_limit_w = 0}, 0};
    snprintf(roofs.driver, sizeof roofs.driver, "%s", driver);
    return roofs;
}

static void assert_same(const struct hn_roofs *found, const struct hn_roofs *expected)
{
    assert_true(found->copy_gb_per_s == expected->copy_gb_per_s);
    assert_true(found->l2_gb_per_s == expected->l2_gb_per_s);
    assert_true(found->fp32_gflops == expected->fp32_gflops);
    assert_true(found->launch_us == expected->launch_us);
    assert_true(found->measured == expected->measured);
    assert_true(found->l2_bytes == expected->l2_bytes);
    assert_string_equal(found->driver, expected->driver);
    for (int i = 0; i < HN_PIPE_COUNT; i++) {
        assert_true(found->tensor.pipes[i].gflops == expected->tensor.pipes[i].gflops);
        assert_true(found->tensor.pipes[i].clock_mhz == expected->tensor.pipes[i].clock_mhz);
    }
    assert_true(found->tensor.power_limit_w == expected->tensor.power_limit_w);
}

TEST_WITH(the_newest_of_a_driver_is_kept, set_up, tear_down)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct hn_roofs first = make_roofs("580.1", 100);
    struct hn_roofs second = make_roofs("580.1", 200);
    struct hn_roofs other = make_roofs("590.2", 150);
    struct hn_roofs found;
    second.copy_gb_per_s = 4100;
    second.tensor.pipes[HN_PIPE_BF16] = (struct hn_tensor_roof){700e3, 1600};
    second.tensor.power_limit_w = 700;
    assert_error(hn_store_get_roofs(store, &h200, NULL, &found, &said), HN_ENOTFOUND,
                 "nothing was measured of what NVIDIA H200 can do at best");
    assert_ok(hn_store_put_roofs(store, &h200, &first, &said));
    assert_ok(hn_store_put_roofs(store, &h200, &second, &said));
    assert_ok(hn_store_put_roofs(store, &h200, &other, &said));
    drop(store);

    store = open_store(cache.path, HN_STORE_READ);
    assert_ok(hn_store_get_roofs(store, &h200, "580.1", &found, &said));
    assert_same(&found, &second);
    assert_ok(hn_store_get_roofs(store, &h200, "590.2", &found, &said));
    assert_same(&found, &other);
    assert_ok(hn_store_get_roofs(store, &h200, NULL, &found, &said));
    assert_same(&found, &second);
    assert_int_equal(hn_store_get_roofs(store, &h200, "1.0", &found, &said), HN_ENOTFOUND);
    assert_int_equal(hn_store_get_roofs(store, &slice, NULL, &found, &said), HN_ENOTFOUND);
    drop(store);
    assert_int_equal(query(cache.path, "SELECT count(*) FROM roof"), 2);

    /* Who knows nothing of tensor cores takes nothing away. */
    store = open_store(cache.path, HN_STORE_WRITE);
    assert_ok(hn_store_put_roofs(store, &h200, &first, &said));
    first.tensor = second.tensor;
    assert_ok(hn_store_get_roofs(store, &h200, "580.1", &found, &said));
    assert_same(&found, &first);
}

static enum hn_status read_roofs(const json_t *json, struct hn_roofs *roofs, struct hn_error *err)
{
    hn_error_init(err);
    *roofs = (struct hn_roofs){.measured = 0};
    hn_fields_read("roofs", &hn_roofs_structure, json, roofs, err);
    return err->status;
}

TEST(json_is_exact_both_ways)
{
    static const char *const members[] = {"copy_gb_per_s", "l2_gb_per_s", "fp32_gflops",
                                          "launch_us",     "measured",    "driver"};
    struct hn_roofs roofs = make_roofs("580.1", 1.0 / 3);
    struct hn_roofs found;
    struct hn_error reason = {0};
    for (int i = 0; i < HN_PIPE_COUNT; i++)
        roofs.tensor.pipes[i] = (struct hn_tensor_roof){1000.0 / (i + 3), 1600};
    roofs.tensor.power_limit_w = 700;
    roofs.l2_bytes = 60 << 20;
    json_t *json = keep(hn_fields_to_json(&hn_roofs_structure, &roofs), json_decref);
    assert_ok(read_roofs(json, &found, &said));
    assert_same(&found, &roofs);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        char message[96];
        json_auto_t *wrong = json_copy(json);
        json_object_set_new(wrong, members[i], json_false());
        snprintf(message, sizeof message, "roofs: '%s' is not a %s", members[i],
                 i == 5 ? "string of at most 31 bytes" : "number from 0 on");
        assert_error(read_roofs(wrong, &found, &said), HN_EFORMAT, message);
    }
    json_object_set_new(json_object_get(json_object_get(json, "tensor"), "tf32"), "gflops",
                        json_real(-1));
    assert_int_equal(read_roofs(json, &found, &reason), HN_EFORMAT);
    assert_string_equal(reason.message, "roofs: 'gflops' is not a number from 0 on");
    json_object_del(json, "tensor");
    assert_ok(read_roofs(json, &found, &said));
    assert_true(found.tensor.pipes[HN_PIPE_TF32].gflops == 0);
    json_object_set_new(json, "copy_gb_per_s", json_real(-1));
    assert_int_equal(read_roofs(json, &found, &said), HN_EFORMAT);
    assert_int_equal(read_roofs(NULL, &found, &said), HN_EFORMAT);
}

static void assert_near(double found, double expected)
{
    if (!(fabs(found / expected - 1) < 0.02))
        fail_msg("found %g, expected about %g", found, expected);
}

TEST(a_program_that_does_not_fit_is_refused)
{
    struct hn_driver driver ENDED_BY(hn_driver_close);
    struct hn_device device;
    struct hn_context context ENDED_BY(hn_context_finish);
    struct hn_roofs roofs;
    struct hn_image image ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
    image.outcome = HN_OUTCOME_COMPILE_ERROR;
    assert_ok(hn_driver_open(&driver, NULL));
    assert_ok(hn_driver_device(&driver, 0, &device, &said));
    assert_ok(hn_context_init(&context, &driver, &device, &said));
    assert_error(hn_roofs_measure(&context, &image, &roofs, &said), HN_ERUN,
                 "the kernels of the roofs did not compile: no message");
}

static void set_metric(struct hn_record *record, const char *name, double number)
{
    struct hn_value value = hn_real(number);
    assert_ok(hn_bindings_set(&record->metrics, name, &value, NULL));
}

static void assert_roof(const struct hn_roofs *roofs, enum hn_regime regime,
                        const struct hn_record *record, const char *name, double share)
{
    struct hn_roof roof;
    assert_true(hn_roof_find(roofs, regime, record, &roof));
    assert_string_equal(roof.name, name);
    assert_near(roof.share, share);
}

TEST(what_takes_longest_is_the_roof)
{
    struct hn_roofs roofs = make_roofs("580.1", 1);
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    struct hn_roof roof;
    roofs.l2_bytes = 60 << 20;
    record.timing.median_us = 20;
    assert_false(hn_roof_find(&roofs, HN_COLD, &record, &roof));
    set_metric(&record, "bytes", 40e6);
    assert_roof(&roofs, HN_COLD, &record, "copy", 0.5);
    set_metric(&record, "flops", 8e8);
    assert_roof(&roofs, HN_COLD, &record, "FP32", 0.8);
    set_metric(&record, "flops", 4e8);
    assert_roof(&roofs, HN_COLD, &record, "copy", 0.5);
    /* A warm cache holds what is up to half of it; where its size is not known, of 128 MiB. */
    assert_roof(&roofs, HN_WARM, &record, "copy", 0.5);
    set_metric(&record, "flops", 0);
    roofs.l2_bytes = 120 << 20;
    assert_roof(&roofs, HN_WARM, &record, "L2", 0.25);
    roofs.l2_bytes = 0;
    assert_roof(&roofs, HN_WARM, &record, "L2", 0.25);
    set_metric(&record, "bytes", 80e6);
    assert_roof(&roofs, HN_WARM, &record, "copy", 1);
    set_metric(&record, "bytes", 4000);
    assert_roof(&roofs, HN_WARM, &record, "launch", 0.1);
    record.timing.median_us = 0;
    assert_false(hn_roof_find(&roofs, HN_WARM, &record, &roof));
}

TEST(tensor_cores_have_their_own_roofs)
{
    struct hn_roofs roofs = make_roofs("580.1", 1);
    struct hn_metric metrics[] = {{.name = (char *)"bytes"}, {.name = (char *)"flops_fp16"}};
    const struct hn_plan plan = {.metrics = metrics, .metric_count = 2};
    struct hn_roof shares;
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    record.outcome = HN_OUTCOME_OK;
    record.timing.median_us = record.timing.high_us = 20;
    set_metric(&record, "flops_fp16", 4e9);
    assert_int_equal(hn_roof_pipe(&plan), HN_PIPE_FP16);
    assert_true(hn_roof_is_known(&plan));
    /* Not known: no share of it, and nothing that it would be beyond. */
    assert_true(hn_roof_find(&roofs, HN_COLD, &record, &shares));
    assert_true(shares.flops == 4e9 && shares.flops_share == 0);
    assert_null(shares.beyond);
    roofs.tensor.pipes[HN_PIPE_FP16].gflops = 400e3;
    assert_true(hn_roof_find(&roofs, HN_COLD, &record, &shares));
    assert_string_equal(shares.flops_name, "FP16");
    assert_near(shares.flops_share, 0.5);
    assert_true(shares.flops_rate == 400e3);
    set_metric(&record, "flops_fp16", 1e10);
    assert_true(hn_roof_find(&roofs, HN_COLD, &record, &shares));
    assert_string_equal(shares.beyond, "flops_fp16");
    assert_true(hn_roofs_have_pipe(90, HN_PIPE_FP8) && hn_roofs_have_pipe(80, HN_PIPE_BF16));
    assert_false(hn_roofs_have_pipe(80, HN_PIPE_FP8) || hn_roofs_have_pipe(75, HN_PIPE_FP16));
    assert_false(hn_roofs_have_pipe(100, HN_PIPE_BF16));
}

TEST(roofs_have_a_text)
{
    struct hn_roofs roofs = make_roofs("580.82", 1795296456);
    struct hn_text text = {0};
    roofs.fp32_gflops = 61234;
    json_auto_t *json = hn_fields_to_json(&hn_roofs_structure, &roofs);
    assert_true(hn_render_line(&text, json, HN_ROOFS_LINE("")));
    assert_string_equal(text.data, "copy 4000 GB/s, L2 8000 GB/s, FP32 61.2 TFLOP/s, launch 2 us, "
                                   "measured 2026-11-21 with driver 580.82");
    hn_text_finish(&text);
    text = (struct hn_text){0};
    roofs.tensor.pipes[HN_PIPE_BF16] = (struct hn_tensor_roof){712345, 1612.3};
    roofs.tensor.pipes[HN_PIPE_TF32] = (struct hn_tensor_roof){356e3, 0};
    roofs.tensor.power_limit_w = 700;
    hn_tensor_roofs_append(&text, &roofs.tensor);
    assert_string_equal(text.data,
                        "BF16 712 TFLOP/s at 1612 MHz, TF32 356 TFLOP/s; power limit 700 W");
    hn_text_finish(&text);
}
