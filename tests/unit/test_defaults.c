/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"
#include <glob.h>
#include <math.h>

#include "cache/recording/recording.h"
#include "tuner/config/config.h"

/* What a program gets that knows nothing better: the default point of every template beside the
 * best of its recorded tunings. */

static const double most_slower = 3;

static double time_of(const struct hn_record *record)
{
    bool timed = record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_DUPLICATE ||
                 record->outcome == HN_OUTCOME_SLOWER;
    return timed ? record->timing.median_us : INFINITY;
}

/* 0: nobody measured the default point there. */
static double compare(const struct hn_recording *recording, const struct hn_config *config)
{
    const struct hn_bindings *own = hn_plan_default(config->plan, &recording->identity.problem);
    double own_us = 0, best_us = INFINITY;
    for (size_t i = 0; i < recording->records.count; i++) {
        const struct hn_record *record = &recording->records.items[i];
        best_us = fmin(best_us, time_of(record));
        if (hn_bindings_equal(&record->point, own))
            own_us = time_of(record);
    }
    return own_us / best_us;
}

TEST(a_default_point_is_never_far_from_the_best)
{
    glob_t files;
    size_t compared = 0, far = 0;
    struct hn_config *config = NULL;
    char last[64] = "";
    assert_int_equal(glob(HONE_SOURCE_DIR "/cache/recorded/*/*.json.gz", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char path[1024];
        struct hn_recording recording ENDED_BY(hn_recording_finish);
        assert_ok(hn_recording_load(files.gl_pathv[i], &recording, &said));
        const char *kernel = recording.identity.kernel;
        if (strcmp(kernel, last) != 0) {
            hn_config_destroy(config);
            config = NULL;
            snprintf(last, sizeof last, "%s", kernel);
            snprintf(path, sizeof path, HONE_SOURCE_DIR "/configs/%s.yaml", kernel);
            assert_ok(hn_config_load(path, NULL, &config, &said));
        }
        double ratio = compare(&recording, config);
        compared += ratio > 0;
        far += ratio > most_slower;
        if (ratio > most_slower)
            print_error("%s: the default point takes %.1f times as long as the best\n",
                        files.gl_pathv[i], ratio);
    }
    hn_config_destroy(config);
    globfree(&files);
    assert_int_equal(far, 0);
    assert_true(compared > 90);
}
