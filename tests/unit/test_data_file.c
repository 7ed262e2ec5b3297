/* SPDX-License-Identifier: MIT */
#include "runtime/plan/contents.h"

#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

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

/* An array as NumPy writes it, of that version. */
static void write_npy(const char *header, int version, const void *data, size_t size)
{
    unsigned char bytes[1024] = "\x93NUMPY";
    size_t length = strlen(header);
    size_t at = version == 1 ? 10 : 12;
    bytes[6] = (unsigned char)version;
    bytes[7] = 0;
    bytes[8] = (unsigned char)length;
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + at, header, length);
    memcpy(bytes + at + length, data, size);
    write_bytes(bytes, at + length + size);
}

static void expect(enum hn_element element, uint64_t count, const char *message)
{
    FILE *file;
    char whole[512] = "";
    hn_error_init(&said);
    enum hn_status status = hn_data_file_open(path, element, count, &file, &said);
    if (message != NULL)
        snprintf(whole, sizeof whole, "data file %s: %s", path, message);
    assert_string_equal(said.message, whole);
    assert_int_equal(status, message == NULL ? HN_OK : HN_ECONFIG);
    if (status == HN_OK)
        fclose(file);
}

static const float data[6] = {1, 2, 3, 4, 5, 6};

TEST(plain_bytes_are_elements)
{
    float read[6];
    FILE *file;
    write_bytes(data, sizeof data);
    assert_ok(hn_data_file_open(path, HN_FLOAT32, 6, &file, &said));
    assert_ok(hn_data_file_read(file, read, sizeof read, &said));
    assert_memory_equal(read, data, sizeof data);
    assert_int_equal(hn_data_file_read(file, read, 1, &said), HN_ECONFIG);
    fclose(file);
    expect(HN_FLOAT32, 5, "found 24 bytes of data, expected 20 (5 elements of float32)");
    expect(HN_FLOAT64, 6, "found 24 bytes of data, expected 48 (6 elements of float64)");
    expect(HN_INT16, 12, NULL);
}

TEST(arrays_of_numpy_are_read)
{
    float read[6];
    FILE *file;
    for (int version = 1; version <= 3; version++) {
        write_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      \n", version,
                  data, sizeof data);
        assert_ok(hn_data_file_open(path, HN_FLOAT32, 6, &file, &said));
        assert_ok(hn_data_file_read(file, read, sizeof read, &said));
        assert_memory_equal(read, data, sizeof data);
        fclose(file);
    }
    write_npy("{'descr': '|V2', 'fortran_order': True, 'shape': (12,), }", 1, data, sizeof data);
    expect(HN_BFLOAT16, 12, NULL);
    expect(HN_FLOAT16, 12, "found elements of type '|V2', expected float16, little endian");
    write_npy("{'descr': '<f2', 'fortran_order': True, 'shape': (12,1), }", 1, data, sizeof data);
    expect(HN_FLOAT16, 12, NULL);
    write_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", 1, data, 1);
    expect(HN_UINT8, 1, NULL);
    expect(HN_FLOAT8_E4M3, 1, NULL);
}

TEST(other_arrays_are_refused)
{
    static const struct {
        const char *header, *message;
    } cases[] = {
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }",
         "found elements of type '<f8', expected float32, little endian"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (6,), }",
         "found elements of type '>f4', expected float32, little endian"},
        {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (6,), }",
         "found no plain type in the header, expected float32"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
         "found an array that is stored column by column; save numpy.ascontiguousarray of it"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }",
         "found an array of 7 elements, expected 6"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
         "found no shape in the header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }",
         "found no shape in the header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
         "found no shape in the header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6", "found no shape in the header"},
        {"{'descr': '<f4', 'fortran_order': False, }", "found no shape in the header"},
        {"", "found no plain type in the header, expected float32"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_npy(cases[i].header, 1, data, sizeof data);
        expect(HN_FLOAT32, 6, cases[i].message);
    }
    write_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", 1, data, 20);
    expect(HN_FLOAT32, 6, "found 20 bytes of data, expected 24 (6 elements of float32)");
    write_bytes("\x93NUMPY\x01\x00\xff", 9);
    expect(HN_FLOAT32, 6, "the header is cut off");
    write_bytes("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
    expect(HN_FLOAT32, 6, "the header is longer than 64 KiB");
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
    for (; child == 0;)
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
