/* SPDX-License-Identifier: MIT */
#include "cache/recording.h"
#include "fuzz.h"

/* A recorded tuning from somewhere: Hone's or Kernel Tuner's, plain or gzip. What was read can be
 * written, and reads back as the same. */

static void save_and_load(const struct hn_recording *recording)
{
    static const uint8_t nothing[1] = {0};
    struct hn_recording again;
    struct hn_error err = {""};
    const char *path = fuzz_write_file("saved.json", nothing, 0);
    if (hn_recording_save(path, recording, &err) != HN_OK)
        return;
    fuzz_require(hn_recording_load(path, &again, &err) == HN_OK, err.message);
    fuzz_require(again.records.count == recording->records.count, "no record is lost in a file");
    hn_recording_finish(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hn_recording recording;
    struct hn_error err = {""};
    if (hn_recording_load(fuzz_write_file("recording", data, size), &recording, &err) != HN_OK) {
        fuzz_require(err.message[0] != '\0', "a failure has a message");
        return 0;
    }
    save_and_load(&recording);
    hn_recording_finish(&recording);
    return 0;
}
