/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "cache/recording/recording.h"
#include "cache/store/store.h"
#include "fuzz.h"
#include "hostile_cache.h"
#include "runtime/libhone/hone.h"
#include "tuner/commands/command.h"

/* Shipped recordings with something in them that is other than it was, handed to every command that
 * reads recordings, and to those that read the cache that one was imported into; and caches changed
 * by scripts (hostile_cache.h), handed to all that reads caches. Each command ends with an exit
 * code of the manual, shows nothing that a terminal obeys, and leaves a cache that is whole and in
 * which what was measured here comes first.
 *
 * HONE_SEED (1) says which mutations are made, HONE_MUTATIONS (40) how many of each recording, of
 * the text of a small one thirteen times as many, and of a cache twice as many. */

enum { ROWS = 6, FILE_BYTES = 64 << 20, SCRIPT_BYTES = 16 << 10 };

static char path_of_own[256], path_of_stranger[256], path_of_output[256], folder[256];

/* What a test needs of a recording: its text with a few rows, and what it is of. */
struct subject {
    struct hn_recording recording;
    char *text;
    char *cache; /* one in which its worst point was measured here */
    size_t cache_size;
};

/* Its first rows: it is the head that is read with care, and one row is as another. */
static char *shorten(const char *path)
{
    struct hn_recording recording ENDED_BY(hn_recording_finish);
    struct hn_error err = {0};
    char *text = NULL;
    fuzz_require(hn_recording_load(path, &recording, &err) == HN_OK, err.message);
    while (recording.records.count > ROWS)
        hn_record_finish(&recording.records.items[--recording.records.count]);
    fuzz_require(hn_recording_save(path_of_stranger, &recording, &err) == HN_OK &&
                     hn_file_read(path_of_stranger, FILE_BYTES, &text, NULL, &err) == HN_OK,
                 err.message);
    return text;
}

static const struct hn_record *find_worst(const struct hn_recording *recording)
{
    const struct hn_record *worst = NULL;
    for (size_t i = 0; i < recording->records.count; i++) {
        const struct hn_record *record = &recording->records.items[i];
        if (record->outcome == HN_OUTCOME_OK &&
            (worst == NULL || record->objective > worst->objective))
            worst = record;
    }
    fuzz_require(worst != NULL, "a recording has a time");
    return worst;
}

static void measure_here(struct subject *subject)
{
    struct hn_store *store;
    struct hn_error err = {0};
    int64_t id = 0;
    const struct hn_recording *recording = &subject->recording;
    const struct hn_store_session session = {.identity = &recording->identity,
                                             .version = &recording->version,
                                             .command = "hone tune",
                                             .started = 1763697600};
    (void)unlink(path_of_own);
    fuzz_require(hn_store_open(path_of_own, HN_STORE_WRITE, &store, &err) == HN_OK &&
                     hn_store_begin(store, &session, NULL, &id, &err) == HN_OK &&
                     hn_store_put(store, id, find_worst(recording), &err) == HN_OK &&
                     hn_store_commit(store, &err) == HN_OK,
                 err.message);
    hn_store_close(store);
    fuzz_require(
        hn_file_read(path_of_own, FILE_BYTES, &subject->cache, &subject->cache_size, &err) == HN_OK,
        err.message);
}

static void require_plain(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool c1 = byte == 0xc2 && i + 1 < size && (unsigned char)text[i + 1] < 0xa0;
        fuzz_require((byte >= ' ' || byte == '\n' || byte == '\t') && byte != 0x7f && !c1,
                     "nothing is shown that a terminal obeys");
    }
}

/* What one command showed; fd 1 and 2 are where they were before. */
struct shown {
    int file, kept[2];
    char *text;
    size_t size;
};

static void keep_output(struct shown *shown)
{
    fflush(NULL);
    shown->file = memfd_create("shown", MFD_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        shown->kept[i] = dup(STDOUT_FILENO + i);
        fuzz_require(dup2(shown->file, STDOUT_FILENO + i) >= 0, "output can be kept");
    }
}

static void show_output(struct shown *shown)
{
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        fuzz_require(dup2(shown->kept[i], STDOUT_FILENO + i) >= 0, "output goes on");
        close(shown->kept[i]);
    }
    shown->size = (size_t)lseek(shown->file, 0, SEEK_END);
    shown->text = calloc(1, shown->size + 1);
    fuzz_require(shown->text != NULL &&
                     pread(shown->file, shown->text, shown->size, 0) == (ssize_t)shown->size,
                 "what was shown can be read");
    close(shown->file);
}

/* Runs a command as main does. Its exit code has to be 0 where it must. */
static int run(bool must, const char *const *words)
{
    char *argv[8] = {NULL};
    int argc = 0;
    struct shown shown;
    struct hn_error err = {0};
    for (; words[argc] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    keep_output(&shown);
    enum hn_status status = hn_run_command(argc, argv, &err);
    if (status != HN_OK && err.message[0] != '\0')
        fprintf(stderr, "hone: %s\n", err.message);
    show_output(&shown);
    int code = hn_exit_code(status);
    if (code < 0 || code > 3 || (must && code != 0) || (code != 0 && shown.size == 0)) {
        fprintf(stderr, "hone %s %s: exit code %d: %s\n", words[0], words[1], code, shown.text);
        fuzz_require(false, "exit codes are those of the manual, with a message");
    }
    require_plain(shown.text, shown.size);
    free(shown.text);
    return code;
}

#define RUN(...) run(false, (const char *const[]){__VA_ARGS__, NULL})
#define MUST_RUN(...) run(true, (const char *const[]){__VA_ARGS__, NULL})

static void use_library(const struct subject *subject, const char *path)
{
    struct hone_cache *cache = NULL;
    struct hone_kernel *kernel = NULL;
    struct hone_value problem[16];
    struct hone_error err = {.message = ""};
    const struct hone_options options = {.forbid_compile = 1};
    const struct hn_bindings *asked = &subject->recording.identity.problem;
    for (size_t i = 0; i < asked->count && i < 16; i++) {
        const struct hn_value *value = &asked->values[i];
        problem[i] = value->type == HN_WORD   ? hone_word(asked->names[i], value->word)
                     : value->type == HN_REAL ? hone_real(asked->names[i], value->real)
                                              : hone_integer(asked->names[i], value->integer);
    }
    enum hone_status status = hone_open(path, &cache, &err);
    if (status == HONE_OK)
        status = hone_get(cache, subject->recording.identity.kernel, problem, asked->count,
                          &options, &kernel, &err);
    fuzz_require(status != HONE_OK, "nothing is there that needs no compiler");
    fuzz_require(err.message[0] != '\0', "a failure has a message");
    require_plain(err.message, strlen(err.message));
    hone_close(cache);
}

static void count_one(void *count, int64_t id, struct hn_record *record, struct hn_error *err)
{
    (void)id, (void)record, (void)err;
    ++*(size_t *)count;
}

/* What the cache hands out first, and all that a tune would take for its own. */
static void require_own_first(const struct subject *subject)
{
    struct hn_store *store;
    struct hn_tuned_list list ENDED_BY(hn_tuned_list_free);
    struct hn_error err = {0};
    size_t own = 0;
    bool found = false;
    const struct hn_identity *identity = &subject->recording.identity;
    fuzz_require(hn_store_open(path_of_own, HN_STORE_READ, &store, &err) == HN_OK &&
                     hn_store_list(store, HN_STORE_RESULTS, identity->kernel, NULL, &list, &err) ==
                         HN_OK,
                 err.message);
    hn_store_visit(store, identity, &subject->recording.version, false, HN_STORE_OWN, count_one,
                   &own, &err);
    fuzz_require(!hn_failed(&err), err.message);
    for (size_t i = 0; i < list.count; i++) {
        const struct hn_tuned *tuned = &list.items[i];
        bool same = hn_identity_equal(&tuned->identity, identity);
        bool imported = tuned->origin.source[0] != '\0';
        found = found || same;
        fuzz_require(imported == !same, "what was imported is never before what was measured here");
    }
    fuzz_require(found && own == 1, "what was measured here is there, alone");
    hn_store_close(store);
}

/* The page has two scripts, whatever its data says. */
static void look_at_report(int code)
{
    char *page = NULL;
    struct hn_error err = {0};
    size_t ends = 0;
    if (code != 0)
        return;
    fuzz_require(hn_file_read(path_of_output, FILE_BYTES, &page, NULL, &err) == HN_OK, err.message);
    for (const char *at = page; (at = strstr(at, "</script")) != NULL; at++)
        ends++;
    fuzz_require(ends == 2, "no text of a report ends its script");
    free(page);
}

static bool try(const struct subject *subject, const char *text)
{
    const char *kernel = subject->recording.identity.kernel;
    const char *stranger = path_of_stranger, *own = path_of_own, *output = path_of_output;
    struct hn_error err = {0};
    fuzz_require(hn_file_write(stranger, text, strlen(text), &err) == HN_OK &&
                     hn_file_write(own, subject->cache, subject->cache_size, &err) == HN_OK,
                 err.message);
    bool taken = RUN("cache", "import", stranger, "--cache", own) == 0;
    look_at_report(RUN("report", stranger, "-q", "-o", output));
    RUN("export", kernel, "--recorded", stranger);
    use_library(subject, folder);
    MUST_RUN("cache", "check", "--cache", own);
    require_own_first(subject);
    if (!taken)
        return false;
    MUST_RUN("cache", "list", "--cache", own);
    RUN("cache", "show", kernel, "--cache", own);
    RUN("cache", "diff", stranger, "--cache", own);
    RUN("cache", "export", kernel, output, "--cache", own);
    RUN("export", kernel, "--format", "json", "--cache", own);
    look_at_report(RUN("report", kernel, "--cache", own, "-q", "-o", output));
    use_library(subject, own);
    return true;
}

static void try_recording(const char *path, size_t count, struct fuzz_random *random)
{
    size_t taken = 0;
    struct subject subject = {.text = shorten(path)};
    struct hn_error err = {0};
    fuzz_require(hn_recording_load(path_of_stranger, &subject.recording, &err) == HN_OK,
                 err.message);
    measure_here(&subject);
    fuzz_require(try(&subject, subject.text), "what nobody changed is taken");
    for (size_t i = 0; i < count; i++) {
        char *mutated FREED = fuzz_mutate_json(subject.text, strlen(subject.text), random);
        fuzz_require(mutated != NULL, "a recording is JSON");
        taken += try(&subject, mutated);
    }
    printf("%s: %zu mutations, %zu imported\n", strrchr(path, '/') + 1, count, taken);
    hn_recording_finish(&subject.recording);
    free(subject.text);
    free(subject.cache);
}

/* A file of which three characters are others: it is refused, or read as it stands. */
static void try_damaged(const char *path, size_t count, struct fuzz_random *random)
{
    static const char others[] = "{}[]\",:0-9eE.tfn\\ ";
    char *text FREED = NULL;
    size_t size = 0, taken = 0;
    struct hn_error err = {0};
    fuzz_require(hn_file_read(path, FILE_BYTES, &text, &size, &err) == HN_OK, err.message);
    for (size_t i = 0; i < count; i++) {
        char *damaged FREED = strdup(text);
        for (int at = 0; at < 3; at++)
            damaged[fuzz_below(random, size)] = others[fuzz_below(random, sizeof others - 1)];
        fuzz_require(hn_file_write(path_of_stranger, damaged, size, &err) == HN_OK, err.message);
        int code = RUN("cache", "import", path_of_stranger, "--cache", path_of_own);
        fuzz_require(code <= 1, "a damaged file is refused or read");
        taken += code == 0;
    }
    printf("%s: %zu times damaged, %zu imported\n", strrchr(path, '/') + 1, count, taken);
}

static bool try_cache(const uint8_t *script, size_t size)
{
    const char *hostile = fuzz_hostile_cache(script, size), *own = path_of_own;
    const char *output = path_of_output;
    bool listed = RUN("cache", "list", "--cache", hostile) == 0;
    RUN("cache", "list", "--json", "--cache", hostile);
    RUN("cache", "show", "idle", "--cache", hostile);
    RUN("cache", "check", "--cache", hostile);
    RUN("cache", "export", "idle", output, "--cache", hostile);
    RUN("explain", HONE_FUZZ_BASE "/idle.yaml", "--cache", hostile);
    look_at_report(RUN("report", "--history", "--cache", hostile, "-q", "-o", output));
    (void)unlink(own);
    if (RUN("cache", "import", hostile, "--images", "--cache", own) == 0)
        MUST_RUN("cache", "check", "--cache", own);
    return listed;
}

static void try_caches(size_t count, struct fuzz_random *random)
{
    uint8_t script[SCRIPT_BYTES] = {0};
    size_t size = 0;
    size_t listed = 0;
    fuzz_require(try_cache(script, size), "what nobody changed is listed");
    for (size_t i = 0; i < count; i++) {
        /* One change or some; one that is too large is none. */
        if (fuzz_below(random, 3) != 0)
            size = 0;
        size_t mutated = fuzz_mutate_script(script, size, sizeof script, random);
        size = mutated != 0 ? mutated : size;
        listed += try_cache(script, size);
    }
    printf("idle.db: %zu mutations, %zu listed\n", count, listed);
}

static size_t setting(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoul(text, NULL, 10);
}

static void choose_paths(void)
{
    snprintf(path_of_stranger, sizeof path_of_stranger, "%s",
             fuzz_write_file("stranger.json", (const uint8_t *)"", 0));
    snprintf(path_of_own, sizeof path_of_own, "%s",
             fuzz_write_file("own.db", (const uint8_t *)"", 0));
    snprintf(path_of_output, sizeof path_of_output, "%s",
             fuzz_write_file("output", (const uint8_t *)"", 0));
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path_of_own, '/') - path_of_own),
             path_of_own);
}

static void start_double(void)
{
    CUcontext context;
    fuzz_require(cuInit(0) == CUDA_SUCCESS &&
                     cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
                     cuCtxSetCurrent(context) == CUDA_SUCCESS,
                 "the double is there");
}

int main(int argc, char **argv)
{
    size_t seed = setting("HONE_SEED", 1);
    size_t count = setting("HONE_MUTATIONS", 40);
    struct fuzz_random random = {seed};
    hn_output_init(NULL);
    choose_paths();
    start_double();
    printf("HONE_SEED=%zu\n", seed);
    for (int i = 1; i < argc; i++)
        try_recording(argv[i], count, &random);
    try_damaged(HONE_SOURCE_DIR "/tests/data/recording/example.json", 13 * count, &random);
    try_caches(2 * count, &random);
    return 0;
}
