/* SPDX-License-Identifier: MIT */
#include "cache/store/tensor_roofs.h"

#include "base/schema.h"

const char *const hn_tensor_pipe_names[HN_PIPE_COUNT] = {
#define X(identifier, key, name, bytes) name,
    HN_TENSOR_PIPES(X)
#undef X
};
static const char *const keys[HN_PIPE_COUNT] = {
#define X(identifier, key, name, bytes) key,
    HN_TENSOR_PIPES(X)
#undef X
};

json_t *hn_tensor_roofs_to_json(const struct hn_tensor_roofs *roofs)
{
    json_t *json = json_object();
    for (int i = 0; i < HN_PIPE_COUNT; i++)
        if (roofs->pipes[i].gflops > 0)
            json_object_set_new(json, keys[i],
                                json_pack("{s:f, s:f}", "gflops", roofs->pipes[i].gflops,
                                          "clock_mhz", roofs->pipes[i].clock_mhz));
    if (roofs->power_limit_w > 0)
        json_object_set_new(json, "power_limit_w", json_real(roofs->power_limit_w));
    if (json_object_size(json) > 0)
        return json;
    json_decref(json);
    return NULL;
}

enum hn_status hn_tensor_roofs_from_json(const json_t *json, struct hn_tensor_roofs *roofs,
                                         struct hn_error *err)
{
    struct hn_json_reader reader = {.what = "the roofs of tensor cores", .err = err};
    *roofs = (struct hn_tensor_roofs){.power_limit_w = 0};
    if (json == NULL)
        return HN_OK;
    hn_json_expect(&reader, json_is_object(json), "tensor", "an object");
    for (int i = 0; i < HN_PIPE_COUNT; i++) {
        const json_t *pipe = json_object_get(json, keys[i]);
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
