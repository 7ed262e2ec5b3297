/* SPDX-License-Identifier: MIT */
#include "tuner/report/outcomes.h"

#include "base/text.h"
#include "tuner/report/terminal.h"

void hn_outcomes_count(const uint64_t counts[HN_OUTCOME_COUNT], FILE *file)
{
    unsigned long long all = 0;
    const char *separator = ": ";
    for (int i = 0; i < HN_OUTCOME_COUNT; i++)
        all += counts[i];
    fprintf(file, "  %llu point%s", all, hn_plural(all));
    for (int i = 0; i < HN_OUTCOME_COUNT; i++) {
        if (counts[i] == 0)
            continue;
        fprintf(file, "%s%llu %s", separator, (unsigned long long)counts[i],
                hn_outcome_name((enum hn_outcome)i));
        separator = ", ";
    }
    fputc('\n', file);
}

void hn_outcomes_explain(const uint64_t counts[HN_OUTCOME_COUNT], FILE *file)
{
    struct hn_text text;
    hn_text_init(&text);
    for (int i = HN_OUTCOME_OK + 1; i < HN_OUTCOME_COUNT; i++)
        if (counts[i] > 0)
            hn_text_printf(&text, "%s: %s; ", hn_outcome_name((enum hn_outcome)i),
                           hn_outcome_meaning((enum hn_outcome)i));
    if (text.length > 0) {
        hn_text_append(&text, "see docs/outcomes.md");
        hn_terminal_print(file, 2, hn_terminal_columns(file), text.failed ? "" : text.data);
    }
    hn_text_finish(&text);
}

void hn_regimes_explain(FILE *file)
{
    hn_terminal_print(file, 0, hn_terminal_columns(file),
                      "L2: what that cache holds when a launch begins; see docs/outcomes.md");
}
