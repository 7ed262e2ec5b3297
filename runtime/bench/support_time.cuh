/* SPDX-License-Identifier: MIT */
/* What a timed launch needs around it. */

/* Reads a buffer larger than the L2 cache, which leaves it full of clean lines: a memset would leave dirty ones, and
 * their write-back would fall into the time of the kernel after it. */
KERNEL hone_flush(const ulonglong2 *data, u64 count, u64 *sink)
{
    u64 own = 0;
    for (u64 i = first_index(); i < count; i += index_stride()) {
        ulonglong2 word = data[i];
        own += word.x ^ word.y;
    }
    /* Never true in practice; keeps the loads. */
    if (own == 0x5bd1e995a3c59ac3ull)
        *sink = own;
}

/* Clock cycles and nanoseconds that a spin took: their ratio is the SM clock. */
struct hone_stamp {
    u64 cycles;
    u64 nanoseconds;
};

/* Holds the stream back while the host queues what is to be timed. One thread. The bound in cycles ends it even where
 * the global timer stands still. */
KERNEL hone_spin(u64 nanoseconds, struct hone_stamp *stamp)
{
    u64 start, now;
    long long first = clock64();
    long long cycles = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        cycles = clock64() - first;
    } while (now - start < nanoseconds && (u64)cycles < nanoseconds * 8);
    stamp->cycles = (u64)cycles;
    stamp->nanoseconds = now - start;
}
