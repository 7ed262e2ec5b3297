/* SPDX-License-Identifier: MIT */
#include "tuner/report/table.c"

#include "tests/unit/unit.h"

/* What is printed, to be freed; SIZE_MAX: as to a file. */
static char *print_within(const struct hn_table *table, int indent, size_t columns)
{
    char *text, wanted[24];
    size_t size;
    FILE *const file = open_memstream(&text, &size), *const before = stdout;
    assert_non_null(file);
    snprintf(wanted, sizeof wanted, "%zu", columns);
    setenv("COLUMNS", wanted, 1);
    stdout = columns == SIZE_MAX ? before : file;
    hn_table_print(table, 0, file, indent);
    stdout = before;
    fclose(file);
    return text;
}

static char *print(const struct hn_table *table, int indent)
{
    return keep(print_within(table, indent, SIZE_MAX), free);
}

TEST(columns_are_as_wide_as_their_widest_cell)
{
    static const char *const headings[] = {"point", ">time", "note", NULL};
    struct hn_table *table = keep(hn_table_create(headings), hn_table_destroy);
    assert_non_null(table);
    hn_table_cell(table, "A=%d", 1);
    hn_table_cell(table, "%.1f us", 12.5);
    hn_table_cell(table, "%s", "");
    hn_table_cell(table, "A=%d", 1000);
    hn_table_cell(table, "%.1f us", 1.25);
    hn_table_cell(table, "tied");
    char *text = print(table, 2);
    assert_string_equal(text, "  point      time  note\n"
                              "  A=1     12.5 us\n"
                              "  A=1000   1.2 us  tied\n");
}

TEST(letters_count_and_not_bytes)
{
    static const char *const headings[] = {"±95%", ">x", NULL};
    struct hn_table *table = keep(hn_table_create(headings), hn_table_destroy);
    hn_table_cell(table, "µs");
    hn_table_cell(table, ">1");
    char *text = print(table, 0);
    assert_string_equal(text, "±95%   x\nµs    >1\n");
}

TEST(a_table_has_many_rows)
{
    static const char *const headings[] = {">n", ">square", NULL};
    struct hn_table *table = keep(hn_table_create(headings), hn_table_destroy);
    for (int i = 0; i < 20000; i++) {
        hn_table_cell(table, "%d", i);
        hn_table_cell(table, "%d", i * i);
    }
    char *text = print(table, 0);
    assert_int_equal(strlen(text), 20001 * strlen("19999  399960001\n"));
    assert_non_null(strstr(text, "\n19999  399960001\n"));
}

/* A table of points of three parameters, of which two differ; `rows` of them. */
static struct hn_table *make_points(int rows)
{
    static const char *const headings[] = {">#", ">time", NULL};
    static const char *const points[][3] = {{"8", "ldg", "0"}, {"16", "ldg", "4"}};
    struct hn_table *table = hn_table_create(headings);
    hn_table_column(table, "=", "TILE");
    hn_table_column(table, "=", "LOAD");
    hn_table_column(table, "=", "PAD");
    for (int i = 0; i < rows; i++) {
        hn_table_cell(table, "%d", i + 1);
        hn_table_cell(table, "%d us", 9 + i);
        for (int p = 0; p < 3; p++)
            hn_table_cell(table, "%s", points[i][p]);
    }
    return keep(table, hn_table_destroy);
}

TEST(what_all_rows_share_stands_above)
{
    struct hn_table *table = make_points(2);
    char *text = print(table, 2);
    assert_string_equal(text, "  in all rows: LOAD=ldg\n"
                              "  #   time  TILE  PAD\n"
                              "  1   9 us     8    0\n"
                              "  2  10 us    16    4\n");
}

TEST(one_row_has_its_point_above)
{
    struct hn_table *table = make_points(1);
    char *text = keep(print_within(table, 0, 20), free);
    assert_string_equal(text, "TILE=8, LOAD=ldg,\n"
                              "  PAD=0\n"
                              "#  time\n"
                              "1  9 us\n");
}

TEST(what_is_too_wide_goes_on_below)
{
    struct hn_table *table = make_points(2);
    char *text = keep(print_within(table, 6, 21), free);
    assert_string_equal(text, "      in all rows:\n"
                              "        LOAD=ldg\n"
                              "      #   time  TILE\n"
                              "      1   9 us     8\n"
                              "      2  10 us    16\n"
                              "\n"
                              "      #  PAD\n"
                              "      1    0\n"
                              "      2    4\n");
}

TEST(rows_get_numbers_where_the_first_column_tells_little)
{
    static const char *const headings[] = {"change", "kernel", ">time", NULL};
    struct hn_table *table = keep(hn_table_create(headings), hn_table_destroy);
    for (int i = 0; i < 2; i++) {
        hn_table_cell(table, "removed");
        hn_table_cell(table, "kernel_%d", i);
        hn_table_cell(table, "%d us", i);
    }
    char *text = keep(print_within(table, 0, 20), free);
    assert_string_equal(text, "#  change   kernel\n"
                              "1  removed  kernel_0\n"
                              "2  removed  kernel_1\n"
                              "\n"
                              "#  time\n"
                              "1  0 us\n"
                              "2  1 us\n");
}

TEST(sentences_break_between_words)
{
    static const char *const headings[] = {"kernel", "~problem", ">n", NULL};
    struct hn_table *table = keep(hn_table_create(headings), hn_table_destroy);
    hn_table_cell(table, "sgemm");
    hn_table_cell(table, "K=4096,M=4096,N=16");
    hn_table_cell(table, "7");
    char *text = keep(print_within(table, 0, 26), free);
    assert_string_equal(text, "kernel  problem         n\n"
                              "sgemm   K=4096,M=4096,  7\n"
                              "        N=16\n");
}
