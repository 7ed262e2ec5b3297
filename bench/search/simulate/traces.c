/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "bench/search/simulate/batch.h"
#include "cache/recording/recording.h"

/* Quotes and escapes; a trailing part of a broken UTF-8 sequence is the file system's business. */
static void append_string(struct hn_text *text, const char *string)
{
    json_auto_t *json = json_string(string);
    if (json == NULL)
        json = json_string_nocheck("?");
    char *quoted HN_FREED = json_dumps(json, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    hn_text_append(text, quoted != NULL ? quoted : "\"?\"");
}

static void append_trace(struct hn_text *text, const struct hn_batch *batch, size_t strategy,
                         size_t space, size_t number)
{
    const struct hn_run *run = &hn_batch_runs(batch, strategy, space)[number];
    hn_text_append(text, "{\"space\": ");
    append_string(text, batch->spaces[space].name);
    hn_text_append(text, ", \"strategy\": ");
    append_string(text, batch->strategies[strategy]->name);
    hn_text_printf(text, ", \"run\": %zu, \"evals\": [", number);
    for (size_t i = 0; i < run->count; i++)
        hn_text_printf(text, "%s%u", i > 0 ? ", " : "", run->rows[i]);
    if (run->ends_ms != NULL) {
        hn_text_append(text, "], \"ends_ms\": [");
        for (size_t i = 0; i < run->count; i++)
            hn_text_printf(text, "%s%.0f", i > 0 ? ", " : "", run->ends_ms[i]);
    }
    hn_text_printf(text, "], \"overhead_ms\": %.6f", run->overhead_ms);
    if (run->declined > 0)
        hn_text_printf(text, ", \"declined\": %zu", run->declined);
    if (run->chance_count > 0) {
        hn_text_append(text, ", \"chances\": [");
        for (size_t i = 0; i < run->chance_count; i++)
            hn_text_printf(text, "%s[%zu, %.6f]", i > 0 ? ", " : "", run->chances[i].count,
                           run->chances[i].chance);
        hn_text_append(text, "]");
    }
    hn_text_append(text, "}\n");
}

enum hn_status hn_batch_write_traces(const struct hn_batch *batch, const char *path,
                                     struct hn_error *err)
{
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    for (size_t strategy = 0; strategy < batch->strategy_count; strategy++)
        for (size_t space = 0; space < batch->space_count; space++)
            for (size_t run = 0; run < batch->run_count; run++)
                if (hn_batch_runs(batch, strategy, space)[run].rows != NULL)
                    append_trace(&text, batch, strategy, space, run);
    enum hn_status status =
        text.failed ? hn_fail_memory(err)
                    : hn_gzip_write(path, text.data != NULL ? text.data : "", text.length, err);
    return status;
}
