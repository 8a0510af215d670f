import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { type Claimant, findConflict } from "../../../../src/actors/instance/install/claims.ts"

const nothing = { port: undefined, root: undefined }
const claimant = (
  name: string,
  createdAt: number,
  wants: Partial<Claimant["wants"]>,
  has: Partial<Claimant["has"]> = {},
): Claimant => ({
  key: { namespace: "team", name },
  createdAt: `2026-11-0${createdAt}T12:00:00Z`,
  wants: { ...nothing, ...wants },
  has: { ...nothing, ...has },
})

describe("what two instances cannot both have", () => {
  const port = { port: 30_080 }
  for (const [what, self, other, refused] of [
    ["a port that the other has", claimant("self", 1, port), claimant("other", 2, port, port), true],
    [
      "a port that the other has, and is to give up by a later edit",
      claimant("self", 1, port),
      claimant("other", 2, { port: 30_081 }, port),
      true,
    ],
    [
      "a port that it has itself, whoever else wants it",
      claimant("self", 2, port, port),
      claimant("other", 1, port),
      false,
    ],
    ["a port that an older one waits for", claimant("self", 2, port), claimant("other", 1, port), true],
    ["a port that a younger one waits for", claimant("self", 1, port), claimant("other", 2, port), false],
    ["no port of its own", claimant("self", 2, {}), claimant("other", 1, port, port), false],
    [
      "another port",
      claimant("self", 2, { port: 30_081 }),
      claimant("other", 1, { port: 30_080 }, { port: 30_080 }),
      false,
    ],
    [
      "the same root",
      claimant("self", 2, { root: "/data/x/" }),
      claimant("other", 1, {}, { root: "/data//x" }),
      true,
    ],
    [
      "a root inside the other's",
      claimant("self", 2, { root: "/data/x" }),
      claimant("other", 1, { root: "/data" }),
      true,
    ],
    [
      "a root around the other's",
      claimant("self", 2, { root: "/data" }),
      claimant("other", 1, { root: "/data/x" }),
      true,
    ],
    [
      "a root beside the other's",
      claimant("self", 2, { root: "/data/xy" }),
      claimant("other", 1, { root: "/data/x" }),
      false,
    ],
    [
      "a root inside what another's cleanup removes, by a base of before",
      claimant("self", 2, { root: "/old/team/other/x" }),
      claimant("other", 1, {}, { defaultRoot: "/old/team/other" }),
      true,
    ],
    [
      "a root that has another's default one in its di-tenants tree",
      claimant("self", 2, { root: "/old" }),
      claimant("other", 1, {}, { defaultRoot: "/old/di-tenants/team/other" }),
      true,
    ],
    [
      "a plain parent of another's default root",
      claimant("self", 2, { root: "/old" }),
      claimant("other", 1, {}, { defaultRoot: "/old/team/other" }),
      false,
    ],
    [
      "a root that it will not get, because it keeps a predecessor's",
      claimant("self", 2, { root: "/data" }, { defaultRoot: "/base/team/self" }),
      claimant("other", 1, { root: "/data" }, { root: "/data" }),
      false,
    ],
    [
      "a root that it has itself",
      claimant("self", 2, { root: "/data" }, { root: "/data" }),
      claimant("other", 1, { root: "/data" }),
      false,
    ],
  ] as const) {
    it(`${what}: ${refused ? "refused" : "allowed"}`, () => {
      const conflict = findConflict(self, [other])
      assert.strictEqual(conflict !== undefined, refused)
      if (conflict !== undefined) assert.include(conflict.message, "of instance team/other".slice(3))
    })
  }

  it.prop(
    "goes to one of any two that wait for it, and never to none or both",
    {
      created: Arbitrary.schema(Schema.Tuple([Schema.Literals([1, 2, 3]), Schema.Literals([1, 2, 3])])),
      wants: Arbitrary.schema(Schema.Literals(["port", "root"])),
    },
    ({ created: [one, other], wants }) => {
      const wish = wants === "port" ? port : { root: "/data" }
      const a = claimant("a", one, wish)
      const b = claimant("b", other, wish)
      const refused = [findConflict(a, [b]), findConflict(b, [a])].filter((each) => each !== undefined)
      assert.lengthOf(refused, 1)
    },
  )
})
