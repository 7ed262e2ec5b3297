/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cache/record/record.h"
#include "fuzz.h"
#include "runtime/device/device.h"
#include "runtime/process/message.h"

/* What a worker sends: the input is a stream of frames on a channel; and once more the body of one
 * frame, so that the sizes need not fit first. */

static void use_image(const struct hn_message *message, const json_t *json)
{
    struct hn_image image;
    struct hn_error err = {0};
    if (!fuzz_fine(hn_message_get_image(message, json, &image, &err), &err))
        return;
    struct hn_message sent ENDED_BY(hn_message_finish);
    struct hn_image again ENDED_BY(hn_image_finish);
    hn_message_init(&sent, "image");
    fuzz_require(hn_message_add_image(&sent, sent.json, &image, &err) == HN_OK, err.message);
    fuzz_require(hn_message_get_image(&sent, json_object_get(sent.json, "image"), &again, &err) ==
                     HN_OK,
                 err.message);
    fuzz_require(again.size == image.size && again.entry_count == image.entry_count,
                 "an image that was sent is the image");
    hn_image_finish(&image);
}

static void use_record(const json_t *json)
{
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    struct hn_error ignored;
    (void)hn_record_from_json(json, NULL, &record, &ignored);
}

static void send_again(const struct hn_message *message)
{
    char *frame FREED = NULL;
    size_t size = 0;
    struct hn_message again ENDED_BY(hn_message_finish);
    struct hn_error err = {0};
    fuzz_require(hn_message_encode(message, &frame, &size, &err) == HN_OK, err.message);
    fuzz_require(hn_message_decode(frame + 4, size - 4, &again, &err) == HN_OK, err.message);
    fuzz_require(again.blob_count == message->blob_count, "no attachment is lost");
    fuzz_require(json_equal(again.json, message->json), "a message that was sent is the message");
}

static void use_message(struct hn_message *message)
{
    struct hn_error err = {0};
    struct hn_device device;
    (void)hn_message_type(message);
    use_image(message, message->json);
    use_image(message, json_object_get(message->json, "image"));
    use_record(json_object_get(message->json, "record"));
    hn_fields_read("device", &hn_device_structure, json_object_get(message->json, "device"),
                   &device, &err);
    send_again(message);
    (void)hn_message_gate(message, NULL);
    hn_message_finish(message);
}

static void receive_all(const uint8_t *data, size_t size)
{
    int ends[2];
    struct hn_channel channel ENDED_BY(hn_channel_finish) = {.fd = -1};
    struct hn_message message;
    struct hn_error err = {0};
    fuzz_require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "there is a socket pair");
    /* What does not fit into the socket is cut off. */
    (void)!send(ends[1], data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(ends[1]);
    channel.fd = ends[0];
    while (hn_channel_receive(&channel, true, &message, &err) == HN_RECEIVED_MESSAGE)
        use_message(&message);
    fuzz_require(err.message[0] != '\0', "a lost worker has a message");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hn_message message;
    struct hn_error err = {0};
    receive_all(data, size);
    if (fuzz_fine(hn_message_decode(data, size, &message, &err), &err))
        use_message(&message);
    return 0;
}
