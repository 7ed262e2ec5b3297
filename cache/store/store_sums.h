/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_STORE_SUMS_H
#define HONE_CACHE_STORE_STORE_SUMS_H

/* Whether a row is as it was written: its checksum is that of all its columns but id, cubin (which has a hash) and the
 * checksum itself, in the order of the table. t: the table's alias with its dot, or "". */
#define HN_INTACT(t, columns) t "checksum = checksum(" columns ")"

#define HN_TASK_INTACT(t)                                                                                              \
    HN_INTACT(t, t "kernel, " t "signature, " t "problem, " t "regime, " t "objective, " t "device, " t "capability, " \
                 t "sm_count, " t "mig_profile")
#define HN_VERSION_INTACT(t)                                                                                           \
    HN_INTACT(t, t "template_hash, " t "options_hash, " t "plan_hash, " t "driver, " t "nvrtc, " t "protocol")
#define HN_PLAN_INTACT(t) HN_INTACT(t, t "version_id, " t "kernel, " t "json")
#define HN_PLAN_FILE_INTACT(t) HN_INTACT(t, t "version_id, " t "kernel, " t "position, " t "name, " t "text")
#define HN_SESSION_INTACT(t)                                                                                           \
    HN_INTACT(t, t "task_id, " t "version_id, " t "origin, " t "started, " t "command, " t "simulated, " t "machine, " \
                 t "source, " t "imported")
#define HN_RECORD_INTACT(t)                                                                                            \
    HN_INTACT(t, t "session_id, " t "point, " t "outcome, " t "verification, " t "final, " t "objective, " t "json")
#define HN_IMAGE_INTACT(t) HN_INTACT(t, t "task_id, " t "version_id, " t "point, " t "entry, " t "hash")
#define HN_RULE_INTACT(t) HN_INTACT(t, t "session_id, " t "json")
#define HN_ROOF_INTACT(t)                                                                                              \
    HN_INTACT(t, t "device, " t "capability, " t "sm_count, " t "mig_profile, " t "driver, " t "measured, "            \
                 t "copy_gb_per_s, " t "l2_gb_per_s, " t "fp32_gflops, " t "launch_us")
#define HN_TENSOR_ROOF_INTACT(t)                                                                                       \
    HN_INTACT(t, t "device, " t "capability, " t "sm_count, " t "mig_profile, " t "driver, " t "json")

#endif
