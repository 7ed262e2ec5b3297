/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "double.h"

/* FAULT of tests/fault/fault.yaml, in the order declared there. What is not known here fails before
 * any launch, or is a matter of the compiler. */
enum fault {
    FAULT_NONE = 1,
    FAULT_ILLEGAL_ADDRESS = 12,
    FAULT_MISALIGNED_ADDRESS,
    FAULT_DEVICE_ASSERT,
    FAULT_TRAP,
    FAULT_WRONG_ELEMENT,
    FAULT_UNWRITTEN_ELEMENT,
    FAULT_WRITE_PAST_END,
    FAULT_WRITE_BEFORE_START,
    FAULT_WRITE_FAR_PAST,
    FAULT_WRITE_INPUT,
    FAULT_ENDLESS_LOOP,
    FAULT_UNSTEADY,
    FAULT_PRINTF_FLOOD,
};

/* What shows at the next synchronisation, from which the context does not recover. */
static CUresult context_fault(int fault)
{
    switch (fault) {
    case FAULT_ILLEGAL_ADDRESS:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case FAULT_MISALIGNED_ADDRESS:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case FAULT_DEVICE_ASSERT:
        fputs("fault.cu:1: misbehave: block: [0,0,0], thread: [0,0,0] Assertion `n > 1000000000` "
              "failed.\n",
              stderr);
        return CUDA_ERROR_ASSERT;
    case FAULT_TRAP:
        return CUDA_ERROR_LAUNCH_FAILED;
    default:
        return CUDA_SUCCESS;
    }
}

/* A buffer of 1 MiB between device and host, full. */
static void flood(void)
{
    for (int line = 0; line < 10000; line++)
        puts("the same line from every thread of every block, more than the buffer between device "
             "and host holds");
    fflush(stdout);
}

static void write_memory(int fault, uint64_t launches, float *x, float *y, int n)
{
    switch (fault) {
    case FAULT_WRONG_ELEMENT:
        y[n / 2] += 1.0f;
        break;
    case FAULT_WRITE_PAST_END:
        y[n] = 1.0f;
        break;
    case FAULT_WRITE_BEFORE_START:
        y[-1] = 1.0f;
        break;
    case FAULT_WRITE_FAR_PAST:
        y[n + 32768] = 1.0f;
        break;
    case FAULT_WRITE_INPUT:
        x[0] += 1.0f;
        break;
    case FAULT_UNSTEADY:
        y[0] += (float)(launches - 1);
        break;
    case FAULT_PRINTF_FLOOD:
        flood();
        break;
    default:
        break;
    }
}

/* The best is BLOCK 256 with ITEMS 4; every factor of two away from it costs 10% or 5%. */
static double time_us(int block, int items, int fault)
{
    double factor = 1.0 + 0.1 * fabs(log2(block) - 8.0) + 0.05 * fabs(log2(items) - 2.0);
    return 50.0 * factor * (fault == FAULT_PRINTF_FLOOD ? 10.0 : 1.0);
}

CUresult double_fault_run(const struct double_launch *launch)
{
    float *x = *(float **)launch->parameters[0];
    float *y = *(float **)launch->parameters[1];
    float a = *(float *)launch->parameters[3];
    int n = *(int *)launch->parameters[4];
    if (launch->function->module->table_count < 3)
        return CUDA_ERROR_INVALID_IMAGE;
    int block = launch->function->module->table[0];
    int items = launch->function->module->table[1];
    int fault = launch->function->module->table[2];
    launch->device->pending = context_fault(fault);
    launch->device->hangs = fault == FAULT_ENDLESS_LOOP;
    if (launch->device->pending != CUDA_SUCCESS || launch->device->hangs)
        return CUDA_SUCCESS;
    uint64_t covered =
        (uint64_t)launch->geometry->grid[0] * launch->geometry->block[0] * (uint64_t)items;
    int written = covered < (uint64_t)n ? (int)covered : n;
    for (int i = 0; i < written - (fault == FAULT_UNWRITTEN_ELEMENT); i++)
        y[i] = a * x[i];
    write_memory(fault, launch->function->launches, x, y, n);
    return double_took(launch, time_us(block, items, fault));
}
