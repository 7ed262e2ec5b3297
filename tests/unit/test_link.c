/* SPDX-License-Identifier: MIT */
#include "tuner/hosts/hosts_part.h"

#include <sys/socket.h>

#include "tests/unit/unit.h"

/* Two ends of a connection. */
struct pair {
    struct hn_link ends[2];
};

static void finish(struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        hn_link_finish(&pair->ends[i]);
    free(pair);
}

static struct pair *make_pair(void)
{
    int fds[2];
    struct pair *pair = calloc(1, sizeof *pair);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    for (int i = 0; i < 2; i++)
        hn_link_init(&pair->ends[i], fds[i], fds[i]);
    return keep(pair, finish);
}

/* Puts it at one end and holds what comes out at the other against it. Returns how much went over.
 */
static size_t carry(struct pair *pair, int from, uint32_t worker, const char *data, size_t size)
{
    struct hn_link *link = &pair->ends[from];
    struct hn_link *other = &pair->ends[1 - from];
    struct hn_link_frame frame;
    char *came FREED = malloc(size + 1);
    size_t taken = 0;
    hn_link_put(link, HN_LINK_DATA, worker, data, size);
    size_t carried = hn_bytes_size(&link->output);
    while (taken < size) {
        assert_true(hn_bytes_write(&link->output, link->out));
        assert_true(hn_link_read(other));
        enum hn_link_next next;
        while ((next = hn_link_next(other, &frame)) == HN_LINK_FRAME) {
            assert_int_equal(frame.kind, HN_LINK_DATA);
            assert_int_equal(frame.worker, worker);
            assert_true(taken + frame.size <= size);
            memcpy(came + taken, frame.data, frame.size);
            taken += frame.size;
        }
        assert_int_equal(next, HN_LINK_NOTHING);
    }
    assert_memory_equal(came, data, size);
    return carried;
}

/* Bytes without a pattern. */
static char *make_data(uint64_t seed, size_t size)
{
    char *data = malloc(size);
    for (size_t i = 0; i < size; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        data[i] = (char)(seed >> 56);
    }
    return keep(data, free);
}

enum { IMAGE = 48000 };

TEST(an_image_travels_once)
{
    char *image = make_data(7, IMAGE);
    char *shifted = keep(malloc(IMAGE + 333), free);
    memset(shifted, '{', 333);
    memcpy(shifted + 333, image, IMAGE);
    struct pair *pair = make_pair();
    assert_true(carry(pair, 0, 1, image, IMAGE) > IMAGE);
    /* For another worker, back, and in another message. */
    assert_true(carry(pair, 0, 2, image, IMAGE) < IMAGE / 10);
    assert_true(carry(pair, 1, 1, image, IMAGE) < IMAGE / 10);
    assert_true(carry(pair, 0, 1, shifted, IMAGE + 333) < IMAGE / 5);
    assert_true(carry(pair, 1, 1, shifted, IMAGE + 333) < IMAGE / 5);
}

TEST(what_is_old_is_forgotten_at_both_ends)
{
    char *image = make_data(7, IMAGE);
    struct pair *pair = make_pair();
    for (int round = 0; round < 2; round++) {
        assert_true(carry(pair, 0, 1, image, IMAGE) > IMAGE);
        for (uint64_t i = 0; i < 3 * (uint64_t)HN_KNOWN_MOST / 60000; i++) {
            char *other = make_data(1000 + i, 60000);
            (void)carry(pair, (int)(i % 2), 1, other, 60000);
        }
        assert_true(pair->ends[0].sent.size <= HN_KNOWN_MOST);
        assert_int_equal(pair->ends[0].sent.size, pair->ends[1].received.size);
        assert_int_equal(pair->ends[1].sent.size, pair->ends[0].received.size);
    }
}

/* As it came from the other end: small messages, runs of one byte, sizes around the limits. */
TEST(all_comes_out_as_it_went_in)
{
    char *zeros = keep(calloc(1, 3 * HN_PIECE_MOST), free);
    char *data = make_data(9, 3 * HN_LINK_CHUNK);
    struct pair *pair = make_pair();
    for (size_t size = 1; size < 3 * HN_PIECE_MOST; size = size * 3 / 2 + 1) {
        (void)carry(pair, 0, 3, zeros, size);
        (void)carry(pair, 1, 4, data + size, size);
        (void)carry(pair, 0, 3, data, size);
    }
    assert_true(carry(pair, 0, 3, zeros, 3 * HN_PIECE_MOST) < 3 * HN_PIECE_MOST / 8);
}

static void expect_broken(enum hn_link_kind kind, const char *data, size_t size)
{
    struct pair *pair = make_pair();
    struct hn_link_frame frame;
    hn_link_put(&pair->ends[0], kind, 1, data, size);
    assert_true(hn_bytes_write(&pair->ends[0].output, pair->ends[0].out));
    assert_true(hn_link_read(&pair->ends[1]));
    assert_int_equal(hn_link_next(&pair->ends[1], &frame), HN_LINK_BROKEN);
}

TEST(what_nobody_sent_can_not_be_named)
{
    char names[65 * 32];
    memset(names, 'a', sizeof names);
    const size_t sizes[] = {32, 0, 31, sizeof names};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        expect_broken(HN_LINK_NAMED, names, sizes[i]);
    expect_broken(HN_LINK_PIECE, names, HN_PIECE_LEAST - 1);
}
