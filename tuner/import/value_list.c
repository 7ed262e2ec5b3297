/* SPDX-License-Identifier: MIT */
#include "tuner/import/value_list.h"

#include <stdlib.h>

#include "base/text.h"

/* Each list within a text may have as many values as the whole. */
enum { MOST_VALUES = 4096, MOST_LISTS = 64, MOST_BYTES = 65536 };

struct reader {
    const char *at;
    struct hn_blocks *memory;
    struct hn_error *err;
    int lists;
};

static void fail(struct reader *reader)
{
    if (!hn_failed(reader->err))
        hn_fail(reader->err, HN_ECONFIG,
                "found '%.60s', expected a list: [1, 2, 4], range(1, 9) or [2**i for i in "
                "range(6)]",
                reader->at);
}

static void skip_blanks(struct reader *reader)
{
    while (hn_is_space(*reader->at))
        reader->at++;
}

/* Goes over a sign or a keyword, if it is the next one. */
static bool take(struct reader *reader, const char *sign)
{
    size_t length = strlen(sign);
    skip_blanks(reader);
    bool found = strncmp(reader->at, sign, length) == 0 &&
                 !(hn_is_letter(sign[length - 1]) && hn_is_word_char(reader->at[length]));
    reader->at += found ? length : 0;
    return found && !hn_failed(reader->err);
}

static void expect(struct reader *reader, const char *sign)
{
    if (!take(reader, sign))
        fail(reader);
}

/* What stands before a comma, a bracket that closes, or "for", not bound yet; NULL: it, or
 * something before, was none. */
static struct hn_expression *take_expression(struct reader *reader)
{
    struct hn_expression *expression = NULL;
    const char *begin = reader->at, *end = begin;
    int depth = 0;
    for (; *end != '\0'; end++) {
        const char *quote = *end == '\'' || *end == '"' ? strchr(end + 1, *end) : NULL;
        bool behind_word = end > begin && hn_is_word_char(end[-1]);
        bool keyword = !behind_word && hn_word_length(end) == 3 && strncmp(end, "for", 3) == 0;
        depth += (strchr("([{", *end) != NULL) - (strchr(")]}", *end) != NULL);
        if (depth < 0 || (depth == 0 && (*end == ',' || keyword)))
            break;
        end = quote != NULL ? quote : end;
    }
    char *text = hn_needed(strndup(begin, (size_t)(end - begin)));
    if (!hn_failed(reader->err))
        hn_expression_parse(text, &expression, reader->err);
    free(text);
    reader->at = end;
    return expression;
}

static void bind(struct reader *reader, struct hn_expression *expression, const char *counter)
{
    struct hn_scope scope = {.names = &counter, .name_count = counter != NULL};
    if (!hn_failed(reader->err) && expression != NULL)
        hn_expression_bind(expression, &scope, reader->err);
}

void hn_value_list_add(struct hn_draft_parameter *list, struct hn_value value, struct hn_error *err)
{
    for (size_t i = 0; i < list->values.count; i++)
        if (hn_value_equal(&list->values.items[i], &value))
            return;
    if (!hn_failed(err) && list->values.count == MOST_VALUES)
        hn_fail(err, HN_ECONFIG, "found more than %d values", MOST_VALUES);
    if (!hn_failed(err))
        *HN_GROW(list->values) = value;
}

static void add_value_of(struct reader *reader, const struct hn_expression *expression,
                         const struct hn_value *counter, struct hn_draft_parameter *list)
{
    struct hn_value value;
    if (hn_failed(reader->err) ||
        hn_expression_evaluate(expression, counter, &value, reader->err) != HN_OK)
        return;
    if (value.type == HN_WORD)
        value.word = hn_need_format(reader->memory, "%s", value.word);
    hn_value_list_add(list, value, reader->err);
}

/* range(end), range(begin, end), range(begin, end, step) from the first number on. */
static void read_range(struct reader *reader, struct hn_draft_parameter *list)
{
    int64_t numbers[3] = {0, 0, 1}, i;
    size_t count = 0;
    do {
        struct hn_expression *expression = take_expression(reader);
        bind(reader, expression, NULL);
        hn_expression_integer(expression, NULL, &numbers[count++], reader->err);
        hn_expression_destroy(expression);
    } while (count < 3 && take(reader, ","));
    expect(reader, ")");
    int64_t end = count > 1 ? numbers[1] : numbers[0], step = numbers[2];
    if (step == 0)
        fail(reader);
    i = count > 1 ? numbers[0] : 0;
    while (!hn_failed(reader->err) && (step > 0 ? i < end : i > end)) {
        hn_value_list_add(list, hn_integer(i), reader->err);
        if (__builtin_add_overflow(i, step, &i))
            break;
    }
}

static void read_sum(struct reader *reader, struct hn_draft_parameter *list);

/* "ELEMENT for NAME in LIST if CONDITION" from the name on. */
static void read_comprehension(struct reader *reader, struct hn_expression *element,
                               struct hn_draft_parameter *list)
{
    struct hn_draft_parameter over = {.name = NULL};
    skip_blanks(reader);
    char *counter = hn_needed(strndup(reader->at, hn_word_length(reader->at)));
    if (!hn_text_is_word(counter))
        fail(reader);
    reader->at += strlen(counter);
    expect(reader, "in");
    read_sum(reader, &over);
    struct hn_expression *condition = take(reader, "if") ? take_expression(reader) : NULL;
    bind(reader, condition, counter);
    bind(reader, element, counter);
    for (size_t i = 0; !hn_failed(reader->err) && i < over.values.count; i++)
        if (hn_expression_holds(condition, &over.values.items[i], reader->err))
            add_value_of(reader, element, &over.values.items[i], list);
    hn_expression_destroy(condition);
    free(over.values.items);
    free(counter);
}

/* What stands in brackets, behind the one that opens. */
static void read_elements(struct reader *reader, const char *close, struct hn_draft_parameter *list)
{
    bool more = true;
    while (more && !take(reader, close)) {
        struct hn_expression *element = take_expression(reader);
        if (take(reader, "for")) {
            read_comprehension(reader, element, list);
        } else {
            bind(reader, element, NULL);
            add_value_of(reader, element, NULL, list);
        }
        hn_expression_destroy(element);
        more = take(reader, ",");
        if (!more)
            expect(reader, close);
    }
}

static void read_list(struct reader *reader, struct hn_draft_parameter *list)
{
    if (reader->lists++ == MOST_LISTS)
        fail(reader);
    if (take(reader, "range(")) {
        read_range(reader, list);
    } else if (take(reader, "list(")) {
        read_sum(reader, list);
        expect(reader, ")");
    } else if (take(reader, "[")) {
        read_elements(reader, "]", list);
    } else {
        expect(reader, "(");
        read_elements(reader, ")", list);
    }
}

static void read_sum(struct reader *reader, struct hn_draft_parameter *list)
{
    do {
        read_list(reader, list);
    } while (take(reader, "+"));
}

void hn_value_list_read(const char *text, struct hn_draft_parameter *list, struct hn_blocks *memory,
                        struct hn_error *err)
{
    struct reader reader = {.at = text, .memory = memory, .err = err};
    if (!hn_failed(err) && strlen(text) > MOST_BYTES)
        hn_fail(err, HN_ECONFIG, "found a text of more than %d bytes", MOST_BYTES);
    read_sum(&reader, list);
    skip_blanks(&reader);
    if (*reader.at != '\0')
        fail(&reader);
}
