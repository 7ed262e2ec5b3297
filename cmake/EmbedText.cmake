# SPDX-License-Identifier: MIT
# cmake -DINPUT=<file> -DOUTPUT=<file.c> -DHEADER=<header> -DSYMBOL=<name> -P EmbedText.cmake
# Writes a C file that holds INPUT as the string SYMBOL. A list of characters, since C limits string literals to 4095;
# '\xe2' is a char whatever its sign, 0xe2 is not.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................................................)" "\\1\n"
  bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\nconst char ${SYMBOL}[] = {\n${bytes}0};\n")
