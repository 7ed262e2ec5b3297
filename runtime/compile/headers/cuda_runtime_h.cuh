/* SPDX-License-Identifier: MIT */
/* What kernels need of the runtime API is the compiler's; this is taken where the toolkit's headers are not found. */
