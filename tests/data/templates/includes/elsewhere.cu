// What others than Hone define may need files that only they have.
#ifdef USE_TUNED
#include "tuned.h"
#endif
#if 1
#include "one.cuh"
#endif
extern "C" __global__ void k() {}
