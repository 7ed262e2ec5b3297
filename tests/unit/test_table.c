/* SPDX-License-Identifier: MIT */
#include "tuner/report/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What is printed, to be freed. */
static char *print(const struct hn_table *table, int indent)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    hn_table_print(table, file, indent);
    fclose(file);
    return text;
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    (void)state;
    static const char *const headings[] = {"point", ">time", "note", NULL};
    struct hn_table *table = hn_table_create(headings);
    assert_non_null(table);
    hn_table_cell(table, "A=%d", 1);
    hn_table_cell(table, "%.1f us", 12.5);
    hn_table_cell(table, "%s", "");
    hn_table_cell(table, "A=%d", 1000);
    hn_table_cell(table, "%.1f us", 1.25);
    hn_table_cell(table, "tied");
    char *text = print(table, 2);
    assert_string_equal(text, "  point      time  note\n"
                              "  A=1     12.5 us  \n"
                              "  A=1000   1.2 us  tied\n");
    free(text);
    hn_table_destroy(table);
}

static void letters_count_and_not_bytes(void **state)
{
    (void)state;
    static const char *const headings[] = {"±95%", ">x", NULL};
    struct hn_table *table = hn_table_create(headings);
    hn_table_cell(table, "µs");
    hn_table_cell(table, ">1");
    char *text = print(table, 0);
    assert_string_equal(text, "±95%   x\nµs    >1\n");
    free(text);
    hn_table_destroy(table);
}

static void a_table_has_many_rows(void **state)
{
    (void)state;
    static const char *const headings[] = {">n", ">square", NULL};
    struct hn_table *table = hn_table_create(headings);
    for (int i = 0; i < 20000; i++) {
        hn_table_cell(table, "%d", i);
        hn_table_cell(table, "%d", i * i);
    }
    char *text = print(table, 0);
    assert_int_equal(strlen(text), 20001 * strlen("19999  399960001\n"));
    assert_non_null(strstr(text, "\n19999  399960001\n"));
    free(text);
    hn_table_destroy(table);
}

static void no_table_is_said(void **state)
{
    (void)state;
    hn_table_cell(NULL, "%d", 1);
    char *text = print(NULL, 2);
    assert_string_equal(text, "(out of memory for a table)\n");
    free(text);
    hn_table_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(letters_count_and_not_bytes),
        cmocka_unit_test(a_table_has_many_rows),
        cmocka_unit_test(no_table_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
