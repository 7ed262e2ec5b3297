/* SPDX-License-Identifier: MIT */
#include "bench/search/simulate/recording_table.h"
#include "cache/recording/recording.h"
#include "fuzz.h"

#include <string.h>

/* A recorded tuning from somewhere: Hone's or Kernel Tuner's, plain or gzip. What was read can be
 * written, and reads back as the same. */

static void save_and_load(const struct hn_recording *recording)
{
    static const uint8_t nothing[1] = {0};
    struct hn_recording again;
    struct hn_error err = {0};
    const char *path = fuzz_write_file("saved.json", nothing, 0);
    if (hn_recording_save(path, recording, &err) != HN_OK)
        return;
    fuzz_require(hn_recording_load(path, &again, &err) == HN_OK, err.message);
    fuzz_require(again.records.count == recording->records.count, "no record is lost in a file");
    hn_recording_finish(&again);
}

/* A table takes whatever a recording takes, and more. */
static void load_table(const char *path, bool recording)
{
    struct hn_recording_table table;
    struct hn_error err = {0};
    enum hn_status status = hn_recording_table_load(path, &table, &err);
    fuzz_require(status == HN_OK || err.message[0] != '\0', "a failure has a message");
    fuzz_require(status == HN_OK || !recording || strstr(err.message, "a row for each point") ||
                     strstr(err.message, "names a parameter"),
                 err.message);
    if (status == HN_OK)
        hn_recording_table_finish(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hn_recording recording;
    struct hn_error err = {0};
    const char *path = fuzz_write_file("recording", data, size);
    if (!fuzz_fine(hn_recording_load(path, &recording, &err), &err)) {
        load_table(path, false);
        return 0;
    }
    load_table(path, true);
    save_and_load(&recording);
    hn_recording_finish(&recording);
    return 0;
}
