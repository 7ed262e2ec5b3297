/* SPDX-License-Identifier: MIT */
#include "cache/store/store_roofs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/record/gate.h"
#include "cache/store/store_internal.h"

static void bind_device(struct hn_statement *statement, const struct hn_device_identity *device)
{
    hn_bind_text(statement, device->name);
    hn_bind_integer(statement, device->capability);
    hn_bind_integer(statement, device->sm_count);
    hn_bind_text(statement, device->mig_profile);
}

/* Where something is known: what is not does not take the place of what was. */
static enum hn_status put_tensor_roofs(struct hn_store *store,
                                       const struct hn_device_identity *device,
                                       const struct hn_roofs *roofs, struct hn_error *err)
{
    struct hn_statement *statement;
    json_t *json = hn_tensor_roofs_to_json(&roofs->tensor);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (text == NULL)
        return HN_OK;
    enum hn_status status =
        hn_database_prepare(store->database,
                            "INSERT OR REPLACE INTO tensor_roof VALUES(?1, ?2, ?3, ?4, ?5, ?6,"
                            " checksum(?1, ?2, ?3, ?4, ?5, ?6))",
                            &statement, err);
    if (status == HN_OK) {
        bind_device(statement, device);
        hn_bind_text(statement, roofs->driver);
        hn_bind_text(statement, text);
        status = hn_statement_run(statement, err);
        hn_statement_finish(statement);
    }
    free(text);
    return status;
}

/* Asked before roofs are stored, and after they were read. */
static enum hn_status gate(const struct hn_device_identity *device, const struct hn_roofs *roofs,
                           struct hn_error *err)
{
    const double rates[] = {roofs->copy_gb_per_s, roofs->l2_gb_per_s, roofs->fp32_gflops,
                            roofs->launch_us};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (!(isfinite(rates[i]) && rates[i] >= 0))
            return hn_fail(err, HN_EFORMAT, "a roof of a device is %g, expected a rate", rates[i]);
    bool passes =
        hn_gate_moment("measured", roofs->measured, err) == HN_OK &&
        hn_gate_line("the device's name", device->name, sizeof device->name, err) == HN_OK &&
        hn_gate_line("the MIG profile", device->mig_profile, HN_NAME_MOST, err) == HN_OK &&
        hn_gate_line("the driver's version", roofs->driver, sizeof roofs->driver, err) == HN_OK;
    return passes ? HN_OK : HN_EFORMAT;
}

enum hn_status hn_store_put_roofs(struct hn_store *store, const struct hn_device_identity *device,
                                  const struct hn_roofs *roofs, struct hn_error *err)
{
    struct hn_statement *statement;
    enum hn_status status = gate(device, roofs, err);
    if (status != HN_OK)
        return status;
    status = hn_database_prepare(
        store->database,
        "INSERT OR REPLACE INTO roof VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
        " checksum(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10))",
        &statement, err);
    if (status != HN_OK)
        return status;
    bind_device(statement, device);
    hn_bind_text(statement, roofs->driver);
    hn_bind_real(statement, roofs->measured);
    hn_bind_real(statement, roofs->copy_gb_per_s);
    hn_bind_real(statement, roofs->l2_gb_per_s);
    hn_bind_real(statement, roofs->fp32_gflops);
    hn_bind_real(statement, roofs->launch_us);
    status = hn_statement_run(statement, err);
    hn_statement_finish(statement);
    return status == HN_OK ? put_tensor_roofs(store, device, roofs, err) : status;
}

static enum hn_status read_roofs(struct hn_statement *statement,
                                 const struct hn_device_identity *device, struct hn_roofs *roofs,
                                 struct hn_error *err)
{
    *roofs = (struct hn_roofs){
        .measured = hn_column_real(statement, 1),
        .copy_gb_per_s = hn_column_real(statement, 2),
        .l2_gb_per_s = hn_column_real(statement, 3),
        .fp32_gflops = hn_column_real(statement, 4),
        .launch_us = hn_column_real(statement, 5),
    };
    snprintf(roofs->driver, sizeof roofs->driver, "%s", hn_column_text(statement, 0));
    return gate(device, roofs, err);
}

static enum hn_status read_tensor_roofs(const struct hn_store *store,
                                        struct hn_statement *statement,
                                        struct hn_tensor_roofs *roofs, struct hn_error *err)
{
    const char *text = hn_column_text(statement, 0);
    enum hn_status status =
        hn_store_expect_intact(store, statement, 1, "what tensor cores can do at best", err);
    if (status == HN_OK)
        status = hn_gate_json(text, strlen(text), err);
    if (status != HN_OK)
        return status;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    status = hn_tensor_roofs_from_json(json, roofs, err);
    json_decref(json);
    return status;
}

/* Of the driver that the roofs are of. */
static enum hn_status get_tensor_roofs(struct hn_store *store,
                                       const struct hn_device_identity *device,
                                       struct hn_roofs *roofs, struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    enum hn_status status = hn_database_prepare(
        store->database,
        "SELECT json, " HN_TENSOR_ROOF_INTACT(
            "") " FROM tensor_roof"
                " WHERE device = ? AND capability = ? AND sm_count = ? AND mig_profile = ?"
                " AND driver = ?",
        &statement, err);
    if (status != HN_OK)
        return status;
    bind_device(statement, device);
    hn_bind_text(statement, roofs->driver);
    status = hn_statement_step(statement, &row, err);
    if (status == HN_OK && row)
        status = read_tensor_roofs(store, statement, &roofs->tensor, err);
    hn_statement_finish(statement);
    return status;
}

enum hn_status hn_store_get_roofs(struct hn_store *store, const struct hn_device_identity *device,
                                  const char *driver, struct hn_roofs *roofs, struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    enum hn_status status = hn_database_prepare(
        store->database,
        "SELECT driver, measured, copy_gb_per_s, l2_gb_per_s, fp32_gflops, "
        "launch_us, " HN_ROOF_INTACT(
            "") " FROM roof"
                " WHERE device = ? AND capability = ? AND sm_count = ? AND mig_profile = ?"
                " AND driver = ifnull(?, driver) ORDER BY measured DESC LIMIT 1",
        &statement, err);
    if (status != HN_OK)
        return status;
    bind_device(statement, device);
    hn_bind_text(statement, driver);
    status = hn_statement_step(statement, &row, err);
    if (status == HN_OK && row)
        status = hn_store_expect_intact(store, statement, 6, "what a device can do at best", err);
    if (status == HN_OK && row)
        status = read_roofs(statement, device, roofs, err);
    hn_statement_finish(statement);
    if (status == HN_OK && row)
        status = get_tensor_roofs(store, device, roofs, err);
    if (status == HN_OK && !row && store->base != NULL)
        return hn_store_get_roofs(store->base, device, driver, roofs, err);
    if (status == HN_OK && !row)
        return hn_fail(err, HN_ENOTFOUND, "nothing was measured of what %s can do at best",
                       device->name);
    return status;
}

enum hn_status hn_store_visit_roofs(struct hn_store *store, hn_store_visit_roofs_of *visit,
                                    void *visitor, struct hn_error *err)
{
    struct hn_statement *statement;
    bool row = false;
    enum hn_status status = hn_database_prepare(
        store->database,
        "SELECT driver, measured, copy_gb_per_s, l2_gb_per_s, fp32_gflops, launch_us, device,"
        " capability, sm_count, mig_profile FROM roof WHERE " HN_ROOF_INTACT(""),
        &statement, err);
    if (status == HN_OK)
        status = hn_statement_step(statement, &row, err);
    while (status == HN_OK && row) {
        struct hn_roofs roofs;
        struct hn_device_identity device = {.capability = (int)hn_column_integer(statement, 7),
                                            .sm_count = (int)hn_column_integer(statement, 8)};
        snprintf(device.name, sizeof device.name, "%s", hn_column_text(statement, 6));
        snprintf(device.mig_profile, sizeof device.mig_profile, "%s", hn_column_text(statement, 9));
        if (read_roofs(statement, &device, &roofs, NULL) == HN_OK)
            status = visit(visitor, &device, &roofs, err);
        if (status == HN_OK)
            status = hn_statement_step(statement, &row, err);
    }
    hn_statement_finish(statement);
    return status;
}
