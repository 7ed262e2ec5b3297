/* SPDX-License-Identifier: MIT */
#include "tuner/explain/warned.h"

#include <math.h>

static void count_points(const struct hn_evidence *evidence, unsigned refused, int warning,
                         struct hn_warned *warned)
{
    for (size_t i = 0; i < evidence->records->count; i++) {
        const struct hn_record *record = &evidence->records->items[i];
        if ((record->resources.warnings >> warning & 1) == 0)
            continue;
        warned->of[warning].points++;
        warned->of[warning].refused +=
            (refused >> warning & 1) != 0 && record->outcome == HN_OUTCOME_SKIPPED;
    }
}

void hn_warned_find(const struct hn_evidence *evidence, unsigned refused, struct hn_warned *warned)
{
    *warned = (struct hn_warned){0};
    for (int warning = 0; warning < HN_WARNING_COUNT; warning++) {
        double best = INFINITY;
        count_points(evidence, refused, warning, warned);
        for (size_t i = 0; i < evidence->count; i++)
            if ((hn_evidence_record(evidence, i)->resources.warnings >> warning & 1) != 0 &&
                !evidence->lower_bounds[i])
                best = fmin(best, evidence->values[i]);
        if (isfinite(best) && evidence->best != SIZE_MAX)
            warned->of[warning].ratio =
                hn_evidence_ratio(evidence, best, evidence->values[evidence->best]);
    }
}
