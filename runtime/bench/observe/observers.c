/* SPDX-License-Identifier: MIT */
#include "runtime/bench/observe/observers.h"

#include <stdio.h>
#include <string.h>

#include "runtime/bench/bench_parts.h"

const struct hn_observer *const hn_observers[] = {
    &hn_audit_observer,
    &hn_energy_observer,
    &hn_staging_observer,
    &hn_counters_observer,
    &hn_conditions_observer,
    &hn_clocks_observer,
    NULL,
};

enum hn_status hn_observers_check(const char *observe, struct hn_error *err)
{
    for (const char *at = observe; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        size_t length = strcspn(at, ",="), used = 0;
        char names[128] = "";
        bool known = false;
        for (size_t i = 0; hn_observers[i] != NULL && used < sizeof names; i++) {
            const char *name = hn_observers[i]->name;
            known = known || (strncmp(name, at, length) == 0 && name[length] == '\0');
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ",
                                     name);
        }
        if (!known)
            return hn_fail(err, HN_EUSAGE, "--observe: found '%.*s', expected a list of %s",
                           (int)length, at, names);
    }
    return strlen(observe) < HN_OBSERVE_SIZE / 2
               ? HN_OK
               : hn_fail(err, HN_EUSAGE, "--observe: found '%s', expected a shorter list", observe);
}
