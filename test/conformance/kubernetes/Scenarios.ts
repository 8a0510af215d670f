import { readFileSync } from "node:fs"
import { parse } from "yaml"
import { applies } from "./Apply.ts"
import { custom } from "./Custom.ts"
import { deletion } from "./Deletion.ts"
import { kubectl } from "./Kubectl.ts"
import { objects } from "./Objects.ts"
import { rights } from "./Rights.ts"
import { watches } from "./Watches.ts"

const definition: unknown = parse(readFileSync("crd/platforminstances.yaml", "utf8"))

export const scenarios = [objects, applies, deletion, watches, custom(definition), kubectl, rights]
