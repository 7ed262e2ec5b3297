// SPDX-License-Identifier: MIT
// Stages of shared memory that one fills and others read: STAGES of them, used in turn. Whoever goes by the same order knows
// a stage by the same count.
#ifndef HONE_STAGES_CUH
#define HONE_STAGES_CUH

// The next stage, and the parity of the phase in which it is full.
struct ring {
    int stage = 0, parity = 0;
    __device__ __forceinline__ void advance(int count = 1)
    {
        stage += count;
        if (count == 1) {
            if (stage == STAGES) {
                stage = 0;
                parity ^= 1;
            }
        } else {
            parity ^= stage / STAGES % 2;
            stage %= STAGES;
        }
    }
};

#endif
