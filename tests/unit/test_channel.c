/* SPDX-License-Identifier: MIT */
#include "runtime/process/message.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

/* Two ends: ours is a channel, the other one a descriptor to write any bytes to. */
struct pair {
    struct hn_channel channel;
    int other;
};

static void hang_up(struct pair *pair)
{
    if (pair->other >= 0)
        close(pair->other);
    pair->other = -1;
}

static void finish_pair(struct pair *pair)
{
    hn_channel_finish(&pair->channel);
    assert_int_equal(pair->channel.fd, -1);
    hang_up(pair);
    free(pair);
}

static struct pair *make_pair(void)
{
    int ends[2];
    struct pair *pair = calloc(1, sizeof *pair);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pair->channel.fd = ends[0];
    pair->other = ends[1];
    return keep(pair, finish_pair);
}

static char *make_frame(const char *type, size_t *size)
{
    struct hn_message message ENDED_BY(hn_message_finish);
    char *frame;
    hn_message_init(&message, type);
    assert_ok(hn_message_add_blob(&message, "blob", 4, NULL, NULL));
    assert_ok(hn_message_encode(&message, &frame, size, NULL));
    return keep(frame, free);
}

static void put(const struct pair *pair, const char *bytes, size_t size)
{
    assert_int_equal(write(pair->other, bytes, size), size);
}

static void expect_message(struct pair *pair, const char *type)
{
    struct hn_message message ENDED_BY(hn_message_finish);
    if (hn_channel_receive(&pair->channel, false, &message, &said) != HN_RECEIVED_MESSAGE)
        fail_msg("no message '%s': %s", type, said.message);
    assert_string_equal(hn_message_type(&message), type);
    assert_int_equal(message.blob_count, 1);
}

static void expect_closed(struct pair *pair, const char *reason)
{
    struct hn_message message;
    assert_int_equal(hn_channel_receive(&pair->channel, false, &message, &said),
                     HN_RECEIVED_CLOSED);
    if (strstr(said.message, reason) == NULL)
        fail_msg("'%s' does not say '%s'", said.message, reason);
}

static void expect_nothing(struct pair *pair)
{
    struct hn_message message;
    assert_int_equal(hn_channel_receive(&pair->channel, false, &message, &said),
                     HN_RECEIVED_NOTHING);
}

TEST(a_frame_comes_byte_by_byte)
{
    size_t size;
    char *frame = make_frame("ready", &size);
    struct pair *pair = make_pair();
    expect_nothing(pair);
    for (size_t i = 0; i < size; i++) {
        expect_nothing(pair);
        put(pair, frame + i, 1);
    }
    expect_message(pair, "ready");
    expect_nothing(pair);
}

TEST(frames_that_come_together_are_told_apart)
{
    size_t first_size;
    size_t second_size;
    char *first = make_frame("begun", &first_size);
    char *second = make_frame("done", &second_size);
    struct pair *pair = make_pair();
    put(pair, first, first_size);
    put(pair, second, second_size);
    put(pair, first, 7);
    expect_message(pair, "begun");
    expect_message(pair, "done");
    expect_nothing(pair);
    put(pair, first + 7, first_size - 7);
    expect_message(pair, "begun");
}

TEST(what_was_sent_before_the_end_still_comes)
{
    size_t size;
    char *frame = make_frame("done", &size);
    struct pair *pair = make_pair();
    put(pair, frame, size);
    put(pair, frame, size - 1);
    hang_up(pair);
    expect_message(pair, "done");
    expect_closed(pair, "a worker ended");
    expect_closed(pair, "a worker ended");
}

TEST(garbage_closes_the_channel)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *reason;
    } cases[] = {
        {"\0\0\0\0", 4, "truncated message of 0 bytes"},
        {"\3\0\0\0abc", 7, "truncated message of 3 bytes"},
        {"\6\0\0\0\2\0\0\0[]", 10, "not a JSON object"},
        {"\10\0\0\0\4\0\0\0oops", 12, "message is not JSON"},
        {"Segmentation fault", 18, "a worker announced a message of 1835492691 bytes"},
        {"\1\0\0\4", 4, "a worker announced a message of 67108865 bytes"},
        {"\xff\xff\xff\xff", 4, "a worker announced a message of 4294967295 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pair *pair = make_pair();
        put(pair, cases[i].bytes, cases[i].size);
        expect_closed(pair, cases[i].reason);
    }
}

/* The largest message that is allowed, both ways: neither end holds it in its socket's buffer. */
TEST(a_large_message_goes_through)
{
    struct hn_message message ENDED_BY(hn_message_finish);
    struct hn_message echo ENDED_BY(hn_message_finish);
    size_t size = HN_MESSAGE_LIMIT - 64;
    char *data = keep(malloc(size), free);
    for (size_t i = 0; i < size; i++)
        data[i] = (char)(i * 31 >> 3);
    struct pair *pair = make_pair();
    pid_t child = fork();
    if (child == 0) {
        struct hn_channel channel = {.fd = pair->other};
        close(pair->channel.fd);
        bool fine = hn_channel_receive(&channel, true, &message, &said) == HN_RECEIVED_MESSAGE &&
                    hn_channel_send(&channel, &message, NULL) == HN_OK;
        _exit(fine ? 0 : 1);
    }
    hang_up(pair);
    hn_message_init(&message, "a");
    assert_ok(hn_message_add_blob(&message, data, size, NULL, NULL));
    assert_ok(hn_channel_send(&pair->channel, &message, NULL));
    assert_int_equal(hn_channel_receive(&pair->channel, true, &echo, &said), HN_RECEIVED_MESSAGE);
    assert_int_equal(echo.blobs[0].size, size);
    assert_memory_equal(echo.blobs[0].data, data, size);
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
}

TEST(sending_to_a_closed_end_fails)
{
    struct hn_message message ENDED_BY(hn_message_finish);
    struct pair *pair = make_pair();
    hang_up(pair);
    hn_message_init(&message, "a");
    assert_error(hn_channel_send(&pair->channel, &message, &said), HN_ERUN,
                 "a worker does not take messages: Broken pipe");
}
