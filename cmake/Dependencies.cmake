# SPDX-License-Identifier: MIT
# Finds the libraries that Hone links and the CUDA headers that it is compiled against. Each library becomes a target
# hone::<name>. The driver and NVRTC are not linked: both are loaded at run time.

function(hone_find_library name header library package)
  find_path(HONE_${name}_INCLUDE ${header})
  if(HONE_STATIC_LIBS STREQUAL "AUTO")
    find_library(HONE_${name}_LIBRARY NAMES lib${library}.a ${library})
  elseif(HONE_STATIC_LIBS)
    find_library(HONE_${name}_LIBRARY NAMES lib${library}.a)
  else()
    find_library(HONE_${name}_LIBRARY NAMES ${library})
  endif()
  if(NOT HONE_${name}_INCLUDE OR NOT HONE_${name}_LIBRARY)
    message(FATAL_ERROR "${header} or lib${library} was not found; on Debian: apt-get install ${package}")
  endif()
  add_library(hone::${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(hone::${name} SYSTEM INTERFACE ${HONE_${name}_INCLUDE})
  target_link_libraries(hone::${name} INTERFACE ${HONE_${name}_LIBRARY})
endfunction()

hone_find_library(yaml yaml.h yaml libyaml-dev)
hone_find_library(sqlite sqlite3.h sqlite3 libsqlite3-dev)
hone_find_library(jansson jansson.h jansson libjansson-dev)
hone_find_library(xxhash xxhash.h xxhash libxxhash-dev)
hone_find_library(zlib zlib.h z zlib1g-dev)
target_link_libraries(hone::sqlite INTERFACE ${CMAKE_DL_LIBS} m pthread)

# HONE_CUDA_WHEELS: a folder that holds nvidia/cu13 as the PyPI wheels unpack it, for machines without a toolkit;
# scripts/deps makes build/cuda-wheels where it is needed.
if(NOT HONE_CUDA_WHEELS AND EXISTS ${PROJECT_SOURCE_DIR}/build/cuda-wheels/nvidia/cu13)
  set(HONE_CUDA_WHEELS ${PROJECT_SOURCE_DIR}/build/cuda-wheels)
endif()
find_path(HONE_CUDA_INCLUDE cuda.h
  HINTS ${HONE_CUDA_WHEELS}/nvidia/cu13/include $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include
  PATHS /usr/local/cuda/include /opt/cuda/include)
if(NOT HONE_CUDA_INCLUDE OR NOT EXISTS ${HONE_CUDA_INCLUDE}/nvrtc.h OR NOT EXISTS ${HONE_CUDA_INCLUDE}/cuda_occupancy.h)
  message(FATAL_ERROR "the CUDA headers (cuda.h, nvrtc.h, cuda_occupancy.h) were not found; set CUDA_HOME, or let "
    "scripts/deps fetch them and pass -DHONE_CUDA_WHEELS=<folder>")
endif()
add_library(hone::cuda_headers INTERFACE IMPORTED GLOBAL)
target_include_directories(hone::cuda_headers SYSTEM INTERFACE ${HONE_CUDA_INCLUDE})
