/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/schema.h"
#include "base/text.h"
#include "cache/store/store_roofs.h"
#include "runtime/bench/roofs.h"
#include "runtime/compile/compile.h"
#include "runtime/compile/nvrtc.h"
#include "tuner/commands/command.h"
#include "tuner/commands/hosts_option.h"
#include "tuner/commands/open_cache.h"
#include "tuner/report/render.h"
#include "tuner/report/roof.h"
#include "tuner/workers/turn.h"
#include "tuner/workers/workers.h"

struct show {
    const struct hn_options *options;
    struct hn_driver driver;
    struct hn_store *store; /* NULL: there is no cache */
};

/* Data moves on both edges of the memory clock. */
static const struct hn_view views[] = {
    {.line = "{nvrtc_missing}"},
    {.line = "NVRTC {nvrtc.version} compiles for {nvrtc.architectures:words}\n"
             "CUDA headers: [{nvrtc.include_dir}|not found (templates can not include "
             "cuda_fp16.h)]"},
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
    json_t *architectures = json_array();
    if (hn_nvrtc_open(&nvrtc, &reason) != HN_OK) {
        json_decref(architectures);
        json_object_set_new(document, "nvrtc", json_null());
        json_object_set_new(document, "nvrtc_missing", hn_string_to_json(reason.message));
        return;
    }
    size_t count = hn_nvrtc_architectures(&nvrtc, numbers);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(architectures, json_sprintf("sm_%d", numbers[i]));
    json_object_set_new(document, "nvrtc",
                        json_pack("{so so so}", "version",
                                  json_sprintf("%d.%d", nvrtc.major, nvrtc.minor), "architectures",
                                  architectures, "include_dir",
                                  hn_string_to_json(nvrtc.include_dir)));
    hn_nvrtc_close(&nvrtc);
}

static enum hn_status compile_roofs(const struct hn_device *device, struct hn_image *image,
                                    struct hn_error *err)
{
    char number[16];
    char architecture[HN_ARCHITECTURE_SIZE];
    struct hn_nvrtc nvrtc;
    snprintf(number, sizeof number, "sm_%d", device->identity.capability);
    hn_architecture_name(number, true, architecture);
    const struct hn_compile_request request = {
        .name = "hone/roofs.cu",
        .text = hn_roofs_source,
        .entries = hn_roofs_entries,
        .entry_count = hn_roofs_entry_count,
        .architecture = architecture,
    };
    enum hn_status status = hn_nvrtc_open(&nvrtc, err);
    if (status != HN_OK)
        return status;
    status = hn_compile(&nvrtc, &request, image, err);
    hn_nvrtc_close(&nvrtc);
    return status;
}

static enum hn_status measure_with(const struct hn_driver *driver, const struct hn_device *device,
                                   const struct hn_image *image, struct hn_roofs *roofs,
                                   struct hn_error *err)
{
    struct hn_context context;
    enum hn_status status = hn_context_init(&context, driver, device, err);
    if (status != HN_OK)
        return status;
    status = hn_roofs_measure(&context, image, roofs, err);
    hn_context_finish(&context);
    return status;
}

enum hn_status hn_device_measure_roofs(const struct hn_driver *driver,
                                       const struct hn_device *device, struct hn_roofs *roofs,
                                       struct hn_error *err)
{
    struct hn_image image;
    hn_image_init(&image);
    enum hn_status status = compile_roofs(device, &image, err);
    if (status == HN_OK) {
        int lock = hn_turn_open(device->uuid, NULL);
        hn_turn_take(lock);
        status = measure_with(driver, device, &image, roofs, err);
        hn_turn_end(lock);
        if (lock >= 0)
            close(lock);
    }
    hn_image_finish(&image);
    return status;
}

/* Those measured now, or with whatever driver before. HN_ENOTFOUND: there are none. */
static enum hn_status find_roofs(struct show *show, const struct hn_device *device,
                                 struct hn_roofs *roofs, struct hn_error *err)
{
    if (!show->options->measure)
        return show->store == NULL
                   ? HN_ENOTFOUND
                   : hn_store_get_roofs(show->store, &device->identity, NULL, roofs, err);
    enum hn_status status = hn_device_measure_roofs(&show->driver, device, roofs, err);
    return status == HN_OK ? hn_store_put_roofs(show->store, &device->identity, roofs, err)
                           : status;
}

/* roofs: NULL where they are not known. */
static json_t *device_to_json(const struct hn_device *device, const struct hn_roofs *roofs)
{
    json_t *json = hn_needed(hn_device_to_json(device));
    struct hn_text tensor = {0};
    json_object_set_new(json, "roofs", roofs != NULL ? hn_roofs_to_json(roofs) : json_null());
    if (roofs != NULL)
        hn_tensor_roofs_append(&tensor, &roofs->tensor);
    if (tensor.length > 0)
        json_object_set_new(json, "tensor_cores", json_string(tensor.data));
    hn_text_finish(&tensor);
    return json;
}

/* Only what is measured needs a cache. */
static enum hn_status open_store(struct show *show, struct hn_error *err)
{
    enum hn_store_mode mode = show->options->measure ? HN_STORE_WRITE : HN_STORE_READ;
    struct hn_error reason;
    enum hn_status status = hn_cache_open(show->options, mode, &show->store, &reason);
    if (status == HN_OK)
        return HN_OK;
    show->store = NULL;
    if (!show->options->measure && (status == HN_ENOTFOUND || show->options->cache == NULL))
        return HN_OK;
    *err = reason;
    return status;
}

static enum hn_status add_devices(struct show *show, json_t *devices, struct hn_error *err)
{
    int count = 0;
    enum hn_status status = hn_driver_open(&show->driver, err);
    if (status != HN_OK)
        return status;
    status = hn_driver_count(&show->driver, &count, err);
    if (status == HN_OK && count == 0)
        status = hn_fail(err, HN_ERUN, "the CUDA driver finds no GPU");
    if (status == HN_OK)
        status = open_store(show, err);
    for (int i = 0; status == HN_OK && i < count; i++) {
        struct hn_device device;
        struct hn_roofs roofs;
        status = hn_driver_device(&show->driver, i, &device, err);
        enum hn_status found =
            status == HN_OK ? find_roofs(show, &device, &roofs, err) : HN_ENOTFOUND;
        if (status == HN_OK && found != HN_ENOTFOUND)
            status = found;
        if (status == HN_OK)
            json_array_append_new(devices, device_to_json(&device, found == HN_OK ? &roofs : NULL));
    }
    hn_driver_close(&show->driver);
    return status;
}

static const int sleep_limit_ms = 100;

/* Opens a card as far as that goes without blocking. True: it is open, or never will be. */
static bool open_card(struct hn_card *card)
{
    struct hn_gpu_result result;
    struct hn_error reason = {.message = ""};
    struct hn_host_view view;
    hn_host_look(card->host, &view);
    if (card->known || card->refusal[0] != '\0' || view.state == HN_HOST_OUT ||
        (view.state == HN_HOST_UP && view.gpus == 0))
        return true;
    if (view.state != HN_HOST_UP)
        return false;
    enum hn_status status = HN_OK;
    if (!hn_gpu_client_busy(card->gpu))
        status = hn_card_open(card, &reason);
    if (status == HN_OK)
        status = hn_gpu_client_process(card->gpu, &result, &reason);
    if (status == HN_OK && result.end == HN_GPU_NOTHING)
        return false;
    if (status == HN_OK)
        status = hn_card_take_opened(card, &result, &reason);
    if (status != HN_OK)
        snprintf(card->refusal, sizeof card->refusal, "%.390s", reason.message);
    return true;
}

static bool hosts_are_settled(struct hn_workers *workers)
{
    for (size_t i = 0; i < hn_hosts_count(workers->hosts); i++) {
        struct hn_host_view view;
        hn_host_look(hn_hosts_at(workers->hosts, i), &view);
        if (view.state == HN_HOST_STARTING)
            return false;
    }
    return true;
}

static enum hn_status open_all(struct hn_workers *workers, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (bool done = false; status == HN_OK && !done;) {
        hn_workers_find_cards(workers);
        done = hosts_are_settled(workers);
        for (size_t i = 0; i < workers->card_count; i++)
            done = open_card(workers->cards[i]) && done;
        if (done || status != HN_OK)
            break;
        hn_workers_sleep(workers, sleep_limit_ms);
        status = hn_interrupt_check(err);
    }
    return status;
}

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

/* HN_ERUN: none of them can be used. */
static enum hn_status add_opened(struct show *show, const struct hn_workers *workers, json_t *hosts,
                                 struct hn_error *err)
{
    size_t used = 0;
    for (size_t i = 0; i < hn_hosts_count(workers->hosts); i++) {
        const struct hn_host *host = hn_hosts_at(workers->hosts, i);
        struct hn_host_view view;
        json_t *cards = json_array();
        hn_host_look(hn_hosts_at(workers->hosts, i), &view);
        bool is_out = view.state == HN_HOST_OUT;
        used += !is_out;
        for (size_t c = 0; c < workers->card_count; c++) {
            const struct hn_card *card = workers->cards[c];
            if (card->host == host && (card->known || card->refusal[0] != '\0'))
                json_array_append_new(cards, card_to_json(card, show->store));
        }
        json_array_append_new(hosts,
                              json_pack("{so si so so}", "host", hn_string_to_json(view.name),
                                        "compile", is_out ? 0 : view.compile, "devices", cards,
                                        "reason", hn_string_to_json(is_out ? view.reason : "")));
    }
    return used > 0 ? HN_OK : hn_fail(err, HN_ERUN, "no host of --workers can be used");
}

/* What --workers names: hosts, their GPUs side by side, compile workers, and why a host can not be
 * used. This machine may be none of them. */
static enum hn_status add_hosts(struct show *show, json_t *hosts, struct hn_error *err)
{
    struct hn_hosts_option option;
    struct hn_workers *workers = NULL;
    enum hn_status status = open_store(show, err);
    if (status == HN_OK)
        status = hn_hosts_option_read(show->options->workers, show->options->install, &option, err);
    if (status != HN_OK)
        return status;
    const struct hn_workers_options options = {
        .hosts = option.hosts,
        .host_count = option.sites.count,
        .compile_timeout_s = 60,
        .run_timeout_s = 60,
    };
    hn_interrupt_install();
    status = hn_workers_start(&options, &workers, err);
    if (status == HN_OK)
        status = open_all(workers, err);
    if (status == HN_OK)
        status = add_opened(show, workers, hosts, err);
    hn_workers_destroy(workers);
    hn_hosts_option_finish(&option);
    return status;
}

/* What was found is shown whatever came of it. */
static enum hn_status run(struct hn_options *options, struct hn_error *err)
{
    struct show show = {.options = options};
    const bool elsewhere = options->workers != NULL;
    json_t *document = json_object(), *list = json_array();
    json_t *host;
    size_t i;
    json_object_set_new(document, elsewhere ? "hosts" : "devices", list);
    if (!elsewhere)
        add_nvrtc(document);
    enum hn_status status = elsewhere ? add_hosts(&show, list, err) : add_devices(&show, list, err);
    enum hn_status written = HN_OK;
    if (options->json) {
        written = hn_output_json(document, status == HN_OK ? err : NULL);
    } else {
        hn_render(document, views, stdout);
        json_array_foreach(json_object_get(document, "hosts"), i, host)
        {
            hn_render(host, host_views, stdout);
        }
    }
    hn_store_close(show.store);
    json_decref(document);
    return status == HN_OK ? written : status;
}

const struct hn_command hn_command_device = {
    .name = "device",
    .of = HN_DEVICE,
    .arguments = "",
    .summary = "show the GPUs, their identity and limits, and the compiler",
    .help =
        "Shows the GPUs that the driver finds, their identity and limits, what the cache holds of "
        "how fast they are at best, and NVRTC.",
    .details = "Without a driver: NVRTC alone, and exit code 1.",
    .examples = "hone device --measure",
    .extra = "found '%s', expected no argument",
    .run = run,
};
