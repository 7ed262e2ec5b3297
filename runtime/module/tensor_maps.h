/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_MODULE_TENSOR_MAPS_H
#define HONE_RUNTIME_MODULE_TENSOR_MAPS_H

#include "runtime/device/driver.h"
#include "runtime/plan/tensor_map.h"

/* Encodes what hn_tensor_check has passed, over the buffer at that address. CUDA_ERROR_NOT_SUPPORTED: the driver has no
 * tensor maps. */
CUresult hn_tensor_encode(const struct hn_driver *driver, const struct hn_tensor *tensor, CUdeviceptr address,
                          CUtensorMap *map);

#endif
