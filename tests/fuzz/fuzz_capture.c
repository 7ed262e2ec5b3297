/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "runtime/plan/capture_file.h"
#include "tuner/config/capture.h"

/* A launch that some program captured, applied to a config. An input is a whole file, or its
 * description, a zero byte, and the streams that it speaks of: a description that only lacks its
 * length says more than a file that is refused at once. */

static const char config_text[] =
    "hone: 1\nkernel: scale\ntemplate: scale.cu\nentry: scale\nproblem: {n: 16, mode: [one]}\n"
    "parameters: {BLOCK: [32, 64]}\n"
    "arguments:\n"
    "  - {name: x, type: float32, count: n, fill: \"uniform(-1, 1)\"}\n"
    "  - {name: y, type: float32, count: n, role: output}\n"
    "  - {name: z, type: int32, count: 2 * n, role: inout, fill: constant(0)}\n"
    "  - {name: a, type: float32, value: 2.5}\n"
    "  - {name: n, type: int32, value: n}\n"
    "launch: {block: BLOCK, grid: \"ceil_div(n, BLOCK)\"}\n";

static struct hn_config *load_config(void)
{
    struct hn_config *config = NULL;
    struct hn_error err = {0};
    const char *path =
        fuzz_write_file("config.yaml", (const uint8_t *)config_text, strlen(config_text));
    fuzz_require(hn_config_load(path, NULL, &config, &err) == HN_OK, err.message);
    return config;
}

static const char *write_capture(const uint8_t *data, size_t size)
{
    static const size_t magic = sizeof HN_CAPTURE_MAGIC - 1;
    if (size >= magic && memcmp(data, HN_CAPTURE_MAGIC, magic) == 0)
        return fuzz_write_file("capture", data, size);
    const uint8_t *zero = size == 0 ? NULL : memchr(data, 0, size);
    uint64_t head = zero == NULL ? size : (uint64_t)(zero - data);
    size_t body = zero == NULL ? 0 : size - head - 1;
    size_t total = magic + body + head + sizeof head + magic;
    uint8_t *file FREED = malloc(total);
    fuzz_require(file != NULL, "there is memory");
    uint8_t *at = file;
    memcpy(at, HN_CAPTURE_MAGIC, magic);
    at += magic;
    if (body > 0)
        memcpy(at, zero + 1, body);
    at += body;
    if (head > 0)
        memcpy(at, data, head);
    at += head;
    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, HN_CAPTURE_MAGIC, magic);
    return fuzz_write_file("capture", file, total);
}

/* The plan goes to worker processes as JSON. */
static void send_plan(const struct hn_plan *plan)
{
    struct hn_plan *again = NULL;
    struct hn_error err = {0};
    json_auto_t *json = hn_plan_to_json(plan);
    fuzz_require(json != NULL, "a plan has a JSON text");
    fuzz_require(hn_plan_from_json(json, &again, &err) == HN_OK, err.message);
    hn_plan_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hn_capture *capture = NULL;
    const struct hn_bindings none = {0};
    struct hn_error err = {0};
    const char *path = write_capture(data, size);
    if (access("/dev/shm", W_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 1);
    if (!fuzz_fine(hn_capture_open(path, &capture, &err), &err)) {
        hn_capture_close(capture);
        return 0;
    }
    struct hn_config *config = load_config();
    if (fuzz_fine(hn_capture_apply(capture, &none, config, &err), &err))
        send_plan(config->plan);
    hn_config_destroy(config);
    hn_capture_close(capture);
    return 0;
}
