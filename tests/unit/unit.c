/* SPDX-License-Identifier: MIT */
/* The tests of a room in one program: `test_<room> MODULE [PATTERN]` runs those of test_MODULE.c
 * whose names the pattern fits. */
#include "tests/unit/unit.h"

#include <assert.h>

enum { MOST_FILES = 128, MOST_TESTS = 64, SKIPPED = 77 };

static struct file {
    char module[64];
    struct CMUnitTest tests[MOST_TESTS];
    size_t count;
    CMFixtureFunction each[2], all[2];
    int (*is_found)(void);
    int (*process)(void);
} files[MOST_FILES];
static size_t file_count;

/* The one of that name, made where there is none. */
static struct file *find(const char *module, size_t length)
{
    for (size_t i = 0; i < file_count; i++) {
        if (strlen(files[i].module) == length && memcmp(files[i].module, module, length) == 0)
            return &files[i];
    }
    assert(file_count < MOST_FILES && length < sizeof files[0].module);
    memcpy(files[file_count].module, module, length);
    return &files[file_count++];
}

/* <folder>/test_<module>.c */
static struct file *find_file(const char *path)
{
    const char *name = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
    if (strncmp(name, "test_", 5) == 0)
        name += 5;
    return find(name, strcspn(name, "."));
}

void unit_add(const char *path, const struct CMUnitTest *test)
{
    struct file *file = find_file(path);
    assert(file->count < MOST_TESTS);
    file->tests[file->count++] = *test;
}

void unit_each(const char *path, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    struct file *file = find_file(path);
    file->each[0] = set_up;
    file->each[1] = tear_down;
}

void unit_all(const char *path, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    struct file *file = find_file(path);
    file->all[0] = set_up;
    file->all[1] = tear_down;
}

void unit_only_where(const char *path, int (*is_found)(void))
{
    find_file(path)->is_found = is_found;
}

void unit_process(const char *name, int (*run)(void))
{
    find(name, strlen(name))->process = run;
}

static int run(struct file *file)
{
    if (file->process != NULL)
        return file->process();
    if (file->is_found != NULL && !file->is_found())
        return SKIPPED;
    for (size_t i = 0; i < file->count; i++) {
        struct CMUnitTest *test = &file->tests[i];
        if (test->setup_func == NULL && test->teardown_func == NULL) {
            test->setup_func = file->each[0];
            test->teardown_func = file->each[1];
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    return _cmocka_run_group_tests(file->module, file->tests, file->count, file->all[0],
                                   file->all[1]);
}

int main(int argc, char **argv)
{
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    for (size_t i = 0; argc > 1 && i < file_count; i++) {
        if (strcmp(argv[1], files[i].module) == 0)
            return run(&files[i]);
    }
    fprintf(stderr, "%s: found %s, expected one of:\n", argv[0], argc > 1 ? argv[1] : "no name");
    for (size_t i = 0; i < file_count; i++)
        fprintf(stderr, "  %s\n", files[i].module);
    return 2;
}
