// The death of everything on the node at one moment, as when its power is cut, but for what has reached its disk: control
// plane, kubelet, containerd, all pods. What watches the node's programs starts them again.
import { onNode } from "./Cluster.ts"

/** All but the first process and its helpers, and what came in from outside (this very script, the collector). */
const script = `
spared() {
  local pid=$1
  while [ "$pid" -gt 1 ]; do pid=$(awk '$1 == "PPid:" { print $2 }' "/proc/$pid/status") || return 0; done
  [ "$pid" = 0 ]
}
doomed=()
for process in /proc/[0-9]*; do
  pid=\${process#/proc/}
  [ "$pid" != 1 ] || continue
  ! tr '\\0' ' ' < "$process/cmdline" 2> /dev/null | grep -q '/init\\.sh ' || continue
  spared "$pid" || doomed+=("$pid")
done
kill -KILL "\${doomed[@]}" 2> /dev/null
echo "\${#doomed[@]}"
`

/** Gives how many processes were killed. */
export const killNode = async (): Promise<number> => Number(await onNode("bash", "-c", script))
