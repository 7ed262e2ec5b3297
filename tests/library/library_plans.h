/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_LIBRARY_PLANS_H
#define HONE_TESTS_LIBRARY_PLANS_H

#include "library_fixture.h"

/* The tests of test_library that launch what a plan may ask for: X(name). */
#define LIBRARY_PLAN_TESTS(X)                                                                                          \
    X(composite_plans_have_scratch_of_their_own)                                                                       \
    X(launches_are_replayed_as_graphs)                                                                                 \
    X(scratch_can_be_the_callers)                                                                                      \
    X(symbols_are_set_before_a_launch)                                                                                 \
    X(every_role_is_served)                                                                                            \
    X(attributes_of_a_launch_are_set)                                                                                  \
    X(grids_have_the_clusters_that_run_at_once)                                                                        \
    X(windows_lie_over_the_callers_buffer)                                                                             \
    X(structures_are_passed_by_value)                                                                                  \
    X(tensor_maps_are_made_of_buffers)                                                                                 \
    X(pipelines_are_not_supported)

#define X(name) void name(void **state);
LIBRARY_PLAN_TESTS(X)
#undef X

#endif
