/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_DOUBLE_H
#define HONE_TESTS_DOUBLE_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* A driver that runs on the CPU: libcuda.so.1 for tests, found through LD_LIBRARY_PATH. Memory is the heap's, modules
 * are real cubins of which only the kernels' names and the table `hone_double` are read, kernels are C functions of
 * the same names, and time is simulated. It depends on nothing of Hone but the text of runtime/bench/support.cu.
 *
 *   HONE_DOUBLE_MEMORY=BYTES  the device's memory (96 MiB)
 *   HONE_DOUBLE_FAIL=N        the N-th call of the driver fails, with CUDA_ERROR_UNKNOWN or
 *   HONE_DOUBLE_ERROR=CODE    this result
 *   HONE_DOUBLE_THROTTLE=N    every N-th spin finds the SM clock at half of its maximum
 *   HONE_DOUBLE_POISON_US=N   launches of a sample before which outputs were poisoned take so much longer each, whatever the kernel
 *   HONE_DOUBLE_POISON_ONCE=FILE  only in the first process that launches behind poison, which makes that file
 *   HONE_DOUBLE_STRICT=1      releasing a context that still has memory, modules, events or graphs in it aborts
 *   HONE_DOUBLE_COUNT=N       how many devices there are (1)
 *   HONE_DOUBLE_NAME=NAME     what they are called
 *   HONE_DOUBLE_NO_L2=1       nothing of the L2 cache can be set aside
 *   HONE_DOUBLE_CAPTURING=1   streams are being captured, as far as who asks is told; looked up when somebody asks
 *   HONE_DOUBLE_LATE=1        kernels of all but the first stream run as late as they may; there is no time then
 *   HONE_DOUBLE_PACES=FILE    a line for each process, how much longer its kernels take, or below 0: the driver does not come up; it
 *                             takes the first one away
 * They are read by cuInit. */

enum { DOUBLE_MAX_PARAMETERS = 64, DOUBLE_MAX_NAMES = 64, DOUBLE_MAX_TABLE = 16, DOUBLE_MAX_GLOBALS = 16 };

struct double_module;

struct double_function {
    struct double_module *module;
    char name[256];
    int max_shared_bytes, carveout;
    bool large_clusters;
    int parameter_bytes, parameter_count;
    struct {
        size_t offset, bytes;
    } parameters[DOUBLE_MAX_PARAMETERS]; /* those that come first */
    uint64_t launches;
};

/* A variable of a module. */
struct double_global {
    char name[256];
    uint64_t bytes;
    void *data; /* NULL until somebody asks for it */
};

struct double_module {
    struct double_module *next;
    struct double_function functions[DOUBLE_MAX_NAMES];
    int function_count;
    int table[DOUBLE_MAX_TABLE]; /* the template's `extern "C" __device__ const int hone_double[]` */
    int table_count;
    struct double_global globals[DOUBLE_MAX_GLOBALS];
    int global_count;
};

/* What the simulated device is doing. */
struct double_device {
    double now_us;      /* simulated time at the end of all that was queued */
    CUresult fault;     /* sticky, from the next synchronisation on */
    CUresult pending;   /* of what was launched and not waited for */
    bool hangs;         /* an endless kernel is running */
    bool flushed;       /* the L2 cache holds nothing of the arguments */
    uint64_t cached;    /* the buffer that the last kernel read */
    double slowness;    /* how much longer this one takes than the first; 0: it does not */
    double pace;        /* how much longer kernels take in this process; 0: they do not */
    uint64_t events;    /* counts what draws pseudo-random noise */
    long throttle;
    uint64_t spins;
    bool poisoned;      /* since the last sample */
    bool after_poison;  /* the sample that is being taken comes behind poison */
    size_t set_aside;   /* of the L2 cache, for what persists */
    uint64_t persisting; /* the buffer that the last launch with a window made persist */
};

/* The variable's memory; NULL when it was never asked for, so that it is zero. */
void *double_global(const struct double_module *module, const char *name);
/* The same for kernels: its memory is made where it was never asked for. */
void *double_variable(struct double_module *module, const char *name);

/* Reads names and table of a cubin. CUDA_ERROR_INVALID_IMAGE when it is none. */
CUresult double_module_read(const void *image, struct double_module *module);

/* A texture object: its handle is its address. */
struct double_texture {
    struct double_texture *next;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC description;
};

struct double_geometry {
    unsigned int grid[3], block[3], shared_bytes, cluster[3];
    bool cooperative, programmatic;
    CUaccessPolicyWindow window;
};

/* A launch, which each kernel of the double is given. */
struct double_launch {
    struct double_device *device;
    struct double_function *function;
    const struct double_geometry *geometry;
    void **parameters;
};
typedef CUresult double_kernel(const struct double_launch *launch);
#define TAKE(type, index) (*(type *)launch->parameters[index])

/* A kernel's parameters, kept beyond its launch; larger ones are cut. */
enum { DOUBLE_KEPT_PARAMETERS = 16, DOUBLE_KEPT_WORDS = 16 };
struct double_values {
    uint64_t words[DOUBLE_KEPT_PARAMETERS][DOUBLE_KEPT_WORDS];
};
void double_values_keep(struct double_values *values, const struct double_function *function, void **parameters);
void double_values_point(struct double_values *values, void *parameters[DOUBLE_KEPT_PARAMETERS]);

/* Ends a kernel that takes so long, with noise and leaving something else in the cache, or just so long. */
CUresult double_took(const struct double_launch *launch, double us);
CUresult double_took_exactly(const struct double_launch *launch, double us);

/* Runs a kernel and advances the device's time. CUDA_ERROR_NOT_SUPPORTED for one that the double does not know. */
double_kernel double_kernel_run;

/* The kernels of the other templates of tests/data/double.txt; CUDA_ERROR_NOT_SUPPORTED for what is none of them. */
double_kernel double_template_run;

/* cheats.c */
double_kernel double_cheat, double_first_step, double_second_step, double_cheats_reference;
/* tensor.c */
enum { DOUBLE_MAP_RANK = 5 };
double_kernel double_tensor, double_tensor_reference;
unsigned long double_maps_encoded(void); /* how often one was, for tests that ask */

/* The kernel of tests/fault/fault.cu. */
double_kernel double_fault_run;

/* A factor between 0.999 and 1.001 that looks random and is the same in every run. */
double double_noise(struct double_device *device);
/* How much longer launches take behind poison. */
double double_poison_us(void);

/* False for what the double does not know. */
bool double_attribute(CUdevice_attribute attribute, int *value);

#endif
