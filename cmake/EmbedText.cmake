# SPDX-License-Identifier: MIT
# cmake -DINPUT=<file> -DOUTPUT=<file.c> -DHEADER=<header> -DSYMBOL=<name> -P EmbedText.cmake
# Writes a C file that holds INPUT as the string SYMBOL, each `#include "name.cuh"` replaced by that file of INPUT's
# folder. A list of characters, since C limits string literals to 4095; '\xe2' is a char whatever its sign, 0xe2 is not.
get_filename_component(folder ${INPUT} DIRECTORY)
file(READ ${INPUT} text)
string(REGEX MATCHALL "#include \"[a-z_]+\\.cuh\"\n" includes "${text}")
foreach(include IN LISTS includes)
  string(REGEX REPLACE "#include \"(.*)\"\n" "\\1" name "${include}")
  file(READ ${folder}/${name} part)
  string(REPLACE "${include}" "${part}" text "${text}")
endforeach()
string(HEX "${text}" bytes)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................................................)" "\\1\n"
  bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\nconst char ${SYMBOL}[] = {\n${bytes}0};\n")
