/* SPDX-License-Identifier: MIT */
#include "tuner/workers/usage.h"

#include "tests/unit/unit.h"

TEST(what_follows_its_like_is_joined)
{
    struct hn_timeline timeline = {.count = 0};
    hn_timeline_add(&timeline, "open", 0, 100);
    hn_timeline_add(&timeline, "evaluate", 110, 120);
    hn_timeline_add(&timeline, "evaluate", 130, 150);
    hn_timeline_add(&timeline, "race", 160, 200);
    hn_timeline_add(&timeline, "evaluate", 210, 220);
    assert_int_equal(timeline.count, 4);
    const struct hn_span *joined = &timeline.spans[1];
    assert_string_equal(joined->what, "evaluate");
    assert_int_equal(joined->count, 2);
    assert_true(joined->from_ms == 110 && joined->to_ms == 150 && joined->busy_ms == 30);
    assert_int_equal(timeline.spans[3].count, 1);
}

/* Compilations end in any order. */
TEST(a_span_holds_all_that_was_joined)
{
    struct hn_timeline timeline = {.count = 0};
    hn_timeline_add(&timeline, "compile", 50, 60);
    hn_timeline_add(&timeline, "compile", 10, 55);
    assert_true(timeline.spans[0].from_ms == 10 && timeline.spans[0].to_ms == 60);
}

TEST(what_does_not_fit_is_joined_with_the_last)
{
    struct hn_timeline timeline = {.count = 0};
    for (int i = 0; i < HN_TIMELINE_LIMIT + 10; i++)
        hn_timeline_add(&timeline, i % 2 == 0 ? "a" : "b", i, i + 1);
    assert_int_equal(timeline.count, HN_TIMELINE_LIMIT);
    assert_int_equal(timeline.spans[HN_TIMELINE_LIMIT - 1].count, 11);
}
