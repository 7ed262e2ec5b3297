/* SPDX-License-Identifier: MIT */
#include "cache/store/store_roofs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "cache/record/gate.h"
#include "cache/record/record_json.h"
#include "cache/store/store_internal.h"

const char *const hn_tensor_pipe_names[HN_PIPE_COUNT] = {
#define X(identifier, key, name, bytes) name,
    HN_TENSOR_PIPES(X)
#undef X
};
static const char *const pipe_keys[HN_PIPE_COUNT] = {
#define X(identifier, key, name, bytes) key,
    HN_TENSOR_PIPES(X)
#undef X
};

/* {"bf16": {"gflops": …, "clock_mhz": …}, …, "power_limit_w": …}, of what is known; NULL: nothing
 * is. */
static json_t *tensor_to_json(const struct hn_tensor_roofs *roofs)
{
    json_t *json = json_object();
    for (int i = 0; i < HN_PIPE_COUNT; i++)
        if (roofs->pipes[i].gflops > 0)
            json_object_set_new(json, pipe_keys[i],
                                json_pack("{s:f, s:f}", "gflops", roofs->pipes[i].gflops,
                                          "clock_mhz", roofs->pipes[i].clock_mhz));
    if (roofs->power_limit_w > 0)
        json_object_set_new(json, "power_limit_w", json_real(roofs->power_limit_w));
    if (json_object_size(json) > 0)
        return json;
    json_decref(json);
    return NULL;
}

/* NULL stands for nothing known. */
static enum hn_status tensor_from_json(const json_t *json, struct hn_tensor_roofs *roofs,
                                       struct hn_error *err)
{
    struct hn_json_reader reader = {.what = "the roofs of tensor cores", .err = err};
    *roofs = (struct hn_tensor_roofs){.power_limit_w = 0};
    if (json == NULL)
        return HN_OK;
    hn_json_expect(&reader, json_is_object(json), "tensor", "an object");
    for (int i = 0; i < HN_PIPE_COUNT; i++) {
        const json_t *pipe = json_object_get(json, pipe_keys[i]);
        if (pipe == NULL)
            continue;
        hn_json_amount(&reader, json_object_get(pipe, "gflops"), "gflops", &roofs->pipes[i].gflops);
        hn_json_amount(&reader, json_object_get(pipe, "clock_mhz"), "clock_mhz",
                       &roofs->pipes[i].clock_mhz);
    }
    const json_t *limit = json_object_get(json, "power_limit_w");
    if (limit != NULL)
        hn_json_amount(&reader, limit, "power_limit_w", &roofs->power_limit_w);
    return reader.status;
}

void hn_tensor_roofs_append(struct hn_text *text, const struct hn_tensor_roofs *roofs)
{
    const char *separator = "";
    for (int i = 0; i < HN_PIPE_COUNT; i++) {
        if (!(roofs->pipes[i].gflops > 0))
            continue;
        hn_text_printf(text, "%s%s %.0f TFLOP/s", separator, hn_tensor_pipe_names[i],
                       roofs->pipes[i].gflops / 1e3);
        if (roofs->pipes[i].clock_mhz > 0)
            hn_text_printf(text, " at %.0f MHz", roofs->pipes[i].clock_mhz);
        separator = ", ";
    }
    if (roofs->power_limit_w > 0 && separator[0] != '\0')
        hn_text_printf(text, "; power limit %.0f W", roofs->power_limit_w);
}

json_t *hn_roofs_to_json(const struct hn_roofs *roofs)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:s, s:o*}", "copy_gb_per_s", roofs->copy_gb_per_s,
                     "l2_gb_per_s", roofs->l2_gb_per_s, "fp32_gflops", roofs->fp32_gflops,
                     "launch_us", roofs->launch_us, "measured", roofs->measured, "driver",
                     roofs->driver, "tensor", tensor_to_json(&roofs->tensor));
}

enum hn_status hn_roofs_from_json(const json_t *json, struct hn_roofs *roofs, struct hn_error *err)
{
    static const char *const keys[] = {"copy_gb_per_s", "l2_gb_per_s", "fp32_gflops", "launch_us",
                                       "measured"};
    const char *driver = json_string_value(json_object_get(json, "driver"));
    *roofs = (struct hn_roofs){.measured = 0.0};
    double *const numbers[] = {&roofs->copy_gb_per_s, &roofs->l2_gb_per_s, &roofs->fp32_gflops,
                               &roofs->launch_us, &roofs->measured};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        *numbers[i] = json_number_value(json_object_get(json, keys[i]));
        if (!(*numbers[i] > 0.0))
            return hn_fail(err, HN_EFORMAT, "the roofs have no '%s'", keys[i]);
    }
    if (driver == NULL)
        return hn_fail(err, HN_EFORMAT, "the roofs have no 'driver'");
    snprintf(roofs->driver, sizeof roofs->driver, "%s", driver);
    return tensor_from_json(json_object_get(json, "tensor"), &roofs->tensor, err);
}

static char *device_text(const struct hn_device_identity *device, struct hn_error *err)
{
    json_t *json = hn_fields_to_json(&hn_device_identity_structure, device);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    if (text == NULL)
        hn_fail_memory(err);
    return text;
}

/* Asked before roofs are stored, and after they were read. */
static void gate(const struct hn_device_identity *device, const struct hn_roofs *roofs,
                 struct hn_error *err)
{
    const double rates[] = {roofs->copy_gb_per_s, roofs->l2_gb_per_s, roofs->fp32_gflops,
                            roofs->launch_us};
    for (size_t i = 0; i < sizeof rates / sizeof *rates && !hn_failed(err); i++)
        if (!(isfinite(rates[i]) && rates[i] > 0))
            hn_fail(err, HN_EFORMAT, "a roof of a device is %g, expected a rate", rates[i]);
    hn_gate_moment("measured", roofs->measured, err);
    hn_gate_line("the device's name", device->name, sizeof device->name, err);
    hn_gate_line("the MIG profile", device->mig_profile, HN_NAME_MOST, err);
    hn_gate_line("the driver's version", roofs->driver, sizeof roofs->driver, err);
}

static void read_roofs(const struct hn_store *store, struct hn_statement *statement,
                       const struct hn_device_identity *device, struct hn_roofs *roofs,
                       struct hn_error *err)
{
    hn_store_expect_intact(store, statement, 1, "what a device can do at best", err);
    json_t *json = hn_document_parse(hn_column_text(statement, 0), err);
    if (json != NULL)
        (void)hn_roofs_from_json(json, roofs, err);
    json_decref(json);
    gate(device, roofs, err);
}

static bool find_roofs(const struct hn_store *store, const struct hn_device_identity *device,
                       const char *driver, struct hn_roofs *roofs, struct hn_error *err)
{
    char *text = device_text(device, err);
    struct hn_statement *statement =
        hn_database_prepare(store->database, err,
                            "SELECT json, " HN_ROOF_INTACT(
                                "") " FROM roof WHERE device = ? AND driver = ifnull(?, driver)"
                                    " ORDER BY measured DESC LIMIT 1",
                            "tt", text, driver);
    bool found = hn_statement_step(statement, err);
    if (found)
        read_roofs(store, statement, device, roofs, err);
    hn_statement_finish(statement);
    free(text);
    return found;
}

enum hn_status hn_store_get_roofs(struct hn_store *store, const struct hn_device_identity *device,
                                  const char *driver, struct hn_roofs *roofs, struct hn_error *err)
{
    struct hn_error own;
    err = hn_error_begin(err, &own);
    bool found = find_roofs(store, device, driver, roofs, err);
    if (!hn_failed(err) && !found && store->base != NULL)
        return hn_store_get_roofs(store->base, device, driver, roofs, err);
    if (!hn_failed(err) && !found)
        hn_fail(err, HN_ENOTFOUND, "nothing was measured of what %s can do at best", device->name);
    return err->status;
}

enum hn_status hn_store_put_roofs(struct hn_store *store, const struct hn_device_identity *device,
                                  const struct hn_roofs *roofs, struct hn_error *err)
{
    struct hn_error own;
    struct hn_error ignored = {.status = HN_OK};
    struct hn_roofs kept = *roofs;
    struct hn_roofs before;
    err = hn_error_begin(err, &own);
    gate(device, roofs, err);
    json_t *tensor = tensor_to_json(&roofs->tensor);
    if (tensor == NULL && find_roofs(store, device, roofs->driver, &before, &ignored))
        kept.tensor = hn_failed(&ignored) ? kept.tensor : before.tensor;
    json_decref(tensor);
    json_t *json = hn_failed(err) ? NULL : hn_roofs_to_json(&kept);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    char *device_json = hn_failed(err) ? NULL : device_text(device, err);
    if (text == NULL && !hn_failed(err))
        hn_fail_memory(err);
    hn_database_do(store->database, err,
                   "INSERT OR REPLACE INTO roof VALUES(?1, ?2, ?3, ?4, checksum(?1, ?2, ?3, ?4))",
                   "ttrt", device_json, roofs->driver, roofs->measured, text);
    json_decref(json);
    free(device_json);
    free(text);
    return err->status;
}

enum hn_status hn_store_visit_roofs(struct hn_store *store, hn_store_visit_roofs_of *visit,
                                    void *visitor, struct hn_error *err)
{
    struct hn_error own;
    err = hn_error_begin(err, &own);
    struct hn_statement *statement = hn_database_prepare(
        store->database, err, "SELECT device, json FROM roof WHERE " HN_ROOF_INTACT(""), "");
    while (hn_statement_step(statement, err))
        err->status =
            visit(visitor, hn_column_text(statement, 0), hn_column_text(statement, 1), err);
    hn_statement_finish(statement);
    return err->status;
}

enum hn_status hn_store_add_roofs(struct hn_store *store, const char *device_text,
                                  const char *roofs_text, struct hn_error *err)
{
    struct hn_error own;
    struct hn_roofs roofs;
    struct hn_roofs known;
    struct hn_device_identity device = {.capability = 0};
    err = hn_error_begin(err, &own);
    struct hn_json_reader reader = {"device", HN_OK, err, NULL};
    json_t *device_json = hn_document_parse(device_text, err);
    json_t *json = hn_document_parse(roofs_text, err);
    if (!hn_failed(err)) {
        hn_fields_read(&reader, &hn_device_identity_structure, device_json, &device);
        if (reader.status == HN_OK && hn_roofs_from_json(json, &roofs, err) == HN_OK)
            hn_gate_date(roofs.measured, err);
    }
    json_decref(json);
    json_decref(device_json);
    if (hn_failed(err) ||
        (hn_store_get_roofs(store, &device, roofs.driver, &known, NULL) == HN_OK &&
         known.measured >= roofs.measured))
        return err->status;
    return hn_store_put_roofs(store, &device, &roofs, err);
}
