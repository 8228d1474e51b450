#!/bin/sh
# Prints a C++ source that defines the text of a file as a string:
#   embed_text.sh FILE HEADER NAMESPACE VARIABLE
# HEADER declares the variable: extern const char VARIABLE[];
set -eu
printf '#include "%s"\n\nnamespace %s {\n\nconst char %s[] = R"TEXT(' "$2" "$3" "$4"
cat "$1"
printf ')TEXT";\n\n}  // namespace %s\n' "$3"
