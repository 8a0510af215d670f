# shellcheck shell=bash
# Sourced: a step that takes long, and whose words matter only when it fails. Of the script it needs `say`.
#
#   quietly COMMAND...            its words go into $quiet_log; where it fails they are shown, and it gives what it gave
#   quiet_progress=FUNCTION       called about every second while it runs: may look at $quiet_log and say what is waited for
#   quiet_doing=WORDS             what it does: said again every 15 seconds, with how long it has been at it
#   quiet_shown=FUNCTION          what of the words is shown (from $1; default: all)
#
# However the script ends, nothing of the step runs on behind it, and no log is left. The step has the script's locks, too:
# where the script alone is killed, they are held until nothing of the step is left. A signal is told; the step then has
# three seconds to end by itself, and a second signal takes these away.
quiet_log='' quiet_step='' quiet_progress='' quiet_doing='' quiet_shown=cat quiet_patience=30 quiet_signals=0 quiet_code=''

# The step is a group of processes; returns when none of it is left.
quiet_end() {
  local tenths
  if [ -n "$quiet_step" ]; then
    kill -TERM -- "-$quiet_step" 2> /dev/null || true
    for ((tenths = 0; tenths < quiet_patience && quiet_signals < 2; tenths++)); do
      kill -0 "$quiet_step" 2> /dev/null || break
      sleep 0.1 || true
    done
    kill -KILL -- "-$quiet_step" 2> /dev/null || true
    # Here, where bash's word on how it died is not heard.
    wait "$quiet_step" 2> /dev/null || true
    # Of the group only the first is a child of this shell. The bound is for a machine where nobody takes leave of the dead.
    for ((tenths = 0; tenths < 50; tenths++)); do
      kill -0 -- "-$quiet_step" 2> /dev/null || break
      sleep 0.1 || true
    done
  fi
  [ -z "$quiet_log" ] || rm -f "$quiet_log"
  quiet_step='' quiet_log=''
}

quietly() {
  local code=0 tenths=0
  # A signal is only noted, and looked at where it is known what has been begun: bash runs a trap between any two commands,
  # also before the number of a new child is known, and `wait` can miss one that comes just before it.
  quiet_signals=0 quiet_code=''
  trap 'quiet_signals=$((quiet_signals + 1)) quiet_code=130' INT
  trap 'quiet_signals=$((quiet_signals + 1)) quiet_code=143' TERM
  trap 'quiet_signals=$((quiet_signals + 1)) quiet_code=129' HUP
  # Whoever listened may be gone.
  trap : PIPE
  trap quiet_end EXIT
  quiet_log=$(mktemp)
  # In a group of its own, so that it can be ended whole.
  set -m
  "$@" > "$quiet_log" 2>&1 < /dev/null &
  quiet_step=$!
  set +m
  while [ -z "$quiet_code" ] && kill -0 "$quiet_step" 2> /dev/null; do
    sleep 0.1 || true
    tenths=$((tenths + 1))
    [ -z "$quiet_doing" ] || [ $((tenths % 150)) != 0 ] || say "$quiet_doing: $((tenths / 10)) seconds so far" || true
    [ -z "$quiet_progress" ] || [ $((tenths % 10)) != 0 ] || "$quiet_progress" || true
  done
  if [ -n "$quiet_code" ]; then
    say "interrupted: ending what it had begun, in ${quiet_patience%?} seconds at most (once more: at once)" || true
    quiet_end
    exit "$quiet_code"
  fi
  wait "$quiet_step" || code=$?
  quiet_step=''
  trap - INT TERM HUP PIPE
  # One that came at the very end.
  [ -z "$quiet_code" ] || exit "$quiet_code"
  [ "$code" = 0 ] || "$quiet_shown" "$quiet_log" >&2
  return "$code"
}
