/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process ends in too many ways to tidy up after itself, so that files are kept in memory where
 * there is a place for it, under a name that the next process of this number takes again. */
enum { NAMES_MOST = 8 };

/* The folder of this process, in memory where there is a place for it. A crash leaves it behind. */
static char folder[128];
static char paths[NAMES_MOST][256];

static void remove_files(void)
{
    for (size_t i = 0; i < NAMES_MOST && paths[i][0] != '\0'; i++)
        unlink(paths[i]);
    rmdir(folder);
}

static const char *path_of(const char *name)
{
    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "%s/hone-fuzz-%ld",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
        (void)mkdir(folder, 0700);
        fuzz_require(atexit(remove_files) == 0, "files can be removed at the end");
    }
    char path[256];
    snprintf(path, sizeof path, "%s/%.64s", folder, name);
    size_t i = 0;
    while (i < NAMES_MOST && paths[i][0] != '\0' && strcmp(paths[i], path) != 0)
        i++;
    fuzz_require(i < NAMES_MOST, "there are few names");
    memcpy(paths[i], path, sizeof path);
    return paths[i];
}

const char *fuzz_write_file(const char *name, const uint8_t *data, size_t size)
{
    const char *path = path_of(name);
    FILE *file = fopen(path, "wb");
    fuzz_require(file != NULL, "a temporary file can be opened");
    fuzz_require(fwrite(data, 1, size, file) == size, "a temporary file can be written");
    fuzz_require(fclose(file) == 0, "a temporary file can be closed");
    return path;
}

void fuzz_require(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

bool fuzz_fine(enum hn_status status, const struct hn_error *err)
{
    fuzz_require(status == HN_OK || err->message[0] != '\0', "a failure has a message");
    return status == HN_OK;
}
