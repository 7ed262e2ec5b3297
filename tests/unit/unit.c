/* SPDX-License-Identifier: MIT */
/* The tests of a room in one program: `test_<room> MODULE [PATTERN]` runs those of test_MODULE.c
 * whose names the pattern fits; without MODULE in programs built with UNIT_TOGETHER, whose files
 * are one module. */
#include "tests/unit/unit.h"

#undef NDEBUG
#include <assert.h>
#include <fnmatch.h>

enum { MOST_FILES = 128, MOST_TESTS = 96, SKIPPED = 77 };

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
#ifdef UNIT_TOGETHER
    path = UNIT_TOGETHER;
#endif
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

struct hn_error said;

void assert_ok(enum hn_status status)
{
    if (status != HN_OK)
        fail_msg("status %d: %s", (int)status, said.message);
}

void assert_error(enum hn_status status, enum hn_status expected, const char *message)
{
    assert_int_equal(status, expected);
    assert_string_equal(said.message, message);
}

void assert_mentions(enum hn_status status, enum hn_status expected, const char *part)
{
    assert_int_equal(status, expected);
    if (strstr(said.message, part) == NULL)
        fail_msg("found \"%s\", expected \"%s\" in it", said.message, part);
}

enum { MOST_KEPT = 4096 };
static struct kept {
    void *object;
    void (*release)(void *);
    bool is_new; /* its memory is freed too */
} kept[MOST_KEPT];
static size_t kept_count, kept_by_all;

void *unit_keep(void *object, void (*release)(void *))
{
    assert(kept_count < MOST_KEPT);
    if (object != NULL)
        kept[kept_count++] = (struct kept){object, release, false};
    return object;
}

void *unit_keep_new(size_t size, void (*release)(void *))
{
    void *object = calloc(1, size);
    assert(object != NULL);
    unit_keep(object, release);
    kept[kept_count - 1].is_new = true;
    return object;
}

static void remove_folder(char *folder)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    free(folder);
}

const char *own_folder(void)
{
    char *folder = strdup("/tmp/hone-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return keep(folder, remove_folder);
}

char *replaced(const char *text, const char *part, const char *with)
{
    const char *place = strstr(text, part);
    char *made = keep(malloc(strlen(text) + strlen(with) + 1), free);
    if (place == NULL)
        fail_msg("'%s' is not in '%s'", part, text);
    sprintf(made, "%.*s%s%s", (int)(place - text), text, with, place + strlen(part));
    return made;
}

char *next_text(const char **list)
{
    if (*list == NULL)
        return NULL;
    const char *text = *list, *end = strstr(text, "; ");
    *list = end == NULL ? NULL : end + 2;
    return keep(end == NULL ? strdup(text) : strndup(text, (size_t)(end - text)), free);
}

void unit_drop(void *object)
{
    size_t i = kept_count;
    while (i > 0 && kept[i - 1].object != object)
        i--;
    if (object == NULL)
        return;
    assert(i > 0);
    struct kept own = kept[i - 1];
    memmove(&kept[i - 1], &kept[i], (kept_count-- - i) * sizeof *kept);
    own.release(own.object);
    if (own.is_new)
        free(own.object);
}

static void release_to(size_t count)
{
    while (kept_count > count)
        unit_drop(kept[kept_count - 1].object);
}

/* The tests of the file in their order; cmocka does not tell a fixture which test it is for. */
static const struct CMUnitTest *first, *running;

static int begin(void **state)
{
    if (running == first)
        kept_by_all = kept_count; /* by what all tests of the file have in common */
    hn_error_init(&said);
    int result = running->setup_func == NULL ? 0 : running->setup_func(state);
    running += result != 0; /* there is no end then */
    return result;
}

static int end(void **state)
{
    release_to(kept_by_all);
    CMFixtureFunction tear_down = running++->teardown_func;
    return tear_down == NULL ? 0 : tear_down(state);
}

static int run(struct file *file, const char *pattern)
{
    struct CMUnitTest own[MOST_TESTS], tests[MOST_TESTS];
    size_t count = 0;
    if (file->process != NULL)
        return file->process();
    if (file->is_found != NULL && !file->is_found())
        return SKIPPED;
    for (size_t i = 0; i < file->count; i++) {
        struct CMUnitTest test = file->tests[i];
        if (fnmatch(pattern, test.name, 0) != 0)
            continue;
        if (test.setup_func == NULL && test.teardown_func == NULL) {
            test.setup_func = file->each[0];
            test.teardown_func = file->each[1];
        }
        own[count] = test;
        tests[count++] = (struct CMUnitTest){test.name, test.test_func, begin, end, NULL};
    }
    first = running = own;
    setvbuf(stdout, NULL, _IOLBF, 0);
    int failed = _cmocka_run_group_tests(file->module, tests, count, file->all[0], file->all[1]);
    release_to(0);
    return failed;
}

int main(int argc, char **argv)
{
#ifdef UNIT_TOGETHER
    return run(&files[0], argc > 1 ? argv[1] : "*");
#endif
    for (size_t i = 0; argc > 1 && i < file_count; i++) {
        if (strcmp(argv[1], files[i].module) == 0)
            return run(&files[i], argc > 2 ? argv[2] : "*");
    }
    fprintf(stderr, "%s: found %s, expected one of:\n", argv[0], argc > 1 ? argv[1] : "no name");
    for (size_t i = 0; i < file_count; i++)
        fprintf(stderr, "  %s\n", files[i].module);
    return 2;
}
