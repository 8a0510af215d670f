# shellcheck shell=bash
# Sourced: a step that takes long, and whose words matter only when it fails.
#
#   quietly COMMAND...            its words go into $quiet_log; where it fails they are shown, and it gives what it gave
#   quiet_progress=FUNCTION       called about every second while it runs: may look at $quiet_log and say what is waited for
#   quiet_shown=FUNCTION          what of the words is shown (from $1; default: all)
#
# However the script ends, nothing of the step runs on behind it, and no log is left. The step has the script's locks, too:
# where the script alone is killed, they are held until nothing of the step is left. Of a signal the script's `say` says that it
# has come; the step then has three seconds to end by itself, and a second signal takes these away.
quiet_log='' quiet_step='' quiet_watch='' quiet_progress='' quiet_shown=cat quiet_patience=30

# Ends groups of processes, and returns when they have ended.
quiet_kill() {
  local group tenths
  for group; do
    kill -TERM -- "-$group" 2> /dev/null || true
    for ((tenths = 0; tenths < quiet_patience; tenths++)); do
      kill -0 "$group" 2> /dev/null || break
      sleep 0.1 || true
    done
    kill -KILL -- "-$group" 2> /dev/null || true
    wait "$group" 2> /dev/null || true
  done
}

# CODE: what the script ends with.
quiet_stop() {
  # Whoever listened may be gone.
  trap '' PIPE
  say "interrupted: ending what it had begun, in ${quiet_patience%?} seconds at most (once more: at once)" || true
  exit "$1"
}

quiet_end() {
  trap 'quiet_patience=0' INT TERM HUP
  # shellcheck disable=SC2086 # each is a number, or nothing
  quiet_kill $quiet_watch $quiet_step
  [ -z "$quiet_log" ] || rm -f "$quiet_log"
  quiet_step='' quiet_watch='' quiet_log=''
  trap - INT TERM HUP
}

quietly() {
  local code=0
  quiet_log=$(mktemp)
  trap quiet_end EXIT
  trap 'quiet_stop 130' INT
  trap 'quiet_stop 143' TERM
  trap 'quiet_stop 129' HUP
  # In groups of their own, so that each can be ended whole.
  set -m
  "$@" > "$quiet_log" 2>&1 < /dev/null &
  quiet_step=$!
  if [ -n "$quiet_progress" ]; then
    # It holds no lock.
    (while sleep 1; do "$quiet_progress"; done) 7>&- 8>&- 9>&- < /dev/null &
    quiet_watch=$!
  fi
  set +m
  wait "$quiet_step" || code=$?
  quiet_step=''
  # shellcheck disable=SC2086
  quiet_kill $quiet_watch
  quiet_watch=''
  [ "$code" = 0 ] || "$quiet_shown" "$quiet_log" >&2
  return "$code"
}
