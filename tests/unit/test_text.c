/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/text.h"

#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"

TEST(appends_and_takes)
{
    struct hn_text text = {0};
    hn_text_append(&text, "grid ");
    for (int i = 0; i < 100; i++)
        hn_text_printf(&text, "%d,", i);
    hn_text_append_bytes(&text, "a\0b", 3);
    assert_int_equal(text.length, 5 + 290 + 3);
    char *taken = keep(hn_text_take(&text), free);
    assert_memory_equal(taken, "grid 0,1,2,", 11);
    assert_memory_equal(taken + 295, "a\0b", 4);
    assert_null(text.data);
}

TEST(take_of_nothing_is_the_empty_string)
{
    struct hn_text text = {0};
    char *taken = keep(hn_text_take(&text), free);
    assert_string_equal(taken, "");
}

TEST(failed_append_stays_failed)
{
    struct hn_text text = {0};
    hn_text_append(&text, "a");
    hn_text_append_bytes(&text, "", SIZE_MAX / 2);
    assert_true(text.failed);
    hn_text_append(&text, "b");
    assert_int_equal(text.length, 1);
    assert_null(hn_text_take(&text));
    assert_false(text.failed);
}

static char folder[] = "/tmp/hone-test-text-XXXXXX";

static int make_folder(void **state)
{
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    return rmdir(folder);
}

ALL_TESTS(make_folder, remove_folder)

TEST(writes_and_reads_a_file)
{
    char path[128];
    snprintf(path, sizeof path, "%s/file", folder);
    assert_ok(hn_file_write(path, "first", 5, &said));
    assert_ok(hn_file_write(path, "sec\0nd", 6, &said));
    char *data;
    size_t size;
    assert_ok(hn_file_read(path, 6, &data, &size, &said));
    assert_int_equal(size, 6);
    assert_memory_equal(data, "sec\0nd", 7);
    free(data);

    assert_ok(hn_file_write(path, "\xEF\xBB\xBFmark", 7, &said)); /* as editors of Windows do */
    assert_ok(hn_file_read(path, 7, &data, &size, &said));
    assert_int_equal(size, 4);
    assert_string_equal(data, "mark");
    free(data);

    assert_ok(hn_file_write(path, "second", 6, &said));
    assert_int_equal(hn_file_read(path, 5, &data, NULL, &said), HN_ERUN);
    assert_null(data);
    char expected[256];
    snprintf(expected, sizeof expected, "'%s' is larger than 5 bytes, the most that is read", path);
    assert_string_equal(said.message, expected);
    assert_ok(hn_file_write(path, "a\0b", 3, &said));
    snprintf(expected, sizeof expected, "'%s' has a zero byte, expected text", path);
    assert_error(hn_file_read(path, 5, &data, NULL, &said), HN_ERUN, expected);
    char link[160];
    snprintf(link, sizeof link, "%s.link", path);
    assert_int_equal(symlink("file", link), 0);
    assert_ok(hn_file_write(link, "through it", 10, &said));
    assert_ok(hn_file_read(path, 10, &data, NULL, &said));
    assert_string_equal(data, "through it");
    free(data);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(path), 0); /* remove_folder fails if a temporary file was left */
}

TEST(file_errors_name_path_and_reason)
{
    char *data;
    assert_error(hn_file_read("/nowhere/x", 10, &data, NULL, &said), HN_ERUN,
                 "cannot open '/nowhere/x': No such file or directory");
    assert_error(hn_file_read("/tmp", 10, &data, NULL, &said), HN_ERUN,
                 "cannot open '/tmp': Is a directory");
    assert_error(hn_file_write("/nowhere/x", "", 0, &said), HN_ERUN,
                 "cannot write '/nowhere/x': No such file or directory");
}

TEST(devices_are_written_not_replaced)
{
    assert_ok(hn_file_write("/dev/null", "x", 1, &said));
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    if (access("/dev/full", W_OK) == 0) {
        assert_error(hn_file_write("/dev/full", "x", 1, &said), HN_ERUN,
                     "cannot write '/dev/full': No space left on device");
    }
}

TEST(finds_the_nearest_word)
{
    static const char *const words[] = {"TILE_WIDTH", "PAD", "UNROLL", "M"};
    static const struct {
        const char *word, *nearest;
    } cases[] = {
        {"TILE_WITDH", "TILE_WIDTH"},
        {"tile_width", "TILE_WIDTH"},
        {"PADD", "PAD"},
        {"PAT", "PAD"},
        {"APD", "PAD"},
        {"NUROLL", "UNROLL"},
        {"UNROL", "UNROLL"},
        {"m", "M"},
        {"N", NULL},
        {"BLOCK", NULL},
        {"TILE", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *nearest = hn_text_nearest(cases[i].word, words, 4);
        if (cases[i].nearest == NULL)
            assert_null(nearest);
        else
            assert_string_equal(nearest, cases[i].nearest);
    }
    char longer[500];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_null(hn_text_nearest(longer, words, 4));
}

TEST(knows_words)
{
    static const char *const good[] = {"a", "_", "Tile_4x8"};
    static const char *const bad[] = {"", "4x", "a-b", "a b", "\xc3\xa9"};
    for (size_t i = 0; i < 3; i++)
        assert_true(hn_text_is_word(good[i]));
    for (size_t i = 0; i < 5; i++)
        assert_false(hn_text_is_word(bad[i]));
}

TEST(finds_what_is_not_utf8)
{
    static const char *const good[] = {"", "a b\n", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    static const char *const bad[] = {"\xe9",
                                      "\xc3",
                                      "\xc3(",
                                      "\x80",
                                      "\xc0\xaf",
                                      "\xe0\x80\xaf",
                                      "\xed\xa0\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf8\x88\x80\x80\x80"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_null(hn_text_find_not_utf8(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_ptr_equal(hn_text_find_not_utf8(bad[i]), bad[i]);
    static const char later[] = "caf\xe9";
    assert_ptr_equal(hn_text_find_not_utf8(later), later + 3);
}

TEST(words_of_a_shell)
{
    static const char *const words[][2] = {
        {"configs/scale.yaml", "configs/scale.yaml"},
        {"BLOCK=64,128", "BLOCK=64,128"},
        {"", "''"},
        {"a b", "'a b'"},
        {"it's", "'it'\\''s'"},
        {"$(rm)", "'$(rm)'"},
        {"\xc3\xa9", "'\xc3\xa9'"},
        {"~", "'~'"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct hn_text text ENDED_BY(hn_text_finish) = {0};
        hn_text_append_word(&text, words[i][0]);
        assert_string_equal(text.data, words[i][1]);
    }
}

/* A service has no $HOME, and no other cache in each folder that it is started in. */
TEST(the_caches_folder_is_at_home)
{
    static const char *const homes[] = {"/h", "", NULL};
    const char *home = getenv("HOME"), *xdg = getenv("XDG_CACHE_HOME");
    char *old_home = home != NULL ? keep(strdup(home), free) : NULL;
    char *old_xdg = xdg != NULL ? keep(strdup(xdg), free) : NULL;
    const struct passwd *user = getpwuid(getuid());
    unsetenv("XDG_CACHE_HOME");
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        struct hn_text path ENDED_BY(hn_text_finish) = {0}, expected ENDED_BY(hn_text_finish) = {0};
        unsetenv("HOME");
        if (homes[i] != NULL)
            setenv("HOME", homes[i], 1);
        hn_cache_folder_append(&path);
        hn_text_printf(&expected, "%s/.cache/hone",
                       i == 0         ? "/h"
                       : user == NULL ? "."
                                      : user->pw_dir);
        assert_string_equal(path.data, expected.data);
    }
    if (old_home != NULL)
        setenv("HOME", old_home, 1);
    if (old_xdg != NULL)
        setenv("XDG_CACHE_HOME", old_xdg, 1);
}
