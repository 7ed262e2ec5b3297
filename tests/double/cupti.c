/* SPDX-License-Identifier: MIT */
/* libcupti.so.13 without a GPU, for HONE_CUPTI: it takes three laps for each call that adds
 * metrics, each of a range with a launch in it, and tells made-up numbers of a kernel that waits
 * for memory. It insists on the order of calls and on the sizes of structures.
 *
 *   HONE_DOUBLE_COUNTERS=METRIC=NUMBER,…      other numbers
 *   HONE_DOUBLE_CUPTI_FAIL=FUNCTION=CODE       this function gives that result
 *   HONE_DOUBLE_CUPTI_VERSION=N                it says that it is version N */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/bench/observe/cupti.h"

enum {
    LAPS = 3,
    INVALID_PARAMETER = 1,
    INVALID_OPERATION = 7,
    INVALID_NAME = 17,
    OWN_VERSION = 130000
};
enum state { CLOSED, OPEN, ENABLED, PLANNED, STARTED, PUSHED, POPPED };

static enum state state;
static int laps;
static uint64_t launches; /* before the range */
static uint64_t counted;  /* in the ranges of all laps */
static size_t metric_count;
static int additions; /* each has laps of its own */
static char anything;

#define X(member, function, structure) int function(struct structure *parameters);
HN_CUPTI_FUNCTIONS(X)
#undef X
int cuptiGetVersion(uint32_t *version);
int cuptiGetErrorMessage(int result, const char **text);

/* Of the kernels that the driver double ran. */
static uint64_t launched(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const uint64_t *count = driver == NULL ? NULL : dlsym(driver, "hone_double_launches");
    uint64_t now = count == NULL ? 0 : *count;
    if (driver != NULL)
        dlclose(driver);
    return now;
}

/* "NAME=NUMBER,…" of the environment; false where the name is not in it. */
static int find(const char *variable, const char *name, double *value)
{
    const char *text = getenv(variable);
    size_t length = strlen(name);
    while (text != NULL && *text != '\0') {
        if (strncmp(text, name, length) == 0 && text[length] == '=') {
            *value = strtod(text + length + 1, NULL);
            return 1;
        }
        text = strchr(text, ',');
        text = text == NULL ? NULL : text + 1;
    }
    return 0;
}

static int result_of(const char *function, size_t size, size_t expected)
{
    double code = 0;
    if (find("HONE_DOUBLE_CUPTI_FAIL", function, &code))
        return (int)code;
    return size == expected ? HN_CUPTI_SUCCESS : INVALID_PARAMETER;
}

#define BEGIN(type, last)                                                                          \
    int result = result_of(__func__, parameters->size, HN_CUPTI_SIZE(type, last));                 \
    if (result != HN_CUPTI_SUCCESS)                                                                \
    return result

static int step(enum state from, enum state to)
{
    if (state != from)
        return INVALID_OPERATION;
    state = to;
    return HN_CUPTI_SUCCESS;
}

int cuptiGetVersion(uint32_t *version)
{
    const char *wanted = getenv("HONE_DOUBLE_CUPTI_VERSION");
    *version = wanted != NULL ? (uint32_t)strtoul(wanted, NULL, 10) : OWN_VERSION;
    return HN_CUPTI_SUCCESS;
}

int cuptiGetErrorMessage(int result, const char **text)
{
    static char message[40];
    snprintf(message, sizeof message, "message %d", result);
    *text = message;
    return HN_CUPTI_SUCCESS;
}

int cuptiProfilerInitialize(struct hn_cupti_plain *parameters)
{
    BEGIN(hn_cupti_plain, private_data);
    return step(CLOSED, OPEN);
}

int cuptiProfilerDeInitialize(struct hn_cupti_plain *parameters)
{
    BEGIN(hn_cupti_plain, private_data);
    return step(OPEN, CLOSED);
}

int cuptiDeviceGetChipName(struct hn_cupti_chip *parameters)
{
    BEGIN(hn_cupti_chip, name);
    parameters->name = "GH100";
    return HN_CUPTI_SUCCESS;
}

int cuptiProfilerGetCounterAvailability(struct hn_cupti_availability *parameters)
{
    BEGIN(hn_cupti_availability, image);
    if (parameters->image != NULL)
        memset(parameters->image, 1, parameters->image_size);
    parameters->image_size = 64;
    return HN_CUPTI_SUCCESS;
}

int cuptiProfilerHostInitialize(struct hn_cupti_host *parameters)
{
    BEGIN(hn_cupti_host, host);
    if (strcmp(parameters->chip, "GH100") != 0 || parameters->availability[0] != 1)
        return INVALID_PARAMETER;
    metric_count = 0;
    additions = 0;
    parameters->host = &anything;
    return HN_CUPTI_SUCCESS;
}

int cuptiProfilerHostDeinitialize(struct hn_cupti_handle *parameters)
{
    BEGIN(hn_cupti_handle, handle);
    return parameters->handle == &anything ? HN_CUPTI_SUCCESS : INVALID_PARAMETER;
}

/* This chip has no textures. */
int cuptiProfilerHostConfigAddMetrics(struct hn_cupti_metrics *parameters)
{
    BEGIN(hn_cupti_metrics, count);
    for (size_t i = 0; i < parameters->count; i++)
        if (strstr(parameters->names[i], "tex_throttle") != NULL)
            return INVALID_NAME;
    metric_count += parameters->count;
    additions++;
    return HN_CUPTI_SUCCESS;
}

int cuptiProfilerHostGetConfigImageSize(struct hn_cupti_config *parameters)
{
    BEGIN(hn_cupti_config, config_size);
    parameters->config_size = metric_count;
    return HN_CUPTI_SUCCESS;
}

int cuptiProfilerHostGetConfigImage(struct hn_cupti_config *parameters)
{
    BEGIN(hn_cupti_config, config);
    memset(parameters->config, 2, parameters->config_size);
    return HN_CUPTI_SUCCESS;
}

int cuptiRangeProfilerEnable(struct hn_cupti_enable *parameters)
{
    BEGIN(hn_cupti_enable, profiler);
    parameters->profiler = &anything;
    return step(OPEN, ENABLED);
}

int cuptiRangeProfilerDisable(struct hn_cupti_handle *parameters)
{
    BEGIN(hn_cupti_handle, handle);
    state = OPEN;
    return HN_CUPTI_SUCCESS;
}

int cuptiRangeProfilerGetCounterDataSize(struct hn_cupti_data_size *parameters)
{
    BEGIN(hn_cupti_data_size, data_size);
    parameters->data_size = 8 * parameters->count;
    return parameters->count == metric_count ? HN_CUPTI_SUCCESS : INVALID_PARAMETER;
}

int cuptiRangeProfilerCounterDataImageInitialize(struct hn_cupti_data *parameters)
{
    BEGIN(hn_cupti_data, data);
    memset(parameters->data, 3, parameters->data_size);
    return HN_CUPTI_SUCCESS;
}

int cuptiRangeProfilerSetConfig(struct hn_cupti_plan *parameters)
{
    BEGIN(hn_cupti_plan, level);
    if (parameters->config[0] != 2 || parameters->data[0] != 3 ||
        parameters->range != HN_CUPTI_USER_RANGE || parameters->replay != HN_CUPTI_USER_REPLAY)
        return INVALID_PARAMETER;
    laps = 0;
    counted = 0;
    return step(ENABLED, PLANNED);
}

int cuptiRangeProfilerStart(struct hn_cupti_handle *parameters)
{
    BEGIN(hn_cupti_handle, handle);
    return step(PLANNED, STARTED);
}

int cuptiRangeProfilerPushRange(struct hn_cupti_range *parameters)
{
    BEGIN(hn_cupti_range, name);
    launches = launched();
    return step(STARTED, PUSHED);
}

int cuptiRangeProfilerPopRange(struct hn_cupti_handle *parameters)
{
    BEGIN(hn_cupti_handle, handle);
    counted += launched() - launches;
    return step(PUSHED, POPPED);
}

int cuptiRangeProfilerStop(struct hn_cupti_stop *parameters)
{
    BEGIN(hn_cupti_stop, all_submitted);
    laps++;
    parameters->all_submitted = laps == LAPS * additions;
    return step(POPPED, PLANNED);
}

int cuptiRangeProfilerDecodeData(struct hn_cupti_decode *parameters)
{
    BEGIN(hn_cupti_decode, dropped);
    return state == PLANNED && laps == LAPS * additions ? HN_CUPTI_SUCCESS : INVALID_OPERATION;
}

/* A kernel that moves 6 MB and waits for it. */
static double value_of(const char *name)
{
    static const struct {
        const char *name;
        double value;
    } known[] = {
        {"gpu__time_duration.sum", 3000},
        {"sm__cycles_elapsed.max", 5000},
        {"sm__cycles_active.avg", 4800},
        {"sm__cycles_active.max", 4900},
        {"dram__bytes_read.sum", 4e6},
        {"dram__bytes_write.sum", 2e6},
        {"smsp__average_thread_inst_executed_per_inst_executed.ratio", 32},
        {"smsp__average_warps_active_per_issue_active.ratio", 20},
        {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", 16},
        {"sm__warps_active.avg.pct_of_peak_sustained_active", 85},
        {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 31250},
        {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 125000},
        {"smsp__sass_data_bytes_mem_global_op_ld.sum", 4e6},
        {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", 15625},
        {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 62500},
        {"smsp__sass_data_bytes_mem_global_op_st.sum", 2e6},
        {"lts__t_sectors.sum", 187500},
        {"lts__t_sectors_srcunit_tex.sum", 187500},
        {"lts__t_sectors_srcunit_tex_lookup_hit.sum", 62500},
    };
    double value = 0;
    if (find("HONE_DOUBLE_COUNTERS", name, &value))
        return value;
    if (strcmp(name, "smsp__inst_executed.sum") == 0)
        return 1000 * (double)counted / LAPS;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].value;
    if (strstr(name, ".pct_of_peak") != NULL)
        return strstr(name, "atomic") != NULL ? 0 : 10;
    return strstr(name, ".ratio") != NULL ? 0.25 : 0;
}

int cuptiProfilerHostEvaluateToGpuValues(struct hn_cupti_values *parameters)
{
    BEGIN(hn_cupti_values, values);
    for (size_t i = 0; i < parameters->count; i++)
        parameters->values[i] = value_of(parameters->names[i]);
    return HN_CUPTI_SUCCESS;
}
