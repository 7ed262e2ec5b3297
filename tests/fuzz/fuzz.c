/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process ends in too many ways to tidy up after itself, so that files are kept in memory where
 * there is a place for it, under a name that the next process of this number takes again. */
const char *fuzz_write_file(const char *name, const uint8_t *data, size_t size)
{
    static char path[256];
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(path, sizeof path, "%s/hone-fuzz-%ld", folder, (long)getpid());
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/hone-fuzz-%ld/%s", folder, (long)getpid(), name);
    FILE *file = fopen(path, "wb");
    fuzz_require(file != NULL, "a temporary file can be written");
    fuzz_require(fwrite(data, 1, size, file) == size, "a temporary file can be written");
    fuzz_require(fclose(file) == 0, "a temporary file can be written");
    return path;
}

void fuzz_require(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}
