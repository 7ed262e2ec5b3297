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

/* Puts it at one end and holds what comes out at the other against it. */
static void carry(struct pair *pair, int from, uint32_t worker, const char *data, size_t size)
{
    struct hn_link *link = &pair->ends[from];
    struct hn_link *other = &pair->ends[1 - from];
    struct hn_link_frame frame;
    char *came FREED = malloc(size + 1);
    size_t taken = 0;
    hn_link_put(link, HN_LINK_DATA, worker, data, size);
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

/* Small messages, and sizes around the limits. */
TEST(all_comes_out_as_it_went_in)
{
    char *data = make_data(9, 3 * HN_LINK_CHUNK);
    struct pair *pair = make_pair();
    for (size_t size = 1; size < 2 * HN_LINK_CHUNK; size = size * 3 / 2 + 1) {
        carry(pair, 0, 3, data, size);
        carry(pair, 1, 4, data + size / 2, size);
    }
    carry(pair, 0, 3, data, HN_LINK_CHUNK);
    carry(pair, 0, 3, data, HN_LINK_CHUNK + 1);
}

TEST(a_frame_of_no_kind_is_broken)
{
    struct pair *pair = make_pair();
    struct hn_link_frame frame;
    hn_link_put(&pair->ends[0], HN_LINK_KINDS, 1, "", 0);
    assert_true(hn_bytes_write(&pair->ends[0].output, pair->ends[0].out));
    assert_true(hn_link_read(&pair->ends[1]));
    assert_int_equal(hn_link_next(&pair->ends[1], &frame), HN_LINK_BROKEN);
}
