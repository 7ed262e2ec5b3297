/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_DEVICE_CODE_H
#define HONE_TUNER_INIT_DEVICE_CODE_H

#include "tuner/init/source_text.h"

/* What of a source is for the device. */

/* source->code with blanks for the bodies of host functions; of the same length; free it. NULL when out of memory. *host:
 * there are such bodies. */
char *hn_device_code(const struct hn_source_text *source, bool *host);

#endif
