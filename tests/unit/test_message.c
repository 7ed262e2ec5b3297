/* SPDX-License-Identifier: MIT */
#include "runtime/process/message.h"

#include "tests/unit/unit.h"

static void make_message(struct hn_message *message)
{
    size_t index;
    hn_message_init(message, "evaluate");
    assert_int_equal(json_object_set_new(message->json, "what", json_string("Größe")), 0);
    assert_int_equal(json_object_set_new(message->json, "third", json_real(1.0 / 3)), 0);
    assert_ok(hn_message_add_blob(message, "\0\1\2\xff", 4, &index, NULL));
    assert_int_equal(index, 0);
    assert_ok(hn_message_add_blob(message, NULL, 0, &index, NULL));
    assert_int_equal(index, 1);
}

/* The frame of make_message, to be freed, and its body. */
static char *make_frame(const unsigned char **body, size_t *size)
{
    struct hn_message message ENDED_BY(hn_message_finish);
    char *frame;
    make_message(&message);
    assert_ok(hn_message_encode(&message, &frame, size, NULL));
    *body = (const unsigned char *)frame + 4;
    *size -= 4;
    return keep(frame, free);
}

TEST(messages_survive_the_wire)
{
    const unsigned char *body;
    size_t size;
    struct hn_message was ENDED_BY(hn_message_finish), is ENDED_BY(hn_message_finish);
    char *frame = make_frame(&body, &size);
    const unsigned char *head = (const unsigned char *)frame;
    assert_int_equal(head[0] | head[1] << 8 | head[2] << 16 | head[3] << 24, size);
    assert_ok(hn_message_decode(body, size, &is, &said));
    make_message(&was);
    assert_string_equal(hn_message_type(&is), "evaluate");
    assert_true(json_equal(was.json, is.json));
    assert_int_equal(is.blob_count, 2);
    assert_int_equal(is.blobs[0].size, 4);
    assert_memory_equal(is.blobs[0].data, "\0\1\2\xff", 4);
    assert_int_equal(is.blobs[1].size, 0);
}

/* A body that ends early is refused, but for the ends between two blobs, which are a message too.
 * Each is read from a copy of just that size, so that a sanitizer sees any look beyond. */
TEST(a_body_cut_short_is_refused)
{
    const unsigned char *body;
    size_t size;
    make_frame(&body, &size);
    int whole = 0;
    for (size_t length = 0; length < size; length++) {
        struct hn_message message ENDED_BY(hn_message_finish);
        unsigned char *part FREED = malloc(length > 0 ? length : 1);
        memcpy(part, body, length);
        enum hn_status status = hn_message_decode(part, length, &message, &said);
        whole += status == HN_OK;
        if (status != HN_OK) {
            assert_int_equal(status, HN_EFORMAT);
            assert_non_null(strstr(said.message, "truncated"));
            assert_null(message.json);
            assert_null(message.blobs);
        }
    }
    assert_int_equal(whole, 2);
}

static void expect_refused(const char *text, const char *reason)
{
    struct hn_message message;
    unsigned char body[256] = {(unsigned char)strlen(text)};
    memcpy(body + 4, text, strlen(text));
    assert_mentions(hn_message_decode(body, 4 + strlen(text), &message, &said), HN_EFORMAT, reason);
    assert_null(message.json);
}

TEST(what_is_no_message_is_refused)
{
    expect_refused("", "message is not JSON");
    expect_refused("{\"type\": \"a\"", "message is not JSON");
    expect_refused("{\"type\": \"a\", \"type\": \"b\"}", "message is not JSON");
    expect_refused("{\"type\": \"\xff\"}", "message is not JSON");
    expect_refused("[1, 2]", "message is not a JSON object");
    /* Sizes near 2^32 do not wrap around. */
    static const unsigned char huge[] = {0xff, 0xff, 0xff, 0xff, '{', '}'};
    static const unsigned char blob[] = {2, 0, 0, 0, '{', '}', 0xfc, 0xff, 0xff, 0xff, 1};
    struct hn_message message;
    assert_int_equal(hn_message_decode(huge, sizeof huge, &message, &said), HN_EFORMAT);
    assert_int_equal(hn_message_decode(blob, sizeof blob, &message, &said), HN_EFORMAT);
}

TEST(a_message_without_type_has_an_empty_one)
{
    static const unsigned char body[] = {2, 0, 0, 0, '{', '}'};
    struct hn_message message ENDED_BY(hn_message_finish);
    assert_ok(hn_message_decode(body, sizeof body, &message, &said));
    assert_string_equal(hn_message_type(&message), "");
}

TEST(a_message_beyond_the_limit_is_not_sent)
{
    struct hn_message message ENDED_BY(hn_message_finish);
    char *frame FREED;
    size_t size;
    void *data = keep(calloc(HN_MESSAGE_LIMIT, 1), free);
    hn_message_init(&message, "a"); /* {"type":"a"}: 12 bytes, and two sizes */
    assert_ok(hn_message_add_blob(&message, data, HN_MESSAGE_LIMIT - 19, NULL, NULL));
    assert_error(hn_message_encode(&message, &frame, &size, &said), HN_EFORMAT,
                 "a message of 67108865 bytes is beyond the limit of 67108864");
    message.blobs[0].size--;
    assert_ok(hn_message_encode(&message, &frame, &size, &said));
    assert_int_equal(size, 4 + HN_MESSAGE_LIMIT);
}

TEST(a_copy_has_its_own_blobs)
{
    struct hn_message message, copy ENDED_BY(hn_message_finish);
    make_message(&message);
    assert_ok(hn_message_copy(&copy, &message, NULL));
    assert_ptr_equal(copy.json, message.json);
    assert_ptr_not_equal(copy.blobs[0].data, message.blobs[0].data);
    hn_message_finish(&message);
    assert_string_equal(hn_message_type(&copy), "evaluate");
    assert_memory_equal(copy.blobs[0].data, "\0\1\2\xff", 4);
}

static void make_image(struct hn_image *image)
{
    *image = HN_NO_IMAGE;
    image->outcome = HN_OUTCOME_OK;
    image->log = strdup("ptxas info : Used 32 registers");
    image->cubin = malloc(3);
    image->entries = calloc(2, sizeof *image->entries);
    assert_non_null(image->cubin);
    assert_non_null(image->entries);
    memcpy(image->cubin, "\x7f\0E", 3);
    image->size = 3;
    image->entries[0] = strdup("_Z6matmulPf");
    image->entries[1] = strdup("reduce");
    image->entry_count = 2;
    strcpy(image->code_hash, "0123456789abcdef0123456789abcdef");
    image->resources = (struct hn_resources){.known = true,
                                             .registers = 32,
                                             .shared_bytes = 49152,
                                             .local_bytes = 1,
                                             .stack_bytes = 2,
                                             .spill_store_bytes = 3,
                                             .spill_load_bytes = 4,
                                             .occupancy = 0.75};
    image->compile_ms = 145.25;
}

TEST(images_survive_the_wire)
{
    struct hn_image was ENDED_BY(hn_image_finish), is ENDED_BY(hn_image_finish);
    struct hn_message message ENDED_BY(hn_message_finish), received ENDED_BY(hn_message_finish);
    char *frame FREED;
    size_t size;
    make_image(&was);
    hn_message_init(&message, "compiled");
    assert_ok(hn_message_add_blob(&message, "first", 5, NULL, NULL));
    assert_ok(hn_message_add_image(&message, message.json, &was, NULL));
    assert_ok(hn_message_encode(&message, &frame, &size, NULL));
    assert_ok(hn_message_decode(frame + 4, size - 4, &received, &said));
    assert_ok(hn_message_get_image(&received, json_object_get(received.json, "image"), &is, &said));
    assert_int_equal(is.outcome, HN_OUTCOME_OK);
    assert_null(is.message);
    assert_string_equal(is.log, was.log);
    assert_int_equal(is.size, 3);
    assert_memory_equal(is.cubin, was.cubin, 3);
    assert_int_equal(is.entry_count, 2);
    assert_string_equal(is.entries[0], "_Z6matmulPf");
    assert_string_equal(is.entries[1], "reduce");
    assert_string_equal(is.code_hash, was.code_hash);
    assert_int_equal(is.resources.registers, 32);
    assert_int_equal(is.resources.shared_bytes, 49152);
    assert_int_equal(is.resources.spill_load_bytes, 4);
    assert_true(is.resources.known && is.resources.occupancy == 0.75 && is.compile_ms == 145.25);
}

TEST(a_failed_compilation_has_no_cubin)
{
    struct hn_image was ENDED_BY(hn_image_finish) = HN_NO_IMAGE, is ENDED_BY(hn_image_finish);
    struct hn_message message ENDED_BY(hn_message_finish);
    was.message = strdup("matmul.cu(3): error: expected a \";\"");
    hn_message_init(&message, "compiled");
    assert_ok(hn_message_add_image(&message, message.json, &was, NULL));
    assert_int_equal(message.blob_count, 0);
    assert_ok(hn_message_get_image(&message, json_object_get(message.json, "image"), &is, &said));
    assert_int_equal(is.outcome, HN_OUTCOME_COMPILE_ERROR);
    assert_string_equal(is.message, was.message);
    assert_null(is.cubin);
}

/* A message with a good image, which the test damages; the image's document. */
static json_t *send_image(struct hn_message *message)
{
    struct hn_image image ENDED_BY(hn_image_finish);
    make_image(&image);
    hn_message_init(message, "compiled");
    assert_ok(hn_message_add_image(message, message->json, &image, NULL));
    return json_object_get(message->json, "image");
}

/* Each member of a good image is left out, or something else. */
TEST(a_damaged_image_is_refused)
{
    static const struct {
        const char *member, *json, *reason;
    } cases[] = {
        {"entries", "[\"a\\u001b[2J\"]", "entry has a control character"},
        {"entries", "[]", "is ok, and has no code"},
        {"cubin", NULL, "is ok, and has no code"},
        {"outcome", "\"slower\"", "is slower, which compiling does not give"},
        {"code_hash", "\"../../etc\"", "'code_hash' is not a hash"},
        {"compile_ms", "-1", "'compile_ms' is not a number from 0 on"},
        {"resources", "{\"registers\": -1}", "'registers' is not an integer of 0 to"},
        {"resources", "{\"occupancy\": 1.5}", "'occupancy' is 1.5"},
        {"max_threads", "-1", "'max_threads' is not an integer of 0 to"},
        {"cubin", "-1", "image: 'cubin' is not one that is attached"},
        {"cubin", "1", "image: 'cubin' is not one that is attached"},
        {"outcome", NULL, ""},
        {"outcome", "[7]", ""},
        {"entries", NULL, ""},
        {"entries", "[7]", ""},
        {"code_hash", NULL, ""},
        {"code_hash", "[7]", ""},
        {"compile_ms", NULL, ""},
        {"compile_ms", "[7]", ""},
        {"message", "[7]", ""},
        {"log", "[7]", ""},
        {"resources", "[7]", ""},
        {"cubin", "[7]", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hn_message message ENDED_BY(hn_message_finish);
        struct hn_image read;
        json_t *json = send_image(&message);
        if (cases[i].json == NULL)
            json_object_del(json, cases[i].member);
        else
            json_object_set_new(json, cases[i].member,
                                json_loads(cases[i].json, JSON_DECODE_ANY, NULL));
        assert_mentions(hn_message_get_image(&message, json, &read, &said), HN_EFORMAT,
                        cases[i].reason);
        assert_null(read.cubin);
        assert_null(read.entries);
    }
}

TEST(what_a_worker_says_passes_the_gate)
{
    struct hn_message message ENDED_BY(hn_message_finish);
    double amount = 7;
    hn_message_init(&message, "done");
    json_object_set_new(message.json, "noise", json_real(-0.5));
    json_object_set_new(message.json, "rate", json_real(2.5));
    json_object_set_new(message.json, "device",
                        json_pack("{s:[s]}", "names", "a\x1b[2Jb\nc\xc2\x9b"));
    assert_ok(hn_message_gate(&message, &said));
    const json_t *names = json_object_get(json_object_get(message.json, "device"), "names");
    assert_string_equal(json_string_value(json_array_get(names, 0)), "a\\x1b[2Jb\nc\\xc2\\x9b");
    assert_error(hn_message_amount(&message, "noise", &amount, &said), HN_EFORMAT,
                 "'noise' is -0.5, expected a number that is not negative");
    assert_int_equal(hn_message_amount(&message, "device", &amount, &said), HN_EFORMAT);
    assert_true(amount == 7);
    assert_ok(hn_message_amount(&message, "rate", &amount, &said));
    assert_true(amount == 2.5);
    json_object_set_new(message.json, "type", json_string("no word"));
    assert_int_equal(hn_message_gate(&message, &said), HN_EFORMAT);
    json_object_del(message.json, "type");
    assert_int_equal(hn_message_gate(&message, &said), HN_EFORMAT);
}

TEST(what_would_fill_the_memory_is_not_parsed)
{
    enum { SIZE = 9000000 };
    struct hn_message message;
    unsigned char *body FREED = malloc(4 + SIZE);
    memset(body + 4, '[', SIZE);
    for (int i = 0; i < 4; i++)
        body[i] = (unsigned char)(SIZE >> (8 * i));
    assert_mentions(hn_message_decode(body, 4 + SIZE, &message, &said), HN_EFORMAT,
                    "more than 8000000 values");
}
