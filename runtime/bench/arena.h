/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_BENCH_ARENA_H
#define HONE_RUNTIME_BENCH_ARENA_H

#include "base/hash.h"
#include "base/memory.h"
#include "runtime/bench/support.h"

/* All device memory of a plan and problem but the reference outputs: the argument buffers between guard zones,
 * pristine copies of inout arguments and the flush buffer in one block, so that a plan either fits or says at once
 * what needs how much; what the support kernels work with and report into elsewhere, where no argument's address
 * tells where. */

#define HN_GUARD_BYTES 65536u
/* What all arguments of a kernel may take together, from compute capability 7.0 on. */
#define HN_MAX_VALUE_BYTES 32764u

/* A buffer argument. Zero for scalars. */
struct hn_buffer {
    CUdeviceptr address;
    uint64_t count; /* elements, of vectors all lanes */
    uint64_t bytes;
    uint64_t row;   /* elements of a row, all lanes; 0: it has no rows */
    uint64_t pitch; /* bytes from one row to the next */
    uint64_t align; /* what the address is a multiple of, and below HN_MOST_ALIGN not of twice as much */
    CUdeviceptr contents; /* of what is filled: of an inout argument the pristine copy, else at the address */
    uint64_t checksum;    /* of an input or of the pristine copy, as filled */
    bool dynamic;         /* its count depends on parameters: placed for each variant */
    bool loaded;          /* its file was read before: it may not have changed since */
    struct hn_recipe recipe; /* of what is filled */
    char *file;           /* of what a file fills: its path */
    unsigned char *host;  /* of a value with contents: HN_MAX_VALUE_BYTES, those first */
};

/* Which arguments lie before and behind a guard zone; SIZE_MAX: none. */
struct hn_zone_owner {
    size_t before, behind;
};

struct hn_arena {
    struct hn_context *context;
    struct hn_support *support;
    const struct hn_plan *plan;
    struct hn_blocks memory; /* the host's */
    uint64_t seed;
    struct hn_random secret;   /* from the system's entropy: decides what variants must not foresee */
    uint64_t veil;             /* the key by which reference outputs are veiled */
    uint64_t poison;           /* the seed from which outputs were poisoned last */
    struct hn_buffer *buffers; /* one an argument of the plan */
    CUdeviceptr block;
    uint64_t argument_bytes; /* of the arguments with their guard zones, from `block` on */
    CUdeviceptr flush;
    uint64_t flush_bytes;
    uint64_t flush_checksum; /* nothing writes there, so that it guards what lies far behind the arguments */
    CUdeviceptr service; /* a block of its own for all that follows */
    CUdeviceptr stamps;  /* HN_MAX_STAMPS hn_stamp */
    CUdeviceptr sink;

    CUdeviceptr zone_table;
    struct hn_zone *zones; /* of the block, then of the dynamic buffers */
    struct hn_zone_owner *owners;
    size_t static_zones, zone_count;

    CUdeviceptr dynamic_block;
    uint64_t dynamic_bytes;

    CUdeviceptr set_block; /* further sets of the argument buffers, for batches of short kernels: as the first, but
                              with inputs of another seed each */
    size_t set_count;      /* sets, the first included */
    size_t lent_set;       /* the one that holds the first set's inputs, until the next restore; 0: none */
    bool sets_tried;       /* there are as many as memory allows */
    bool sets_filled;

    uint64_t contents;      /* how often it was filled */
    uint64_t contents_seed; /* from which seed last */
    bool spoiled;           /* inputs were overwritten, which a pipeline is to upload again */

    CUtexObject *textures; /* HN_MAX_SETS of each argument, 0 until it is asked for; NULL: none was */

    CUdeviceptr results;
    unsigned char *host_results;
    size_t result_bytes;
};

#define HN_MAX_STAMPS 32u
#define HN_MAX_SETS 32u

/* As much as lies between what has the strictest alignment. */
static inline uint64_t hn_arena_align(uint64_t bytes)
{
    return (bytes + HN_MOST_ALIGN - 1) / HN_MOST_ALIGN * HN_MOST_ALIGN;
}

/* values: of the plan's names. HN_ERUN with a table when the plan does not fit; HN_ECONFIG for a count below 1, or one
 * that depends on parameters where that is not possible. */
void hn_arena_init(struct hn_arena *arena, struct hn_context *context, struct hn_support *support,
                   const struct hn_plan *plan, const struct hn_value *values, struct hn_error *err);
void hn_arena_finish(struct hn_arena *arena);

/* Fills the inputs and notes their checksums. Also repairs what a variant has damaged. */
void hn_arena_fill(struct hn_arena *arena, uint64_t seed, struct hn_error *err);
void hn_arena_repair(struct hn_arena *arena, struct hn_error *err);

/* Reads a data file into the first set's buffer of a compared argument, whose padding becomes that of an input.
 * HN_ECONFIG: it holds nothing but NaN and infinities. */
void hn_arena_load(struct hn_arena *arena, size_t argument, const char *path, struct hn_error *err);

/* Puts the first set's arguments into the state that a launch expects: inout restored, counters and metrics zeroed. */
void hn_arena_restore(struct hn_arena *arena, struct hn_error *err);
/* Poisons the outputs of the first `sets` sets, or their scratch, from that seed (support_fill.cuh). */
void hn_arena_poison(struct hn_arena *arena, enum hn_role role, size_t sets, uint64_t seed, struct hn_error *err);
/* Writes what is there, as poison writes other bytes: the same to caches. Of all arguments of that role in the first
 * `sets` sets. */
void hn_arena_rewrite(struct hn_arena *arena, enum hn_role role, size_t sets, struct hn_error *err);
/* Gives a set the first one's inputs, so that its outputs have to be the reference's. */
void hn_arena_lend_inputs(struct hn_arena *arena, size_t set, struct hn_error *err);
/* Fills these sets again, and what lies between their buffers with a byte that no variant knows. */
void hn_arena_renew_sets(struct hn_arena *arena, struct hn_error *err);
/* Fills the inputs of all sets in use from another seed, but files, without noting checksums: it is called again
 * with the arena's seed before anything is checked. */
void hn_arena_refill(struct hn_arena *arena, uint64_t seed, struct hn_error *err);

/* Places the buffers whose count depends on parameters. Returns 0, or where there is not enough memory how many bytes
 * there had to be. */
uint64_t hn_arena_place(struct hn_arena *arena, const struct hn_value *values, struct hn_error *err);

/* Makes up to `wanted` sets of the arguments, fewer where memory does not allow; at least the first. */
void hn_arena_make_sets(struct hn_arena *arena, size_t wanted, size_t *count, struct hn_error *err);
CUdeviceptr hn_arena_address(const struct hn_arena *arena, size_t set, size_t argument);
/* An argument's elements, where such a buffer begins at `data`. */
struct hn_elements hn_arena_elements(const struct hn_arena *arena, size_t argument, CUdeviceptr data);

/* The texture object of an argument of that role, over a set's buffer; made when it is first asked for. */
CUresult hn_arena_texture(struct hn_arena *arena, size_t set, size_t argument, CUtexObject *texture);

/* Where the results of an argument's checks go, what the host has read of them, and the sum of checksums and counts.
 * The flush buffer is one more argument, and in the place of another one stands a struct hn_damage for each zone. */
enum hn_slot { HN_SLOT_CHECKSUM, HN_SLOT_COMPARE, HN_SLOT_REFERENCE, HN_SLOT_COUNT };
CUdeviceptr hn_arena_slot(const struct hn_arena *arena, size_t argument, enum hn_slot slot);
const void *hn_arena_found(const struct hn_arena *arena, size_t argument, enum hn_slot slot);
uint64_t hn_arena_sum(const struct hn_arena *arena, size_t argument, enum hn_slot slot);
/* Writes the table of guard zones again, lest a variant has changed where they are looked for, or the zones too. */
void hn_arena_write_zones(struct hn_arena *arena, bool all, struct hn_error *err);
/* Waits for all that was queued and reads the results. */
void hn_arena_read_results(struct hn_arena *arena, struct hn_error *err);

#endif
