/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_LEXER_H
#define HONE_BASE_EXPRESSION_EXPRESSION_LEXER_H

#include "base/value.h"

enum hn_token_kind {
    HN_TOKEN_END,
    HN_TOKEN_NUMBER, /* value */
    HN_TOKEN_STRING, /* start and length are what stands between the quotes */
    HN_TOKEN_NAME,
    HN_TOKEN_MARK, /* a keyword, an operator or a bracket */
};

struct hn_token {
    enum hn_token_kind kind;
    const char *start; /* borrowed from the text */
    size_t length;
    size_t column; /* from 1 */
    struct hn_value value;
};

/* The tokens of text, the last of which is HN_TOKEN_END; the caller frees them. count is without the last. */
enum hn_status hn_expression_tokens(const char *text, struct hn_token **tokens, size_t *count,
                                    struct hn_error *err);

#endif
