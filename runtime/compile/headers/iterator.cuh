/* SPDX-License-Identifier: MIT */
/* Device code goes through arrays by pointers; CUB of CUDA 12 includes it for the host. */
