/* SPDX-License-Identifier: MIT */
#include "tuner/report/summary_edges.h"

enum { EDGES_SHOWN = 3 };

static bool look_up(void *context, const struct hn_bindings *point, struct hn_edge_time *time)
{
    const struct hn_session *session = context;
    struct hn_record record;
    size_t ticket = hn_session_find(session, point);
    if (ticket == SIZE_MAX)
        return false;
    enum hn_outcome outcome = hn_session_outcome(session, ticket);
    if ((outcome != HN_OUTCOME_OK && outcome != HN_OUTCOME_SLOWER &&
         outcome != HN_OUTCOME_DUPLICATE) ||
        hn_session_record(session, ticket, &record, NULL) != HN_OK)
        return false;
    hn_edge_time_of(&record, time);
    hn_record_finish(&record);
    return true;
}

enum hn_status hn_summary_edges(const struct hn_session *session, const struct hn_backend *backend,
                                struct hn_edges *edges, struct hn_error *err)
{
    (void)err;
    const struct hn_record *best = hn_session_state(session)->best;
    *edges = (struct hn_edges){0};
    if (best == NULL)
        return HN_OK;
    hn_edges_find(backend->task, &backend->device, best, look_up, (void *)session, NULL, edges);
    return HN_OK;
}

void hn_summary_print_edges(const struct hn_edges *edges, FILE *file)
{
    for (size_t i = 0; i < edges->count && i < EDGES_SHOWN; i++) {
        struct hn_text text;
        hn_text_init(&text);
        hn_edge_append(&text, &edges->items[i]);
        if (!text.failed)
            fprintf(file, "  the range ends early: %s\n", text.data);
        hn_text_finish(&text);
    }
}
