/* SPDX-License-Identifier: MIT */
#include "runtime/bench/observe/observers.h"

#include <string.h>

#include "cache/record/observed.h"

const struct hn_observer *const hn_observers[] = {
    &hn_audit_observer,
    &hn_energy_observer,
    &hn_staging_observer,
    &hn_counters_observer,
    &hn_conditions_observer,
    &hn_clocks_observer,
    NULL,
};

void hn_observers_add(const char *observer, struct hn_bindings *observed,
                      const struct hn_bindings *more, struct hn_error *err)
{
    for (size_t i = 0; hn_observers[i] != NULL; i++) {
        if (strcmp(hn_observers[i]->name, observer) != 0)
            continue;
        if (hn_observers[i]->add != NULL && hn_observed_any(more, observer))
            hn_observers[i]->add(observed, more, err);
        else if (hn_observed_any(more, observer))
            hn_observed_replace(observed, observer, more, err);
    }
}
