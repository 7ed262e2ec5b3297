/* SPDX-License-Identifier: MIT */
#include "tuner/commands/device_hosts.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/run.h"
#include "base/text.h"
#include "cache/store/store_roofs.h"
#include "runtime/bench/roofs.h"
#include "tuner/commands/hosts_option.h"
#include "tuner/report/format.h"
#include "tuner/report/roof.h"
#include "tuner/workers/workers.h"

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

static bool find_roofs(struct hn_store *store, const struct hn_card *card, struct hn_roofs *roofs)
{
    return store != NULL && card->known &&
           hn_store_get_roofs(store, &card->device.identity, NULL, roofs, NULL) == HN_OK;
}

static void print_card(const struct hn_card *card, struct hn_store *store)
{
    const struct hn_device *device = &card->device;
    char memory[HN_FORMAT_SIZE];
    struct hn_roofs roofs;
    struct hn_text text;
    if (!card->known) {
        printf("  GPU %-3s %s\n", card->selector, card->refusal);
        return;
    }
    hn_format_bytes((double)device->memory_bytes, memory);
    printf("  GPU %-3s %s, %d SMs, %.0f MHz, %s, driver %s, %s", card->selector,
           device->identity.name, device->identity.sm_count, device->clock_khz / 1e3, memory,
           device->driver, device->uuid);
    hn_text_init(&text);
    if (find_roofs(store, card, &roofs))
        hn_roofs_append(&text, &roofs);
    printf("%s%s\n", text.length > 0 ? "; at best " : "", text.length > 0 ? text.data : "");
    hn_text_finish(&text);
}

static json_t *card_to_json(const struct hn_card *card, struct hn_store *store)
{
    struct hn_roofs roofs;
    json_t *json = card->known ? hn_device_to_json(&card->device) : json_object();
    json_object_set_new(json, "roofs",
                        find_roofs(store, card, &roofs) ? hn_roofs_to_json(&roofs) : json_null());
    if (!card->known)
        json_object_set_new(json, "reason", json_string(card->refusal));
    return json;
}

static void show_cards(const struct hn_workers *workers, const struct hn_host *host,
                       struct hn_store *store, json_t *array)
{
    for (size_t i = 0; i < workers->card_count; i++) {
        const struct hn_card *card = workers->cards[i];
        if (card->host != host || (!card->known && card->refusal[0] == '\0'))
            continue;
        if (array != NULL)
            json_array_append_new(array, card_to_json(card, store));
        else
            print_card(card, store);
    }
}

static enum hn_status show_all(struct hn_workers *workers, struct hn_store *store, json_t *document,
                               struct hn_error *err)
{
    json_t *list = document != NULL ? json_array() : NULL;
    size_t used = 0;
    for (size_t i = 0; i < hn_hosts_count(workers->hosts); i++) {
        struct hn_host *host = hn_hosts_at(workers->hosts, i);
        struct hn_host_view view;
        json_t *cards = document != NULL ? json_array() : NULL;
        hn_host_look(host, &view);
        bool is_out = view.state == HN_HOST_OUT;
        used += !is_out;
        if (document == NULL && is_out)
            printf("%s: %s\n", view.name, view.reason);
        else if (document == NULL)
            printf("%s: %d compile worker%s\n", view.name, view.compile,
                   view.compile == 1 ? "" : "s");
        show_cards(workers, host, store, cards);
        if (document != NULL)
            json_array_append_new(list, json_pack("{ss si so ss}", "host", view.name, "compile",
                                                  is_out ? 0 : view.compile, "devices", cards,
                                                  "reason", is_out ? view.reason : ""));
    }
    if (document != NULL)
        json_object_set_new(document, "hosts", list);
    return used > 0 ? HN_OK : hn_fail(err, HN_ERUN, "no host of --workers can be used");
}

enum hn_status hn_device_show_hosts(const struct hn_options *shared, struct hn_store *store,
                                    json_t *document, struct hn_error *err)
{
    struct hn_hosts_option option;
    struct hn_workers *workers = NULL;
    enum hn_status status = hn_hosts_option_read(shared->workers, shared->install, &option, err);
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
        status = show_all(workers, store, document, err);
    hn_workers_destroy(workers);
    hn_hosts_option_finish(&option);
    return status;
}
