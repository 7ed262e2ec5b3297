/* SPDX-License-Identifier: MIT */
/* Guard zones around buffers, whose bytes follow from their addresses. */

/* A guard zone: `bytes` bytes from `start` on. */
struct hone_zone {
    u64 start;
    u64 bytes;
};

/* Offsets in a zone of the first and the last byte that changed; NOWHERE when none did. */
struct hone_damage {
    u64 first;
    u64 last;
};

DEVICE unsigned char guard_byte(u64 address)
{
    return (unsigned char)(mix(address >> 3) >> ((address & 7) * 8));
}

/* One block a zone. */
KERNEL hone_write_zones(const struct hone_zone *zones)
{
    struct hone_zone zone = zones[blockIdx.x];
    for (u64 i = threadIdx.x; i < zone.bytes; i += blockDim.x)
        *(unsigned char *)(zone.start + i) = guard_byte(zone.start + i);
}

KERNEL hone_check_zones(const struct hone_zone *zones, struct hone_damage *damage)
{
    __shared__ struct hone_damage shared[THREADS];
    struct hone_zone zone = zones[blockIdx.x];
    struct hone_damage own = {NOWHERE, 0};
    for (u64 i = threadIdx.x; i < zone.bytes; i += blockDim.x) {
        if (*(const unsigned char *)(zone.start + i) == guard_byte(zone.start + i))
            continue;
        if (own.first == NOWHERE)
            own.first = i;
        own.last = i;
    }
    shared[threadIdx.x] = own;
    __syncthreads();
    for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            struct hone_damage other = shared[threadIdx.x + half];
            struct hone_damage *mine = &shared[threadIdx.x];
            mine->first = other.first < mine->first ? other.first : mine->first;
            mine->last = other.last > mine->last ? other.last : mine->last;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        damage[blockIdx.x] = shared[0];
}
