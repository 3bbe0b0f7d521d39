#!/usr/bin/env bash
# Fuzz targets, one after the other: COUNT executions each (20000, of commands a million) of TARGETS (all).
#
# Stops at the first input that breaks one and says where it is kept. No
# sanitizer: there is no unsafe code here, and so the stable toolchain does.
set -eu
. "$(dirname -- "$0")/lib.sh"

targets=${TARGETS:-request decision event rules digest shown shell commands realm_entry passkey}

scripts/setup.sh fuzz
for target in $targets; do
  count=${COUNT:-20000}
  [ -n "${COUNT:-}" ] || [ "$target" != commands ] || count=1000000
  say "fuzz $target: $count executions"
  mkdir -p "fuzz/found/$target"
  log="fuzz/found/$target.log"
  # What is found goes to the first folder; the kept corpus and the examples of the protocol are read beside it.
  if ! cargo fuzz run --sanitizer none "$target" "fuzz/found/$target" "fuzz/corpus/$target" docs/protocol/examples \
    -- -runs="$count" -max_len=4096 -print_final_stats=1 >"$log" 2>&1; then
    tail -40 "$log" >&2
    die "an input breaks $target, or it was not built; the end of $log says which"
  fi
  sed -n 's/^stat::\(number_of_executed_units\|average_exec_per_sec\)/    \1/p' "$log"
done
