# One round with an installed program and nothing else: sh round.sh CHANNEL EDITION
# Leaves the console of this user stopped and its data folder in place.
set -eu
channel=$1 edition=$2
fail() {
  printf 'round: %s\n' "$*" >&2
  [ ! -f "$log" ] || tail -n 20 "$log" >&2
  exit 1
}
trial=$(mktemp -d)
log=$trial/log
until_there() { # until_there COMMAND...: waits until it succeeds, half a minute at most
  left=300
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || fail "in vain: $*"
    sleep 0.1
  done
}
for tool in cargo rustc cc gcc git make; do ! command -v "$tool" >/dev/null || fail "$tool is here"; done

countersign --version >"$trial/version"
countersign -V | grep -qxF "$(head -n 1 "$trial/version")" || fail "-V and --version differ"
for word in commit edition target protocol store; do
  grep -q "^$word  *[^ ]*$" "$trial/version" || fail "--version has no $word"
done
grep -q "^edition  *$edition$" "$trial/version" || fail "not the $edition edition"

[ "$(countersign status --ready 2>&1 || :)" = no_console ] || fail "ready without a console"
begun=$(date +%s%N)
countersign serve >"$trial/ready" 2>"$log" &
console=$!
until_there test -s "$trial/ready"
took=$((($(date +%s%N) - begun) / 1000000))
[ "$took" -le 3000 ] || fail "ready after $took ms"
until_there countersign status --ready

waiting() { countersign inbox --json | sed -n 's/.*"request_id": *"\([^"]*\)".*/\1/p' | head -n 1; }
is_waiting() { [ -n "$(waiting)" ]; }
countersign ask --tool deploy --args '{"to":"production"}' >"$trial/args" 2>"$trial/why" &
asked=$!
until_there is_waiting
countersign inbox | grep -q deploy || fail "inbox does not show the call"
countersign show "$(waiting)" | grep -q production || fail "show does not have the arguments"
countersign approve "$(waiting)" >/dev/null
wait "$asked" || fail "an approved call does not end well: $(cat "$trial/why")"
grep -q '"to": *"production"' "$trial/args" || fail "the approved arguments did not arrive"

countersign ask --tool wipe --args '{}' >"$trial/args" 2>"$trial/why" &
asked=$!
until_there is_waiting
countersign deny "$(waiting)" --message 'not on a friday' >/dev/null
if wait "$asked"; then fail "a denied call ends well"; fi
cat "$trial/args" "$trial/why" | grep -q 'not on a friday' || fail "the reason did not arrive"

countersign history | grep -q deploy || fail "history lacks the call"
countersign audit verify >/dev/null || fail "audit verify fails"
countersign doctor >"$trial/doctor" || fail "doctor: $(cat "$trial/doctor")"
grep -q "Countersign .* from $channel; to update: " "$trial/doctor" || fail "doctor does not name $channel"
kill -TERM "$console"
wait "$console" || fail "SIGTERM does not end it with 0"

stray=$(find / -xdev \( -path "$HOME/.local/share/*countersign*" -o -path "$HOME/.cache/*" -o -path "$trial" \) -prune \
  -o -type f -user "$(id -u)" -newer "$trial/version" -print 2>/dev/null || :)
[ -z "$stray" ] || fail "written outside of the data folder: $stray"
rm -rf "$trial"
printf 'ready after %s ms\n' "$took"
