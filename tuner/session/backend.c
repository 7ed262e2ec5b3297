/* SPDX-License-Identifier: MIT */
#include "tuner/session/backend.h"

#include <stdlib.h>

void hn_backend_destroy(struct hn_backend *backend)
{
    if (backend != NULL)
        backend->kind->destroy(backend);
}

void hn_backend_event_finish(struct hn_backend_event *event)
{
    if (event->kind == HN_EVENT_COMPILED)
        hn_image_finish(&event->image);
    if (event->kind == HN_EVENT_EVALUATED)
        hn_record_finish(&event->record);
    event->kind = HN_EVENT_NONE;
}

void hn_race_result_finish(struct hn_race_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        hn_record_finish(&result->records[i]);
    free(result->records);
    free(result->samples);
    *result = (struct hn_race_result){0};
}
