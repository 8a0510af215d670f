// One life of an installation, as the runner is asked for it: installs, changes, repairs, failures.
import type { Scenario } from "../Scenario.ts"
import { changing, drifting, installing, reaching } from "./changes.ts"
import type { EngineSide } from "./Side.ts"
import { killing, opening, stopping } from "./troubles.ts"

export const scenario: Scenario<EngineSide> = {
  name: "the life of an installation",
  steps: [...installing, ...changing, ...drifting, ...reaching, ...opening, ...stopping, ...killing],
}
