/* SPDX-License-Identifier: MIT */
#include "cache/store/store_roofs.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/schema.h"
#include "cache/record/gate.h"
#include "cache/record/record.h"
#include "cache/store/store_internal.h"

const char *const hn_tensor_pipe_names[HN_PIPE_COUNT] = {
#define X(identifier, key, name, bytes) name,
    HN_TENSOR_PIPES(X)
#undef X
};

#define NUMBER(type, member) HN_NEEDED(#member), .kind = HN_FIELD_AMOUNT, HN_AT(type, member)

static const struct hn_field pipe_fields[] = {
    {NUMBER(hn_tensor_roof, gflops)},
    {NUMBER(hn_tensor_roof, clock_mhz)},
};
static const struct hn_structure pipe_structure = HN_STRUCTURE(hn_tensor_roof, pipe_fields, NULL);

static const struct hn_field tensor_fields[] = {
#define X(identifier, name, shown, bytes)                                                          \
    {.key = name, HN_STRUCT(hn_tensor_roofs, pipes[identifier], pipe_structure)},
    HN_TENSOR_PIPES(X)
#undef X
        {.key = "power_limit_w", .kind = HN_FIELD_AMOUNT, HN_AT(hn_tensor_roofs, power_limit_w)},
};
static const struct hn_structure tensor_structure =
    HN_STRUCTURE(hn_tensor_roofs, tensor_fields, NULL);

static void gate_rates(const struct hn_roofs *roofs, struct hn_error *err)
{
    const double rates[] = {roofs->copy_gb_per_s, roofs->l2_gb_per_s, roofs->fp32_gflops,
                            roofs->launch_us};
    for (size_t i = 0; i < sizeof rates / sizeof *rates && !hn_failed(err); i++)
        if (!(isfinite(rates[i]) && rates[i] > 0))
            hn_fail(err, HN_EFORMAT, "a roof of a device is %g, expected a rate", rates[i]);
}

static void check_roofs(struct hn_json_reader *reader, void *owner)
{
    gate_rates(owner, reader->err);
}

static const struct hn_field roofs_fields[] = {
    {NUMBER(hn_roofs, copy_gb_per_s)},
    {NUMBER(hn_roofs, l2_gb_per_s)},
    {NUMBER(hn_roofs, fp32_gflops)},
    {NUMBER(hn_roofs, launch_us)},
    {NUMBER(hn_roofs, measured)},
    {HN_NEEDED("driver"), HN_CHARS(hn_roofs, driver)},
    {.key = "tensor", HN_STRUCT(hn_roofs, tensor, tensor_structure)},
    {.key = "l2_bytes", .kind = HN_FIELD_AMOUNT, HN_AT(hn_roofs, l2_bytes)},
};
const struct hn_structure hn_roofs_structure = HN_STRUCTURE(hn_roofs, roofs_fields, check_roofs);

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

/* Asked before roofs are stored, and after they were read. */
static void gate(const struct hn_device_identity *device, const struct hn_roofs *roofs,
                 struct hn_error *err)
{
    gate_rates(roofs, err);
    hn_gate_moment("measured", roofs->measured, err);
    hn_gate_line("the device's name", device->name, sizeof device->name, err);
    hn_gate_line("the MIG profile", device->mig_profile, HN_NAME_MOST, err);
    hn_gate_line("the driver's version", roofs->driver, sizeof roofs->driver, err);
}

static bool find_roofs(const struct hn_store *store, const struct hn_device_identity *device,
                       const char *driver, struct hn_roofs *roofs, struct hn_error *err)
{
    bool intact = true;
    char *json HN_FREED = NULL;
    char *text HN_FREED = hn_document_text(&hn_device_identity_structure, device, err);
    *roofs = (struct hn_roofs){.measured = 0};
    bool found = hn_database_do(store->database, err,
                                "SELECT json, " HN_ROOF_INTACT(
                                    "") " FROM roof WHERE device = ? AND driver = ifnull(?, driver)"
                                        " ORDER BY measured DESC LIMIT 1",
                                "tt>tb", text, driver, &json, &intact);
    hn_store_expect_intact(store, intact, "what a device can do at best", err);
    if (found) {
        hn_document_read("roofs", &hn_roofs_structure, json, roofs, err);
        gate(device, roofs, err);
    }
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
    struct hn_error ignored = {.status = HN_OK};
    struct hn_roofs kept = *roofs;
    struct hn_roofs before;
    hn_error_init(err);
    gate(device, roofs, err);
    json_auto_t *json = hn_fields_to_json(&hn_roofs_structure, &kept);
    if (json_object_get(json, "tensor") == NULL &&
        find_roofs(store, device, roofs->driver, &before, &ignored) && !hn_failed(&ignored))
        kept.tensor = before.tensor;
    char *text HN_FREED = hn_document_text(&hn_roofs_structure, &kept, err);
    char *device_json HN_FREED = hn_document_text(&hn_device_identity_structure, device, err);
    hn_database_do(store->database, err,
                   "INSERT OR REPLACE INTO roof VALUES(?1, ?2, ?3, ?4, checksum(?1, ?2, ?3, ?4))",
                   "ttrt", device_json, roofs->driver, roofs->measured, text);
    return err->status;
}

json_t *hn_store_get_all_roofs(struct hn_store *store, struct hn_error *err)
{
    json_t *all = json_array();
    double measured;
    struct hn_statement *statement = hn_database_prepare(
        store->database, err,
        "SELECT device, driver, measured, json FROM roof WHERE " HN_ROOF_INTACT(""), "");
    while (hn_statement_next(&statement, err)) {
        hn_statement_read(statement, 2, err, "r", &measured);
        hn_build_append(&all,
                        json_pack("{s:s, s:s, s:f, s:s}", "device", hn_column_text(statement, 0),
                                  "driver", hn_column_text(statement, 1), "measured", measured,
                                  "json", hn_column_text(statement, 3)));
    }
    return hn_made(all, err);
}

void hn_store_add_roofs(struct hn_store *store, const char *device_text, const char *roofs_text,
                        struct hn_error *err)
{
    struct hn_roofs roofs = {.measured = 0}, known;
    struct hn_device_identity device = {.capability = 0};
    hn_document_read("device", &hn_device_identity_structure, device_text, &device, err);
    hn_document_read("roofs", &hn_roofs_structure, roofs_text, &roofs, err);
    hn_gate_date(roofs.measured, err);
    if (!hn_failed(err) &&
        (hn_store_get_roofs(store, &device, roofs.driver, &known, NULL) != HN_OK ||
         known.measured < roofs.measured))
        (void)hn_store_put_roofs(store, &device, &roofs, err);
}
