/* SPDX-License-Identifier: MIT */
#include "runtime/process/worker.h"

void hn_worker_fail(struct hn_channel *channel, enum hn_status status, const struct hn_error *err)
{
    struct hn_message message;
    hn_message_init(&message, "failed");
    json_object_set_new(message.json, "status", json_integer(status));
    json_object_set_new(message.json, "message", json_string(err->message));
    hn_channel_send(channel, &message, NULL);
    hn_message_finish(&message);
}
