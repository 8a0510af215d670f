import { readFileSync } from "node:fs"
import { assert, describe, expect, it } from "vitest"
import { mountProblem, nodePath, targetProblem } from "../../../src/services/Cleanup/Target.ts"

const target = {
  base: "/var/lib/kubesolo/instances",
  currentBase: "/var/lib/kubesolo/instances",
  namespace: "team-a",
  name: "one",
  mount: "/storage",
}

describe("what a cleanup is asked to remove", () => {
  it("is one directory below <base>/<namespace>", () => {
    expect(targetProblem(target)).toBeUndefined()
    expect(nodePath(target)).toBe("/var/lib/kubesolo/instances/team-a/one")
    expect(targetProblem({ ...target, name: "one.of-many" })).toBeUndefined()
  })

  it.each([
    "",
    ".",
    "..",
    "a/..",
    "../x",
    "a/b",
    "/etc",
    "%2e%2e",
    "a\0b",
    "a\nb",
    "a..b",
    ".a",
    "a.",
    "-a",
    "A",
    "a b",
    "é",
    "a".repeat(300),
  ])("is never the name %j", (name) => {
    expect(targetProblem({ ...target, name })).toContain("--name")
    expect(targetProblem({ ...target, namespace: name })).toContain("--namespace")
  })

  it("has a namespace without dots, of at most 63 characters", () => {
    expect(targetProblem({ ...target, namespace: "a.b" })).toContain("--namespace")
    expect(targetProblem({ ...target, namespace: "a".repeat(64) })).toContain("--namespace")
  })

  it.each([
    "",
    "/",
    "relative",
    "//x",
    "/x/",
    "/x/../y",
    "/x/..",
    "/.",
    "/a/./b",
    "/a\0b",
    "/a b",
    `/${"a".repeat(2000)}`,
  ])("never has the base %j", (base) => {
    expect(targetProblem({ ...target, base })).toContain("--base")
    expect(targetProblem({ ...target, currentBase: base })).toContain("--current-base")
    expect(targetProblem({ ...target, mount: base })).toContain("--mount")
  })

  it("may have a base with a hidden folder", () => {
    expect(targetProblem({ ...target, base: "/var/.data/..x" })).toBeUndefined()
  })
})

const mountinfo = (...mounts: ReadonlyArray<readonly [root: string, point: string]>) =>
  mounts.map(([root, point], n) => `${n} 1 8:1 ${root} ${point} rw,relatime - ext4 /dev/sda rw\n`).join("")

describe("what is mounted", () => {
  it("must be the namespace's folder", () => {
    expect(
      mountProblem(mountinfo(["/", "/"], ["/var/lib/kubesolo/instances/team-a", "/storage"]), target),
    ).toBeUndefined()
    expect(mountProblem(mountinfo(["/", "/"]), target)).toBe("nothing is mounted at /storage")
  })

  // What `mountinfo` shows of each of these is seen on a real node's kernel in mounts.real.test.ts.
  it.each([
    ["the node's own", "/var/lib/kubesolo/instances/team-a"],
    ["a disk that is mounted above the base", "/kubesolo/instances/team-a"],
    ["a disk that is mounted at the base", "/team-a"],
    ["a subvolume", "/@/var/lib/kubesolo/instances/team-a"],
    ["a node that is a container", "/docker/volumes/0a/_data/lib/kubesolo/instances/team-a"],
    ["a link, or a bind mount, at the base to a folder of its name", "/mnt/ssd/instances/team-a"],
  ])("may be it on whatever file system the base lies: %s", (_, root) => {
    expect(mountProblem(mountinfo([root, "/storage"]), target)).toBeUndefined()
  })

  it("may lie where the operator's base of now is, when the recorded one leads there", () => {
    const moved = { ...target, currentBase: "/mnt/ssd/platform" }
    for (const root of ["/mnt/ssd/platform/team-a", "/ssd/platform/team-a", "/platform/team-a"]) {
      expect(mountProblem(mountinfo([root, "/storage"]), moved)).toBeUndefined()
      expect(mountProblem(mountinfo([root, "/storage"]), target)).toContain(`leads to ${root}`)
    }
    expect(mountProblem(mountinfo(["/mnt/ssd/other/team-a", "/storage"]), moved)).toContain("leads to")
  })

  it.each([
    "/etc",
    "/elsewhere/team-a",
    "/instances/xteam-a",
    "/xinstances/team-a",
    "/var/lib/kubesolo/instances/team-b/team-a",
    "/var/lib/kubesolo/instances/team-a/team-b",
    "/var/lib/kubesolo/instances",
    "/lib/kubesolo/team-a",
    "/var/lib/kubesolo/instances/team-a//deleted",
  ])("is refused when the kubelet followed a link to another folder: %s", (root) => {
    expect(mountProblem(mountinfo([root, "/storage"]), target)).toBe(
      `/var/lib/kubesolo/instances/team-a leads to ${root} on the node`,
    )
  })

  it("is refused when it is a whole file system: a mount at the namespace's folder, or a link to one", () => {
    expect(mountProblem(mountinfo(["/", "/storage"]), target)).toBe(
      "/var/lib/kubesolo/instances/team-a is a mount point on the node, or leads to one",
    )
  })

  it("is what was mounted last", () => {
    const covered = mountinfo(["/instances/team-a", "/storage"], ["/etc", "/storage"])
    expect(mountProblem(covered, target)).toContain("leads to /etc")
  })

  it("must have no other mount inside the instance's directory", () => {
    const own = ["/instances/team-a", "/storage"] as const
    expect(mountProblem(mountinfo(own, ["/x", "/storage/one/di-tenants/with\\040blank"]), target)).toBe(
      "/var/lib/kubesolo/instances/team-a/one/di-tenants/with blank is a mount point on the node: unmount it first",
    )
    expect(mountProblem(mountinfo(own, ["/x", "/storage/one"]), target)).toContain("is a mount point")
    expect(mountProblem(mountinfo(own, ["/x", "/storage/one-more"]), target)).toBeUndefined()
  })

  it("is read from what this kernel writes", () => {
    const own = readFileSync("/proc/self/mountinfo", "utf8")
    const point = own.split("\n")[0]?.split(" ")[4]
    assert(point !== undefined)
    expect(mountProblem(own, { ...target, mount: point })).not.toBe(`nothing is mounted at ${point}`)
  })
})
