# shellcheck shell=bash
# Sourced: a step that takes long, and whose words matter only when it fails.
#
#   quietly COMMAND...            its words go into $quiet_log; where it fails they are shown, and it gives what it gave
#   quiet_progress=FUNCTION       called about every second while it runs: may look at $quiet_log and say what is waited for
#   quiet_shown=FUNCTION          what of the words is shown (from $1; default: all)
#
# However the script ends, nothing of the step runs on behind it, and no log is left. The step has the script's locks, too:
# where the script alone is killed, they are held until nothing of the step is left.
quiet_log='' quiet_step='' quiet_watch='' quiet_progress='' quiet_shown=cat

# Ends groups of processes, and returns when they have ended.
quiet_kill() {
  local group
  for group; do
    kill -TERM -- "-$group" 2> /dev/null || true
    wait "$group" 2> /dev/null || true
  done
}

quiet_end() {
  trap '' INT TERM HUP
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
  trap 'exit 130' INT
  trap 'exit 143' TERM
  trap 'exit 129' HUP
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
