/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"
#include "tuner/report/progress.c"

static void assert_clipped(const char *text, size_t columns, const char *expected)
{
    char *clipped FREED = progress_clip(text, columns);
    assert_non_null(clipped);
    assert_string_equal(clipped, expected);
}

TEST(test_clip)
{
    assert_clipped("abcdef", 3, "abc");
    assert_clipped("abc", 3, "abc");
    assert_clipped("", 3, "");
    assert_clipped("█▌░x", 2, "█▌");
    assert_clipped("\033[31mabc\033[0md", 2, "\033[31mab\033[0m");
    assert_clipped("\033[31mabc\033[0m", 3, "\033[31mabc\033[0m\033[0m");
}

TEST(test_columns)
{
    assert_int_equal(progress_columns(""), 0);
    assert_int_equal(progress_columns("\033[1m█▌\033[0m a"), 4);
}

static void assert_spark(struct hn_progress_view *view, uint64_t finished, size_t columns,
                         const char *expected)
{
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    progress_sparkline(view, finished, columns, &text);
    assert_string_equal(text.data != NULL ? text.data : "", expected);
}

TEST(test_sparkline)
{
    struct hn_progress_view view = {.unicode = true};
    assert_spark(&view, 10, 4, "");
    view.trail[0] = (struct hn_progress_step){1, 800};
    view.trail_count = 1;
    assert_spark(&view, 10, 4, "▁▁▁▁");
    /* 800, 200, 100: from the top by two thirds of the way to the bottom. */
    view.trail[1] = (struct hn_progress_step){5, 200};
    view.trail[2] = (struct hn_progress_step){10, 100};
    view.trail_count = 3;
    assert_spark(&view, 10, 5, "██▃▃▁");
    view.unicode = false;
    assert_spark(&view, 10, 5, "##,,_");
}

/* A metric that is maximised is kept negated. */
TEST(test_sparkline_of_a_metric)
{
    struct hn_progress_view view = {
        .unicode = false, .trail = {{1, -100}, {2, -400}, {3, -800}}, .trail_count = 3};
    assert_spark(&view, 3, 3, "##_");
}

TEST(test_note_keeps_improvements)
{
    struct hn_record record = {.objective = 5};
    struct hn_session_state now = {.finished = 1};
    struct hn_progress_view view = {.trail_count = 0};
    progress_note(&view, &now);
    assert_int_equal(view.trail_count, 0);
    now.best = &record;
    progress_note(&view, &now);
    now.finished = 2;
    progress_note(&view, &now);
    assert_int_equal(view.trail_count, 1);
    for (int i = 0; i < 2 * HN_PROGRESS_TRAIL; i++) {
        record.objective = 4.0 / (1 + i);
        now.finished++;
        progress_note(&view, &now);
        assert_true(view.trail_count <= HN_PROGRESS_TRAIL);
    }
    assert_int_equal(view.trail[0].finished, 1);
    assert_true(view.trail[view.trail_count - 1].objective == record.objective);
}

static void assert_line(const struct hn_session_state *now, const char *expected)
{
    struct hn_progress_board board = {.most = 1};
    const struct hn_progress progress = {.board = &board};
    char *line FREED = progress_line(&progress, now);
    assert_non_null(line);
    assert_string_equal(line, expected);
}

TEST(test_no_early_estimate)
{
    struct hn_session_state now = {.phase = "searching", .points = 100, .chance = NAN};
    now.finished = now.counts[HN_OUTCOME_OK] = 4;
    now.elapsed_s = 2;
    assert_line(&now, "4/100 | 2.0/s");
    now.elapsed_s = 8;
    assert_line(&now, "4/100 | 0.5/s | 3 min 12 s left");
    now.finished = now.counts[HN_OUTCOME_OK] = 20;
    now.elapsed_s = 1;
    assert_line(&now, "20/100 | 20.0/s | 4.0 s left");
}

TEST(test_compiling)
{
    struct hn_session_state now = {.phase = "searching", .points = 100, .chance = NAN};
    now.usage.under_way = 1;
    now.usage.longest_s = 0.4;
    assert_line(&now, "0/100 | 1 compiles");
    now.usage.longest_s = 12.3;
    assert_line(&now, "0/100 | 1 compiles, for 12 s");
    now.usage.under_way = 7;
    assert_line(&now, "0/100 | 7 compile, one for 12 s");
}
