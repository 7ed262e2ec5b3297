/* SPDX-License-Identifier: MIT */
#include "runtime/plan/contents.h"

#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

/* What is read of one is told in tests/cli/test_inputs.py. */
static char path[] = "/tmp/hone-data-XXXXXX";

static int set_up(void **state)
{
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    return 0;
}

static int tear_down(void **state)
{
    return unlink(path);
}

ALL_TESTS(set_up, tear_down)

static void write_bytes(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

TEST(what_is_no_file_is_refused)
{
    FILE *file;
    struct hn_hash hash;
    assert_error(hn_data_file_open("/nowhere/x.npy", HN_INT8, 1, &file, &said), HN_ECONFIG,
                 "data file /nowhere/x.npy: No such file or directory");
    assert_error(hn_data_file_open("/dev/zero", HN_INT8, 1, &file, &said), HN_ECONFIG,
                 "data file /dev/zero: it is a device, expected a plain file");
    assert_int_equal(hn_data_file_hash("/dev/zero", &hash, &said), HN_ECONFIG);
    assert_int_equal(hn_data_file_hash("/nowhere/x.npy", &hash, &said), HN_ECONFIG);
}

TEST(a_hash_tells_contents)
{
    struct hn_hash a, b;
    write_bytes("abc", 3);
    assert_ok(hn_data_file_hash(path, &a, NULL));
    assert_string_equal(a.hex, hn_hash_string("abc").hex);
    write_bytes("", 0);
    assert_ok(hn_data_file_hash(path, &b, NULL));
    assert_string_equal(b.hex, hn_hash_string("").hex);
}

/* A child cuts the file off and lets it grow again while it is read, for as many rounds as show
 * both to whoever reads without care. */
TEST(a_file_that_shrinks_is_an_error)
{
    enum { BYTES = 16 << 20, ROUNDS = 300 };
    char message[512];
    struct hn_hash hash;
    struct hn_error err = {.message = ""};
    write_bytes("", 0);
    pid_t child = fork();
    while (child == 0)
        if (truncate(path, BYTES) != 0 || truncate(path, 4096) != 0)
            _exit(1);
    snprintf(message, sizeof message, "data file %s: it became ", path);
    for (int i = 0; i < ROUNDS; i++)
        if (hn_data_file_hash(path, &hash, &err) != HN_OK)
            assert_memory_equal(err.message, message, strlen(message));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    /* Of files of the kernel's the size says more than can be read. */
    assert_int_equal(hn_data_file_hash("/sys/kernel/uevent_seqnum", &hash, &err), HN_ECONFIG);
    assert_string_equal(err.message, "data file /sys/kernel/uevent_seqnum: it became shorter while "
                                     "it was read");
}
