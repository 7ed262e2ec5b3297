/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/bindings.h"
#include "base/expression/expression.h"
#include "fuzz.h"

/* One text as an expression (parsed, bound, evaluated at several points, written as C), as a value
 * and as the text of a point. */

enum { NAMES = 6, ROWS = 5 };

static const char *const names[NAMES] = {"A", "B", "C", "F", "FLAG", "LOAD"};
static const char *const words[] = {"plain", "ldg", "restrict", "float32"};
static const struct hn_scope scope = {names, NAMES, words, sizeof words / sizeof words[0]};

static const struct hn_value *row(size_t index, struct hn_value values[NAMES])
{
    static const int64_t integers[ROWS][3] = {
        {1, 2, 3}, {0, 0, 0}, {-1, 64, -7}, {INT64_MAX, INT64_MIN, -1}, {4096, 32, 1}};
    static const double reals[ROWS] = {0.5, -0.0, 1e308, -3.75, 0.1};
    for (size_t i = 0; i < 3; i++)
        values[i] = hn_integer(integers[index][i]);
    values[3] = hn_real(reals[index]);
    values[4] = hn_boolean(index % 2 == 0);
    values[5] = hn_word(words[index % 3]);
    return values;
}

static void evaluate(const struct hn_expression *expression)
{
    struct hn_value values[NAMES];
    struct hn_error err = {0};
    int64_t integer;
    double number;
    for (size_t i = 0; i < ROWS; i++) {
        struct hn_value result;
        enum hn_status status = hn_expression_evaluate(expression, row(i, values), &result, &err);
        fuzz_require(status == HN_OK || status == HN_EVALUE,
                     "evaluating gives a value or says why not");
        if (status == HN_OK)
            (void)hn_value_truth(&result);
        hn_error_init(&err);
        (void)hn_expression_integer(expression, values, &integer, &err);
        (void)hn_expression_number(expression, values, &number, NULL);
    }
}

/* folded: some names have known values. */
static void write_c(const struct hn_expression *expression, bool folded)
{
    struct hn_value values[NAMES];
    struct hn_c_slot slots[NAMES] = {{0}};
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    struct hn_text helpers ENDED_BY(hn_text_finish) = {0};
    struct hn_error err;
    bool real = false;
    bool needs_math = false;
    row(0, values);
    for (size_t i = 0; i < NAMES; i++)
        slots[i] = (struct hn_c_slot){.name = names[i], .real = i == 3};
    slots[5].words = words;
    slots[5].word_count = 3;
    for (size_t i = 0; i < NAMES && folded; i += 2)
        slots[i].constant = &values[i];
    if (hn_expression_append_c(expression, slots, "hn", folded ? HN_C_INTEGER : HN_C_NUMBER, &real,
                               &text, &err) == HN_OK)
        hn_expression_append_c_helpers(text.data, "hn", &helpers, &needs_math);
    hn_expression_append_c(expression, slots, "hn", HN_C_CONDITION, NULL, &text, &err);
}

static void use_expression(const char *string)
{
    struct hn_expression *expression = NULL;
    struct hn_error err = {0};
    if (!fuzz_fine(hn_expression_parse(string, &expression, &err), &err))
        return;
    if (hn_expression_bind(expression, &scope, &err) == HN_OK) {
        evaluate(expression);
        write_c(expression, false);
        write_c(expression, true);
    }
    hn_expression_destroy(expression);
}

/* The text of a value reads back to the same value. */
static void use_value(const char *string)
{
    struct hn_value value;
    struct hn_value again;
    struct hn_text text = {0};
    if (hn_value_parse(string, &value, NULL) != HN_OK)
        return;
    hn_value_append(&text, &value);
    fuzz_require(hn_value_parse(text.data, &again, NULL) == HN_OK, "a value's text is a value");
    fuzz_require(hn_value_compare(&value, &again) == 0, "a value's text is that value");
    hn_text_finish(&text);
}

static void use_bindings(const char *string)
{
    struct hn_bindings point;
    struct hn_bindings again;
    struct hn_text text = {0};
    if (hn_bindings_parse(string, &point, NULL) != HN_OK)
        return;
    hn_bindings_append(&text, &point);
    fuzz_require(hn_bindings_parse(text.data == NULL ? "" : text.data, &again, NULL) == HN_OK,
                 "a point's text is a point");
    fuzz_require(again.count == point.count, "a point's text is that point");
    hn_bindings_finish(&again);
    hn_text_finish(&text);
    hn_bindings_finish(&point);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *string FREED = malloc(size + 1);
    fuzz_require(string != NULL, "there is memory");
    if (size > 0)
        memcpy(string, data, size);
    string[size] = '\0';
    use_expression(string);
    use_value(string);
    use_bindings(string);
    return 0;
}
