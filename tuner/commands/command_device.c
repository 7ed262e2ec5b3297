/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/file.h"
#include "base/run.h"
#include "base/text.h"
#include "cache/store/store_roofs.h"
#include "runtime/bench/roofs.h"
#include "runtime/compile/compile.h"
#include "runtime/compile/nvrtc.h"
#include "tuner/commands/command.h"
#include "tuner/report/bounds.h"
#include "tuner/workers/turn.h"
#include "tuner/workers/workers.h"

/* Data moves on both edges of the memory clock. */
static const struct hn_view views[] = {
    {.line = "{nvrtc_missing}"},
    {.line = "NVRTC {nvrtc.version} compiles for {nvrtc.architectures:words}\n"
             "CUDA headers: [{nvrtc.include_dir}|{?nvrtc.bundled_headers}NVRTC's own|not found "
             "(templates cannot include cuda_fp16.h)]"},
    {.at = "devices",
     .line =
         "\ndevice {ordinal}: {name}\n"
         "[  MIG profile          {mig_profile}\n]"
         "  UUID                 {uuid}\n"
         "  compute capability   {compute_capability/10:.1f}\n"
         "  driver               {driver}\n"
         "  clock                {clock_khz/1e3:.0f} MHz\n"
         "  SMs                  {sm_count}, each {max_threads_per_sm} threads, "
         "{max_blocks_per_sm} blocks, {registers_per_sm} registers\n"
         "  shared memory an SM  {shared_per_sm:bytes}\n"
         "  block                {max_threads_per_block} threads ({max_block_x} x {max_block_y} "
         "x {max_block_z}), {registers_per_block} registers\n"
         "    static shared      {shared_per_block:bytes}\n"
         "    with dynamic       {shared_per_block_optin:bytes}\n"
         "    reserved           {shared_reserved_per_block:bytes}\n"
         "  grid                 {max_grid_x} x {max_grid_y} x {max_grid_z}\n"
         "  clusters             [{?cluster_launch}yes|no]\n"
         "  memory               {memory_bytes:bytes}\n"
         "[  peak bandwidth       {memory_clock_khz*2*memory_bus_bits/8e6:.0f} GB/s "
         "({memory_bus_bits} bits at {memory_clock_khz/1e3:.0f} MHz){?memory_clock_khz}\n]"
         "  L2                   {l2_bytes:bytes}\n"
         "  L2 set aside         {max_persisting_l2_bytes:bytes}\n"
         "  access window        {max_access_window_bytes:bytes}\n"
         "  copy engines         {copy_engines}\n"
         "[  at best              " HN_ROOFS_LINE(
             "roofs.") "\n]"
                       "[  tensor cores at best {tensor_cores}\n]"},
    {NULL},
};
static const struct hn_view host_views[] = {
    {.line = "{host}: [{reason}|{compile} compile worker{compile:s}]"},
    {.at = "devices",
     .line =
         "  GPU {gpu:<3} [{reason}|{name}, {sm_count} SMs, {clock_khz/1e3:.0f} MHz, "
         "{memory_bytes:bytes}, driver {driver}, {uuid}[; at best " HN_ROOFS_LINE("roofs.") "]]"},
    {NULL},
};

/* NVRTC is told of even where there is no driver: it is all that `hone compile` needs. */
static void add_nvrtc(json_t *document)
{
    struct hn_nvrtc nvrtc;
    struct hn_error reason;
    int numbers[HN_NVRTC_ARCHITECTURES];
    if (hn_nvrtc_open(&nvrtc, &reason) != HN_OK) {
        json_object_set_new(document, "nvrtc", json_null());
        json_object_set_new(document, "nvrtc_missing", hn_string_to_json(reason.message));
        return;
    }
    json_t *architectures = json_array();
    size_t count = hn_nvrtc_architectures(&nvrtc, numbers);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(architectures, json_sprintf("sm_%d", numbers[i]));
    json_object_set_new(document, "nvrtc",
                        json_pack("{so so so sb}", "version",
                                  json_sprintf("%d.%d", nvrtc.major, nvrtc.minor), "architectures",
                                  architectures, "include_dir",
                                  hn_string_to_json(nvrtc.include_dir), "bundled_headers",
                                  nvrtc.p_nvrtcInstallBundledHeaders != NULL));
    hn_nvrtc_close(&nvrtc);
}

/* In this very process, in turn with tuners that work on the device. */
static void measure_roofs(const struct hn_driver *driver, const struct hn_device *device,
                          struct hn_roofs *roofs, struct hn_error *err)
{
    char architecture[16];
    struct hn_nvrtc nvrtc;
    struct hn_image image HN_ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
    struct hn_context context;
    snprintf(architecture, sizeof architecture, "sm_%d", device->identity.capability);
    if (hn_failed(err) || hn_nvrtc_open(&nvrtc, err) != HN_OK)
        return;
    hn_compile(&nvrtc, &hn_roofs_program, architecture, &image, err);
    hn_nvrtc_close(&nvrtc);
    int lock = hn_turn_open(device->uuid, NULL);
    hn_turn_await(lock);
    if (!hn_failed(err) && hn_context_init(&context, driver, device, err) == HN_OK) {
        hn_roofs_measure(&context, &image, roofs, err);
        hn_context_finish(&context);
    }
    hn_turn_end(lock);
    hn_close(&lock);
}

/* roofs: NULL where they are not known. */
static json_t *device_to_json(const struct hn_device *device, const struct hn_roofs *roofs)
{
    json_t *json = hn_needed(hn_fields_to_json(&hn_device_structure, device));
    struct hn_text tensor = {0};
    json_object_set_new(
        json, "roofs", roofs != NULL ? hn_fields_to_json(&hn_roofs_structure, roofs) : json_null());
    if (roofs != NULL)
        hn_tensor_roofs_append(&tensor, &roofs->tensor);
    json_object_set_new(json, "tensor_cores", hn_render_text(&tensor));
    return json;
}

/* Only what is measured needs a cache. */
static void open_cache(struct hn_given *given, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    struct hn_error reason = {.status = HN_OK};
    if (hn_failed(err))
        return;
    hn_open_cache(given, options->measure ? HN_STORE_WRITE : HN_STORE_READ, NULL, &reason);
    if (options->measure || (reason.status != HN_ENOTFOUND && options->cache != NULL))
        *err = reason;
}

/* With the roofs that are measured now, or were with whatever driver before. */
static void add_device(struct hn_given *given, const struct hn_driver *driver, int ordinal,
                       json_t *devices, struct hn_error *err)
{
    struct hn_device device;
    struct hn_roofs roofs;
    bool known = given->options->measure;
    if (hn_driver_device(driver, ordinal, &device, err) != HN_OK)
        return;
    if (known) {
        measure_roofs(driver, &device, &roofs, err);
        if (!hn_failed(err))
            hn_store_put_roofs(given->store, &device.identity, &roofs, err);
    } else if (given->store != NULL) {
        known = hn_store_get_roofs(given->store, &device.identity, NULL, &roofs, err) == HN_OK;
        if (err->status == HN_ENOTFOUND)
            hn_error_init(err);
    }
    if (!hn_failed(err))
        json_array_append_new(devices, device_to_json(&device, known ? &roofs : NULL));
}

static void add_devices(struct hn_given *given, json_t *devices, struct hn_error *err)
{
    struct hn_driver driver;
    int count = 0;
    if (hn_driver_open(&driver, err) != HN_OK)
        return;
    if (hn_driver_check(&driver, driver.p_cuDeviceGetCount(&count), "cuDeviceGetCount", err) ==
            HN_OK &&
        count == 0)
        hn_fail(err, HN_ERUN, "the CUDA driver finds no GPU");
    open_cache(given, err);
    for (int i = 0; !hn_failed(err) && i < count; i++)
        add_device(given, &driver, i, devices, err);
    hn_driver_close(&driver);
}

static const int sleep_limit_ms = 100;

static json_t *card_to_json(const struct hn_card *card, struct hn_store *store)
{
    struct hn_roofs roofs;
    bool known = store != NULL && card->known &&
                 hn_store_get_roofs(store, &card->device.identity, NULL, &roofs, NULL) == HN_OK;
    json_t *json = card->known
                       ? device_to_json(&card->device, known ? &roofs : NULL)
                       : json_pack("{sn so}", "roofs", "reason", hn_string_to_json(card->refusal));
    json_object_set_new(json, "gpu", hn_string_to_json(card->selector));
    return json;
}

/* Shows what --workers names: hosts, their GPUs side by side, compile workers, and why a host
 * cannot be used. This machine may be none of them. HN_ERUN: none of them can be used. */
static void add_hosts(struct hn_given *given, json_t *hosts, struct hn_error *err)
{
    const struct hn_workers_options options = {.compile_timeout_s = 60, .run_timeout_s = 60};
    size_t used = 0;
    open_cache(given, err);
    hn_interrupt_install();
    hn_start_workers(given, &options, err);
    const struct hn_workers *workers = given->workers;
    while (!hn_failed(err) && !hn_workers_open_cards(given->workers)) {
        hn_workers_sleep(given->workers, sleep_limit_ms);
        hn_interrupt_check(err);
    }
    for (size_t i = 0; !hn_failed(err) && i < hn_hosts_count(workers->hosts); i++) {
        struct hn_host *host = hn_hosts_at(workers->hosts, i);
        const struct hn_host_view view = hn_host_look(host);
        json_t *cards = json_array();
        bool is_out = view.state == HN_HOST_OUT;
        used += !is_out;
        for (size_t c = 0; c < workers->card_count; c++) {
            const struct hn_card *card = workers->cards[c];
            if (card->host == host && (card->known || card->refusal[0] != '\0'))
                json_array_append_new(cards, card_to_json(card, given->store));
        }
        json_array_append_new(hosts,
                              json_pack("{so si so so}", "host", hn_string_to_json(view.name),
                                        "compile", is_out ? 0 : view.compile, "devices", cards,
                                        "reason", hn_string_to_json(is_out ? view.reason : "")));
    }
    if (!hn_failed(err) && used == 0)
        hn_fail(err, HN_ERUN, "no host of --workers can be used");
}

/* Shows all that was found, also after a failure. */
static void run(struct hn_given *given, struct hn_error *err)
{
    const bool elsewhere = given->options->workers != NULL;
    struct hn_error ignored = {.status = HN_OK};
    json_t *document = json_object(), *list = json_array(), *host;
    size_t i;
    json_object_set_new(document, elsewhere ? "hosts" : "devices", list);
    if (elsewhere) {
        add_hosts(given, list, err);
    } else {
        json_object_set_new(
            document, "hone",
            json_pack("{ss ss so}", "version", HONE_VERSION, "compiler", HONE_COMPILER,
                      "cuda_headers",
                      json_sprintf("%d.%d", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10)));
        add_nvrtc(document);
        add_devices(given, list, err);
    }
    if (!given->options->json)
        json_array_foreach(json_object_get(document, "hosts"), i, host)
        {
            hn_render(host, host_views, stdout);
        }
    hn_show_alone(given, document, views, hn_failed(err) ? &ignored : err);
}

const struct hn_command hn_command_device = {
    .name = "device",
    .of = HN_DEVICE,
    .arguments = "",
    .summary = "show the GPUs, their identity and limits, and the compiler",
    .details = "Without a driver: NVRTC alone, and exit code 1.",
    .examples = "hone device --measure",
    .extra = "found '%s', expected no argument",
    .run = run,
};
