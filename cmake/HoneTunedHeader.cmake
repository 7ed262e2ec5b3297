# SPDX-License-Identifier: MIT
# hone_tuned_header(<target> KERNEL <name> [CACHE <file>] [DEVICE_NAME <name>] [PROBLEM <NAME=VALUE>...]
#                   [PREFIX <prefix>] [OUTPUT <file>] [CONFIG <file>] [RECORDED <file or folder>...]
#                   [FORMAT header|cubin-header] [ARCH <sm_90>...])
# Writes <name>_tuned.h (or OUTPUT) from Hone's cache at build time and puts its folder, one of this target, on the include path:
# the target's, or that of all who link it where it is an INTERFACE library.
# With CACHE it is written again whenever that file changes; with RECORDED the results are those of recorded tunings, and
# CONFIG is the config that they were made with; the header is written again when one of them changes. FORMAT cubin-header
# embeds machine code for the architectures of ARCH. With CONFIG, where nothing was tuned yet, the header has the default point of
# the config instead, says so in a comment, and the build shows a warning: a fresh checkout builds. `hone` is looked for on the PATH; HONE_EXECUTABLE overrides.

function(hone_tuned_header target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "KERNEL;CACHE;DEVICE_NAME;PREFIX;OUTPUT;CONFIG;FORMAT" "PROBLEM;RECORDED;ARCH")
  if(NOT arg_KERNEL)
    message(FATAL_ERROR "hone_tuned_header: KERNEL is missing")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hone_tuned_header: found '${arg_UNPARSED_ARGUMENTS}', expected KERNEL, CACHE, DEVICE_NAME, "
      "PROBLEM, PREFIX, OUTPUT, CONFIG, RECORDED, FORMAT or ARCH")
  endif()
  if(TARGET hone)
    set(hone hone)
  else()
    find_program(HONE_EXECUTABLE hone DOC "The command that exports tuned headers")
    if(NOT HONE_EXECUTABLE)
      message(FATAL_ERROR "hone_tuned_header: `hone` was not found; set HONE_EXECUTABLE")
    endif()
    set(hone "${HONE_EXECUTABLE}")
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/hone_tuned/${target}")
  set(header "${folder}/${arg_KERNEL}_tuned.h")
  if(arg_OUTPUT)
    cmake_path(ABSOLUTE_PATH arg_OUTPUT BASE_DIRECTORY "${folder}" OUTPUT_VARIABLE header)
    cmake_path(GET header PARENT_PATH folder)
  endif()

  set(options)
  set(depends)
  if(arg_CACHE)
    cmake_path(ABSOLUTE_PATH arg_CACHE BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND options --cache "${arg_CACHE}")
    if(arg_CONFIG)
      file(GLOB arg_CACHE CONFIGURE_DEPENDS "${arg_CACHE}") # it may come later
    endif()
    list(APPEND depends ${arg_CACHE})
  endif()
  if(arg_DEVICE_NAME)
    list(APPEND options --device-name "${arg_DEVICE_NAME}")
  endif()
  if(arg_PREFIX)
    list(APPEND options --prefix "${arg_PREFIX}")
  endif()
  if(arg_CONFIG)
    cmake_path(ABSOLUTE_PATH arg_CONFIG BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND options --config "${arg_CONFIG}" --defaults)
    list(APPEND depends "${arg_CONFIG}")
  endif()
  if(arg_FORMAT)
    list(APPEND options --format "${arg_FORMAT}")
  endif()
  if(arg_ARCH)
    list(JOIN arg_ARCH "," architectures)
    list(APPEND options --arch "${architectures}")
  endif()
  foreach(recorded IN LISTS arg_RECORDED)
    cmake_path(ABSOLUTE_PATH recorded BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND options --recorded "${recorded}")
    if(IS_DIRECTORY "${recorded}")
      file(GLOB recorded CONFIGURE_DEPENDS "${recorded}/*.json" "${recorded}/*.json.gz"
        "${recorded}/*.family" "${recorded}/*.family.gz")
    elseif(arg_CONFIG)
      file(GLOB recorded CONFIGURE_DEPENDS "${recorded}")
    endif()
    list(APPEND depends ${recorded})
  endforeach()
  foreach(problem IN LISTS arg_PROBLEM)
    list(APPEND options -p "${problem}")
  endforeach()

  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(OUTPUT "${header}"
    COMMAND "${hone}" export "${arg_KERNEL}" --quiet -o "${header}" ${options}
    DEPENDS ${depends} "${hone}" VERBATIM COMMENT "Exporting the tuned configuration of ${arg_KERNEL}")
  get_target_property(kind ${target} TYPE)
  if(kind STREQUAL "INTERFACE_LIBRARY") # which has no sources: the header is made for whoever links it
    add_custom_target(${target}_${arg_KERNEL}_tuned DEPENDS "${header}")
    add_dependencies(${target} ${target}_${arg_KERNEL}_tuned)
    target_include_directories(${target} INTERFACE "${folder}")
  else()
    target_sources(${target} PRIVATE "${header}")
    target_include_directories(${target} PRIVATE "${folder}")
  endif()
endfunction()
