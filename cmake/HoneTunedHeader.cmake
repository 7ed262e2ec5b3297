# SPDX-License-Identifier: MIT
# hone_tuned_header(<target> KERNEL <name> [CACHE <file>] [DEVICE_NAME <name>] [PROBLEM <NAME=VALUE>...]
#                   [PREFIX <prefix>] [OUTPUT <file>])
# Writes <name>_tuned.h (or OUTPUT) from Hone's cache at build time and puts its folder on the target's include path.
# With CACHE it is written again whenever that file changes. `hone` is looked for on the PATH; HONE_EXECUTABLE overrides.

function(hone_tuned_header target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "KERNEL;CACHE;DEVICE_NAME;PREFIX;OUTPUT" "PROBLEM")
  if(NOT arg_KERNEL)
    message(FATAL_ERROR "hone_tuned_header: KERNEL is missing")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hone_tuned_header: found '${arg_UNPARSED_ARGUMENTS}', expected KERNEL, CACHE, DEVICE_NAME, "
      "PROBLEM, PREFIX or OUTPUT")
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

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/hone_tuned")
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
    list(APPEND depends "${arg_CACHE}")
  endif()
  if(arg_DEVICE_NAME)
    list(APPEND options --device-name "${arg_DEVICE_NAME}")
  endif()
  if(arg_PREFIX)
    list(APPEND options --prefix "${arg_PREFIX}")
  endif()
  foreach(problem IN LISTS arg_PROBLEM)
    list(APPEND options -p "${problem}")
  endforeach()

  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(OUTPUT "${header}"
    COMMAND "${hone}" export "${arg_KERNEL}" --quiet -o "${header}" ${options}
    DEPENDS ${depends} VERBATIM COMMENT "Exporting the tuned configuration of ${arg_KERNEL}")
  target_sources(${target} PRIVATE "${header}")
  target_include_directories(${target} PRIVATE "${folder}")
endfunction()
