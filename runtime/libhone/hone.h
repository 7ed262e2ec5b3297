/* SPDX-License-Identifier: MIT */
#ifndef HONE_H
#define HONE_H

/* libhone: tuned kernels inside your program. Open a cache that `hone tune` wrote, ask for a kernel for a problem,
 * launch it on a stream. docs/library.md is the manual, with a complete program.
 *
 * Every call that can fail returns a status and, where `err` is not NULL, says why in err->message; the library prints
 * nothing, ends nothing and keeps nothing outside of the caches that you open. It works in the context that is current
 * (cuCtxGetCurrent: with the runtime API the device's primary context) and never calls cuInit. All functions are safe
 * to call from several threads at once, but hone_close, before which all others on that cache have to have returned.
 * Strings and arrays are borrowed for the call. */

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_VERSION_MAJOR 0
#define HONE_VERSION_MINOR 1
#define HONE_VERSION_PATCH 0

/* Numbers never change; new ones may come. */
enum hone_status {
    HONE_OK = 0,
    HONE_INVALID = 1,        /* wrong use: NULL, an unknown name, a wrong type, a value out of range */
    HONE_NO_MEMORY = 2,      /* on the host */
    HONE_NOT_FOUND = 3,      /* no such cache, kernel or tuned result */
    HONE_NEEDS_COMPILER = 4, /* a miss, and options.forbid_compile is set, or there is no `hone` that compiles */
    HONE_COMPILE_FAILED = 5, /* NVRTC is missing, failed or took too long, or the kernel does not compile */
    HONE_UNSUPPORTED = 6,    /* the plan cannot be launched by the library (a pipeline of host and device) */
    HONE_BAD_FILE = 7,       /* not a cache, corrupt, truncated, or newer than this library */
    HONE_SYSTEM = 8,         /* a file cannot be read, a process cannot be started */
    HONE_CUDA = 9,           /* the driver refused: err->cuda says what */
    HONE_TUNE_FAILED = 10,   /* `hone tune` failed or found nothing in time */
    HONE_CAPTURE_FAILED = 11, /* the launch took place; its capture could not be written */
    HONE_UNTRUSTED = 12      /* others than the user can write to the cache, and options.trust does not allow that */
};

struct hone_error {
    CUresult cuda; /* of HONE_CUDA; else CUDA_SUCCESS */
    char message[1020]; /* without control bytes but newlines and tabs */
};

/* "HONE_NOT_FOUND"; never NULL. */
const char *hone_status_name(enum hone_status status);
/* "0.1.0": of the library, which may be newer than this header. */
const char *hone_version(void);

struct hone_cache;

/* path: a cache file (hone.db), a folder of recorded tunings (*.json, *.json.gz), or NULL for the cache that `hone`
 * uses ($HONE_CACHE, else $XDG_CACHE_HOME/hone/hone.db, else ~/.cache/hone/hone.db). It is only read, but for what
 * HONE_MISS_TUNE and options.race_cache add. HONE_CAPTURE and HONE_FREEZE_AFTER are
 * looked up here (docs/library.md). HONE_NOT_FOUND, HONE_BAD_FILE, HONE_SYSTEM. */
enum hone_status hone_open(const char *path, struct hone_cache **cache, struct hone_error *err);
/* Frees the cache with all its kernels and their device memory. Wait for what was launched first, and close before the
 * context is destroyed. NULL is fine. */
void hone_close(struct hone_cache *cache);

/* A problem value by its name in the config, as hone_integer("M", 4096). */
enum hone_value_kind { HONE_INTEGER = 1, HONE_REAL, HONE_BOOLEAN, HONE_WORD };

struct hone_value {
    const char *name;
    enum hone_value_kind kind;
    union {
        int64_t integer;
        double real;
        int boolean;
        const char *word;
    } as;
};

#define HONE_DEFINE_VALUE(function, KIND, type, member)                                                                \
    static inline struct hone_value function(const char *name, type given)                                             \
    {                                                                                                                  \
        struct hone_value value;                                                                                       \
        value.name = name;                                                                                             \
        value.kind = KIND;                                                                                             \
        value.as.integer = 0;                                                                                          \
        value.as.member = given;                                                                                       \
        return value;                                                                                                  \
    }

HONE_DEFINE_VALUE(hone_integer, HONE_INTEGER, int64_t, integer)
HONE_DEFINE_VALUE(hone_real, HONE_REAL, double, real)
HONE_DEFINE_VALUE(hone_boolean, HONE_BOOLEAN, int, boolean)
HONE_DEFINE_VALUE(hone_word, HONE_WORD, const char *, word)
#undef HONE_DEFINE_VALUE

/* What to do when nothing was tuned for this very problem on a device like this one, and no rule of a family is sure about it. */
enum hone_miss {
    HONE_MISS_NEAREST = 0, /* what the rule of a family says, else the nearest tuned result that is valid for the problem; if none is, the default */
    HONE_MISS_FAIL = 1,    /* HONE_NOT_FOUND */
    HONE_MISS_DEFAULT = 2, /* the template's default point */
    HONE_MISS_TUNE = 3,    /* run `hone tune` on this cache, for tune_seconds, and remember what it finds */
    HONE_MISS_RACE = 4     /* as HONE_MISS_NEAREST, and up to three other points that may be faster take turns in the handle's
                              launches until it is known which is the fastest: hone_kernel_race */
};

/* Whose kernels are run: machine code and templates of a cache are somebody's programs. */
enum hone_trust {
    HONE_TRUST_OWN = 0, /* of caches and recordings that the user or root owns, with what lies beside them and all folders
                           above, where neither others nor a group can write, but one of the user's own number; else HONE_UNTRUSTED */
    HONE_TRUST_ANY = 1
};

/* All zero is fine: struct hone_options options = {0}. */
struct hone_options {
    enum hone_miss on_miss;
    int forbid_compile;       /* never compile: HONE_NEEDS_COMPILER where the cache has no machine code that fits */
    int separate;             /* a handle of its own: symbols that it sets are seen by no other */
    const char *regime;       /* "cold", "warm", "stream", "graph", "graph10"; NULL: cold before others */
    const char *objective;    /* as the config names it: "time", "energy", a metric; NULL: time before others */
    double tune_seconds;      /* of HONE_MISS_TUNE; 0: 30 */
    const char *tune_command; /* `hone`, which tunes and compiles in processes of its own; NULL: $HONE_COMMAND, else
                                 bin/hone beside the library, else on the PATH */
    const char *tune_config;  /* path of the config; NULL: where it was when the cache was written */
    enum hone_trust trust;
    const char *race_cache;   /* of HONE_MISS_RACE: the cache file into which the result is written, made where it is missing;
                                 it may be the one that is open. NULL: it is not kept */
    int graph;                /* launches of several kernels, or of one and what is zeroed before it, are replayed as CUDA graphs */
    uint64_t reserved[1];     /* zero: room for options of later versions */
};

struct hone_kernel;

/* The kernel of that name for a problem, all of whose values are given, in the current context. The first call for a
 * problem looks it up, loads the machine code or has it compiled (by `hone`, for 60 s and in 4 GiB at most); later ones with the same values give the same handle,
 * without a lock or an allocation. The handle belongs to the cache. options may be NULL.
 * HONE_UNSUPPORTED in a process that was forked after the cache was opened. */
enum hone_status hone_get(struct hone_cache *cache, const char *kernel, const struct hone_value *problem,
                          size_t problem_count, const struct hone_options *options, struct hone_kernel **handle,
                          struct hone_error *err);

/* How near the tuned result is that a kernel was made from. */
enum hone_grade {
    HONE_GRADE_DEFAULT = 0,      /* not tuned: the template's default point */
    HONE_GRADE_ANY = 1,          /* tuned on another architecture */
    HONE_GRADE_ARCHITECTURE = 2, /* on another device of the same compute capability */
        HONE_GRADE_PROBLEM = 3,      /* on this device for another problem */
    HONE_GRADE_FAMILY = 4,       /* chosen by the rule that was learnt of a family of problems */
    HONE_GRADE_EXACT = 5         /* on this device for this problem */
};

/* What is lost by a rule to tuning each problem, as a share of the time (0.021: 2.1%), over so many problems that it was not
 * learnt from. sizes 0: not known. */
struct hone_loss {
    double mean, worst;
    uint64_t sizes;
};

/* What a handle is, and the record that it was made from. Strings live as long as the handle; none is NULL. Times and
 * what follows are of the record: zero and empty for HONE_GRADE_DEFAULT. Of HONE_GRADE_FAMILY there is no record: device and
 * versions are those that the rule was learnt with, `recorded` is when. */
struct hone_info {
    const char *kernel;
    const char *problem; /* asked for: "K=32,M=4096,N=4096" */
    const char *point;   /* of the parameters: "BLOCK=256,ITEMS=4" */
    enum hone_grade grade;
    int compiled;              /* NVRTC was called for it; else machine code was in the cache, or compiled before */
    int simulated;             /* the record comes from a simulated tuning, not from this cache's GPU */
    int stale;                 /* measured with another driver, protocol, template or version than what is here or newest */
    const char *stale_because; /* "driver 580.82 -> 580.159"; "" when not stale */
    const char *tuned_problem;
    const char *device;
    const char *regime;       /* as above; "unknown" of what Kernel Tuner measured */
    const char *objective;
    const char *verification; /* "verified", "self-verified", "unverified", "not recorded" */
    const char *driver;
    const char *nvrtc;
    double median_us; /* of one launch of the whole plan */
    double low_us;    /* the 95% interval of the median */
    double high_us;
    double recorded;    /* seconds since the epoch, UTC */
    const char *record; /* the whole record as JSON (docs/formats.md); "{}" */
    int imported;       /* it was not measured by the Hone that keeps the cache */
        const char *origin; /* "measured on node7", "imported from a.json.gz on 2026-11-22", "read from a.json.gz"; "" */
    int sure;           /* of HONE_GRADE_FAMILY: learnt on this device, the problem is inside of the ranges that it was learnt for, and
                           what the rule says there does not hang on a guess */
    struct hone_loss predicted, measured; /* of HONE_GRADE_FAMILY */
    struct hone_loss choice;   /* the measured one told apart: what is chosen to the best configuration of the rule, */
    struct hone_loss coverage; /* that to the best that serves all problems, */
    struct hone_loss freezing; /* and that to the best of all, whose program has values of the problem as constants */
};
/* NULL for NULL. */
const struct hone_info *hone_kernel_info(const struct hone_kernel *kernel);

/* How the race of a handle stands that was asked for with HONE_MISS_RACE or HONE_FREEZE_AFTER. */
struct hone_race {
    size_t points;     /* that take part, the handle's own among them: 2 to 4; 1 until its frozen program is compiled */
    uint64_t launches; /* that were timed so far, by events on their streams; some ten of each point */
    int finished;      /* the fastest is known: all launches are of it from now on */
    int recorded;      /* the result is in options.race_cache */
    const char *point; /* the fastest so far: "BLOCK=256,ITEMS=4"; lives as long as the handle */
    double median_us;  /* of its launches in the race; 0: not known yet */
    const char *message; /* why the result is not recorded, or there is no frozen program; "" */
    uint64_t reserved[4];
};
/* HONE_NOT_FOUND: it is not raced, since its choice is sure, or there is nothing to race it against, or it cannot be: kernels
 * that have symbols or metrics, or change what they read (arguments of role inout) in several steps. HONE_INVALID: an argument
 * is NULL. Each launch is carried out once, by one of the points; each of these was verified by the tuning that found it and is
 * valid for the problem, so that outputs differ by rounding alone. */
enum hone_status hone_kernel_race(const struct hone_kernel *kernel, struct hone_race *race);

/* An argument of a launch by its name in the config. */
enum hone_argument_kind {
    HONE_BUFFER = 1, /* CUdeviceptr */
    HONE_TEXTURE,    /* CUtexObject */
    HONE_BYTES,      /* a structure passed by value, or the contents of a symbol: host memory, borrowed for the call */
    HONE_INT8,
    HONE_INT16,
    HONE_INT32,
    HONE_INT64,
    HONE_UINT8,
    HONE_UINT16,
    HONE_UINT32,
    HONE_UINT64,
    HONE_FLOAT32,
    HONE_FLOAT64,
    HONE_FLOAT16, /* its bits */
    HONE_BFLOAT16, /* its bits */
    HONE_FLOAT8_E4M3 /* its bits */
};

struct hone_argument {
    const char *name;
    enum hone_argument_kind kind;
    uint32_t bytes; /* of HONE_BYTES */
    union {
        uint64_t bits;
        CUdeviceptr buffer;
        const void *host;
        int8_t int8;
        int16_t int16;
        int32_t int32;
        int64_t int64;
        uint8_t uint8;
        uint16_t uint16;
        uint32_t uint32;
        float float32;
        double float64;
    } as;
};

#define HONE_DEFINE_ARGUMENT(function, KIND, type, member)                                                             \
    static inline struct hone_argument function(const char *name, type value)                                          \
    {                                                                                                                  \
        struct hone_argument argument;                                                                                 \
        argument.name = name;                                                                                          \
        argument.kind = KIND;                                                                                          \
        argument.bytes = 0;                                                                                            \
        argument.as.bits = 0;                                                                                          \
        argument.as.member = value;                                                                                    \
        return argument;                                                                                               \
    }

HONE_DEFINE_ARGUMENT(hone_buffer, HONE_BUFFER, CUdeviceptr, buffer)
HONE_DEFINE_ARGUMENT(hone_texture, HONE_TEXTURE, CUtexObject, bits)
HONE_DEFINE_ARGUMENT(hone_int8, HONE_INT8, int8_t, int8)
HONE_DEFINE_ARGUMENT(hone_int16, HONE_INT16, int16_t, int16)
HONE_DEFINE_ARGUMENT(hone_int32, HONE_INT32, int32_t, int32)
HONE_DEFINE_ARGUMENT(hone_int64, HONE_INT64, int64_t, int64)
HONE_DEFINE_ARGUMENT(hone_uint8, HONE_UINT8, uint8_t, uint8)
HONE_DEFINE_ARGUMENT(hone_uint16, HONE_UINT16, uint16_t, uint16)
HONE_DEFINE_ARGUMENT(hone_uint32, HONE_UINT32, uint32_t, uint32)
HONE_DEFINE_ARGUMENT(hone_uint64, HONE_UINT64, uint64_t, bits)
HONE_DEFINE_ARGUMENT(hone_float32, HONE_FLOAT32, float, float32)
HONE_DEFINE_ARGUMENT(hone_float64, HONE_FLOAT64, double, float64)
HONE_DEFINE_ARGUMENT(hone_float16, HONE_FLOAT16, uint16_t, uint16)
HONE_DEFINE_ARGUMENT(hone_bfloat16, HONE_BFLOAT16, uint16_t, uint16)
HONE_DEFINE_ARGUMENT(hone_float8_e4m3, HONE_FLOAT8_E4M3, uint8_t, uint8)
#undef HONE_DEFINE_ARGUMENT

static inline struct hone_argument hone_bytes(const char *name, const void *host, uint32_t bytes)
{
    struct hone_argument argument;
    argument.name = name;
    argument.kind = HONE_BYTES;
    argument.bytes = bytes;
    argument.as.bits = 0;
    argument.as.host = host;
    return argument;
}

/* What hone_launch does about an argument. */
enum hone_need {
    HONE_REQUIRED = 1, /* has to be given */
    HONE_FIXED,        /* follows from the problem: may be left out; another value is refused */
    HONE_OPTIONAL,     /* may be left out: has a constant in the config, or is not used by this point */
    HONE_OWNED         /* scratch, counter or metric: the library has one for each stream; a tensor map: it makes one of the
                          buffer's address, and keeps it; may be given */
};

struct hone_argument_info {
    const char *name; /* lives as long as the kernel */
    enum hone_argument_kind kind;
    const char *type; /* of the config: "float32x4" */
    const char *role; /* of the config: "input", "output", "value", … */
    enum hone_need need;
    uint64_t bytes; /* of a buffer for this problem and point; of a scalar its size */
    uint64_t reserved[4];
};
/* The arguments of hone_launch, in their order. */
size_t hone_kernel_argument_count(const struct hone_kernel *kernel);
enum hone_status hone_kernel_argument(const struct hone_kernel *kernel, size_t index, struct hone_argument_info *info);

/* Queues one launch of the whole plan (all steps; counters are zeroed before, but for those that launches leave at zero,
 * which have to be zero when they are given) on a stream of the kernel's context. The
 * arguments stand in the order of the config, by their names; what may be left out is left out. Buffers have to be as
 * large as hone_kernel_argument says: sizes are not checked. The first launch on a stream allocates scratch memory
 * where the plan has some and it is not given; after that, launching takes no lock and allocates nothing: it can be
 * captured into a graph. CU_STREAM_PER_THREAD is a stream of its own in each thread. */
enum hone_status hone_launch(struct hone_kernel *kernel, CUstream stream, const struct hone_argument *arguments,
                             size_t count, struct hone_error *err);

/* Does now what the first launch on a stream would do: allocates scratch memory. */
enum hone_status hone_prepare(struct hone_kernel *kernel, CUstream stream, struct hone_error *err);

/* Queues copies of contents into the kernel's __constant__ and __device__ variables, which the config calls symbols:
 * buffers or bytes by the names of the symbols, or of the inputs that they take their contents from. Names that the
 * kernel's point has no symbol for are ignored. Needed once before the first launch where hone_kernel_symbol_count is
 * not 0, and again when contents change; all threads that use the handle see the same symbols. Bytes in pinned memory
 * have to stay until the copy is done. */
enum hone_status hone_set_symbols(struct hone_kernel *kernel, CUstream stream, const struct hone_argument *arguments,
                                  size_t count, struct hone_error *err);
/* The symbols whose contents have to be set, and how many bytes each takes. name and bytes may be NULL. */
size_t hone_kernel_symbol_count(const struct hone_kernel *kernel);
enum hone_status hone_kernel_symbol(const struct hone_kernel *kernel, size_t index, const char **name,
                                    uint64_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
