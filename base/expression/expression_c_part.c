/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_c_part.h"

#include <inttypes.h>
#include <string.h>

#include "base/expression/expression_tree.h"

void hn_c_part_finish(struct hn_c_part *part)
{
    hn_text_finish(&part->code);
}

void hn_c_part_set_constant(struct hn_c_part *part, const struct hn_value *value)
{
    hn_c_part_finish(part);
    *part = (struct hn_c_part){.kind = HN_PART_CONSTANT, .value = *value};
}

bool hn_c_part_is_word(const struct hn_c_part *part)
{
    return part->kind == HN_PART_WORD ||
           (part->kind == HN_PART_CONSTANT && part->value.type == HN_WORD);
}

bool hn_c_part_is_real(const struct hn_c_part *part)
{
    return part->kind == HN_PART_REAL ||
           (part->kind == HN_PART_CONSTANT && part->value.type == HN_REAL);
}

static void append_integer(struct hn_text *text, int64_t integer)
{
    if (integer == INT64_MIN)
        hn_text_append(text, "(-INT64_C(9223372036854775807) - 1)");
    else if (integer >= INT32_MIN + 1 && integer <= INT32_MAX)
        hn_text_printf(text, integer < 0 ? "(%" PRId64 ")" : "%" PRId64, integer);
    else
        hn_text_printf(text, integer < 0 ? "(-INT64_C(%" PRId64 "))" : "INT64_C(%" PRId64 ")",
                       integer < 0 ? -integer : integer);
}

/* The part as a number; reals where `real`. A narrow integer is widened, because int arithmetic
 * overflows sooner. */
void hn_c_part_append_number(struct hn_text *text, const struct hn_c_part *part, bool real,
                             bool widen)
{
    if (part->kind != HN_PART_CONSTANT) {
        if (real && part->kind != HN_PART_REAL)
            hn_text_append(text, "(double)");
        else if (widen && (part->kind == HN_PART_CHOICE || part->narrow))
            hn_text_append(text, "(int64_t)");
        hn_text_append(text, part->code.failed ? "" : part->code.data);
        text->failed = text->failed || part->code.failed;
        return;
    }
    if (!real && part->value.type != HN_REAL) {
        append_integer(text,
                       part->value.type == HN_BOOLEAN ? part->value.boolean : part->value.integer);
        return;
    }
    struct hn_value number = hn_real(hn_value_number(&part->value));
    bool negative = number.real < 0;
    hn_text_append(text, negative ? "(" : "");
    hn_value_append(text, &number);
    hn_text_append(text, negative ? ")" : "");
}

void hn_c_part_append_condition(struct hn_text *text, const struct hn_c_part *part)
{
    if (part->kind == HN_PART_CONSTANT || part->kind == HN_PART_WORD) {
        bool truth = part->kind == HN_PART_WORD || hn_value_truth(&part->value);
        hn_text_append(text, truth ? "1" : "0");
        return;
    }
    if (part->kind == HN_PART_CHOICE)
        hn_c_part_append_number(text, part, false, false);
    else
        hn_text_printf(text, "(%s != 0)", part->code.failed ? "" : part->code.data);
    text->failed = text->failed || part->code.failed;
}

/* "prefix_name(a, b)"; b NULL: of one argument. */
void hn_c_part_set_call(const char *prefix, const char *name, enum hn_c_part_kind kind,
                        const struct hn_c_part *a, const struct hn_c_part *b, bool real,
                        struct hn_c_part *part)
{
    *part = (struct hn_c_part){.kind = kind};
    hn_text_printf(&part->code, "%s_%s(", prefix, name);
    hn_c_part_append_number(&part->code, a, real, false);
    if (b != NULL) {
        hn_text_append(&part->code, ", ");
        hn_c_part_append_number(&part->code, b, real, false);
    }
    hn_text_append(&part->code, ")");
}

void hn_c_part_set_infix(const char *operation, enum hn_c_part_kind kind, const struct hn_c_part *a,
                         const struct hn_c_part *b, bool real, struct hn_c_part *part)
{
    *part = (struct hn_c_part){.kind = kind};
    hn_text_append(&part->code, "(");
    hn_c_part_append_number(&part->code, a, real, kind == HN_PART_INTEGER);
    hn_text_printf(&part->code, " %s ", operation);
    hn_c_part_append_number(&part->code, b, real, kind == HN_PART_INTEGER);
    hn_text_append(&part->code, ")");
}

void hn_c_part_set_both(const char *operation, const struct hn_c_part *a, const struct hn_c_part *b,
                        struct hn_c_part *part)
{
    *part = (struct hn_c_part){.kind = HN_PART_CHOICE};
    hn_text_append(&part->code, "(");
    hn_c_part_append_condition(&part->code, a);
    hn_text_printf(&part->code, " %s ", operation);
    hn_c_part_append_condition(&part->code, b);
    hn_text_append(&part->code, ")");
}

size_t hn_c_part_word_number(const struct hn_c_slot *slot, const char *word)
{
    for (size_t i = 0; i < slot->word_count; i++) {
        if (strcmp(slot->words[i], word) == 0)
            return i + 1;
    }
    return 0;
}

/* Joins a condition to those so far, dropping constants: *so_far is a constant at the beginning. */
void hn_c_part_join(const char *operation, bool decides, struct hn_c_part *so_far,
                    struct hn_c_part *next)
{
    struct hn_c_part joined;
    if (so_far->kind == HN_PART_CONSTANT && hn_value_truth(&so_far->value) == decides)
        return;
    if (next->kind == HN_PART_CONSTANT && hn_value_truth(&next->value) != decides)
        return;
    if (so_far->kind == HN_PART_CONSTANT || next->kind == HN_PART_CONSTANT) {
        hn_c_part_finish(so_far);
        *so_far = *next;
        next->code = (struct hn_text){0};
        return;
    }
    hn_c_part_set_both(operation, so_far, next, &joined);
    hn_c_part_finish(so_far);
    *so_far = joined;
}

bool hn_c_part_is_negative(const struct hn_c_part *part)
{
    return part->kind == HN_PART_CONSTANT && part->value.type == HN_INTEGER &&
           part->value.integer < 0;
}
