/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "fuzz.h"

/* Stands in for libFuzzer where it is not there: runs the files, and those in the folders, that it
 * is given. */

enum { FILE_BYTES = 64 << 20 };

static int run_file(const char *path)
{
    char *data = NULL;
    size_t size = 0;
    struct hn_error err = {0};
    if (hn_file_read(path, FILE_BYTES, &data, &size, &err) != HN_OK) {
        fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    /* A copy of just this size, so that ASan sees every byte read beyond it. */
    uint8_t *input FREED = malloc(size > 0 ? size : 1);
    fuzz_require(input != NULL, "there is memory");
    for (size_t i = 0; i < size; i++)
        input[i] = (uint8_t)data[i];
    free(data);
    LLVMFuzzerTestOneInput(input, size);
    return 1;
}

/* How many files were run; -1 after a failure. */
static int run_path(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        perror(path);
        return -1;
    }
    if (!S_ISDIR(about.st_mode))
        return run_file(path);
    DIR *folder = opendir(path);
    int count = 0;
    for (struct dirent *entry = NULL;
         folder != NULL && count >= 0 && (entry = readdir(folder)) != NULL;) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        count = run_file(name) < 0 ? -1 : count + 1;
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int count = run_path(argv[i]);
        if (count < 0)
            return 1;
        total += count;
    }
    printf("%s: %d inputs\n", argv[0], total);
    return total > 0 ? 0 : 1;
}
