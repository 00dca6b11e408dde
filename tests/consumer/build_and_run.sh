#!/usr/bin/env bash
# Builds tests/consumer/project and runs it.
#   build_and_run.sh installed|nested SOURCE BUILD COMPILER [CMAKE OPTIONS]
# installed: against `cmake --install BUILD` into a folder of its own; nested: with SOURCE inside it.
set -euo pipefail
kind=$1 source=$2 build=$3 compiler=$4
shift 4
work=$build/consumer-$kind
rm -rf "$work"
mkdir -p "$work"

if [ "$kind" = installed ]; then
  cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
  where=(-DCMAKE_PREFIX_PATH="$work/prefix")
else
  where=(-DTILEWRIGHT_SOURCE="$source" -DTILEWRIGHT_PCH=ON)
fi
# Not optimized: the nested library is built a second time.
cmake -S "$source/tests/consumer/project" -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS=-O0 "${where[@]}" "$@"
if [ "$kind" = nested ] && [ -z "${TILEWRIGHT_ALL_CASES:-}" ]; then
  # One layer and the project's own files show that it is set up; the rest is the library once more, which takes
  # minutes: TILEWRIGHT_ALL_CASES=1 builds and runs everything.
  cmake --build "$work/build" --target tilewright_ir \
    CMakeFiles/consumer.dir/main.cpp.o CMakeFiles/consumer20.dir/main20.cpp.o
  exit
fi
cmake --build "$work/build"
"$work/build/consumer"
"$work/build/consumer20"
if [ "$kind" = installed ]; then
  "$work/prefix/bin/tilewright" list  # finds its library beside it
  # Finds the worker of its own installation, which finds the library.
  doctor=$("$work/prefix/bin/tilewright" doctor)
  grep -q "^worker .*/libexec/tilewright/tilewright-worker" <<<"$doctor"
  said=$("$work/prefix/libexec/tilewright/tilewright-worker" || true)
  grep -q "tilewright tune" <<<"$said"
fi
