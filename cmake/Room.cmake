# SPDX-License-Identifier: MIT
# hone_room(USES room... LINKS library... SOURCES file...): the folder of the caller as a library, hone_ and its path with
# underscores. What it may include lies in it and in the rooms that it names; tests/structure looks at that. LINKS are
# libraries of others.
function(hone_room)
  cmake_parse_arguments(PARSE_ARGV 0 room "" "" "USES;LINKS;SOURCES")
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "_" name "hone_${folder}")
  add_library(${name} STATIC ${room_SOURCES})
  set(used ${room_USES})
  list(TRANSFORM used REPLACE "/" "_")
  list(TRANSFORM used PREPEND hone_)
  target_link_libraries(${name} PUBLIC hone_flags ${used} ${room_LINKS})
  # With sanitizers the others take less to compile as they are than optimised, and hardly more to run.
  if(HONE_SANITIZE AND folder MATCHES "^(base|base/expression|tuner/space)$")
    target_compile_options(${name} PRIVATE -O1)
  endif()
  hone_room_uses(${folder} ${room_USES})
  set_property(GLOBAL APPEND PROPERTY HONE_ROOM_LIBRARIES ${name})
endfunction()

# What tests/structure reads: a line for each room, with what it uses.
function(hone_room_uses folder)
  list(JOIN ARGN " " used)
  set_property(GLOBAL APPEND_STRING PROPERTY HONE_ROOMS "${folder}: ${used}\n")
endfunction()
