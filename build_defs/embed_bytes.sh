#!/bin/sh
# Prints a C++ source that defines the bytes of a file as a string:
#   embed_bytes.sh FILE HEADER NAMESPACE VARIABLE
# HEADER declares the variable: extern const char VARIABLE[];
set -eu
printf '#include "%s"\n\nnamespace %s {\n\nconst char %s[] =\n' "$2" "$3" "$4"
od -An -v -to1 -w32 "$1" | sed 's/ /\\/g; s/^/"/; s/$/"/'
printf ';\n\n}  // namespace %s\n' "$3"
