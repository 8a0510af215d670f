// The real kubectl and the playground as its user starts it: every verb, and what kubectl prints of it.
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { parse } from "yaml"
import { hostNamespace } from "../../src/schema/Names.ts"
import { programPath } from "../services/Pulumi/apiServer.ts"

const place = mkdtempSync(path.join(tmpdir(), "playground-"))
const folder = path.join(place, ".playground")
const host = hostNamespace({ namespace: "team-a", name: "one" })

/** So many simulated seconds a second: what takes the instance a minute is there in a few seconds. */
const SPEED = "10"

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

const started: Array<ChildProcess> = []

/** A program that is running, and what it has said so far. */
const start = (program: string, args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = {}, input?: string) => {
  const child = spawn(program, args, { env: { ...process.env, ...env } })
  started.push(child)
  let out = ""
  let err = ""
  const listeners = new Set<() => void>()
  const heard = () => {
    for (const listener of [...listeners]) listener()
  }
  child.stdout.on("data", (chunk) => {
    out += chunk
    heard()
  })
  child.stderr.on("data", (chunk) => {
    err += chunk
    heard()
  })
  child.stdin.end(input)
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject)
    child.once("close", (code) => {
      resolve({ code, out, err })
      heard()
    })
  })
  /** Resolves when it has said that; fails when it ends before. */
  const says = (words: string | RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const found = typeof words === "string" ? out.includes(words) : words.test(out)
        if (!found && child.exitCode === null) return
        listeners.delete(look)
        if (found) resolve(out)
        else reject(new Error(`${program} ${args.join(" ")} has ended without ${words}: ${out}${err}`))
      }
      listeners.add(look)
      look()
    })
  return { child, ended, says, said: () => out }
}

const run = (args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = {}, input?: string) =>
  start(
    programPath("kubectl") ?? "kubectl",
    args,
    { KUBECONFIG: path.join(folder, "kubeconfig"), HOME: place, ...env },
    input,
  )

const kubectl = (...args: ReadonlyArray<string>) => run(args).ended

/** What it prints; fails when it fails. */
const prints = async (...args: ReadonlyArray<string>): Promise<string> => {
  const { code, out, err } = await kubectl(...args)
  assert.strictEqual(code, 0, `kubectl ${args.join(" ")}: ${out}${err}`)
  return out
}

/** What it complains of; fails when it does not. */
const complains = async (...args: ReadonlyArray<string>): Promise<string> => {
  const { code, out, err } = await kubectl(...args)
  assert.notStrictEqual(code, 0, `kubectl ${args.join(" ")}: ${out}`)
  return err
}

const fed = async (input: string, ...args: ReadonlyArray<string>): Promise<Ended> =>
  run([...args, "-f", "-"], {}, input).ended

const lines = (text: string) => text.trimEnd().split("\n")
const words = (line: string | undefined) => (line ?? "").trim().split(/\s{2,}/)

const instance = (name: string, spec = "") => `apiVersion: platform.di-framework.dev/v1alpha1
kind: PlatformInstance
metadata: { name: ${name}, namespace: default }
spec: { version: 6.0.22, target: { type: vcluster }${spec} }
`

const deployment = (name: string, containers: string) => `apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name}, namespace: default }
spec:
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec: { containers: [ ${containers} ] }
`

const playground = (...args: ReadonlyArray<string>) => start("tools/playground/run", args)
let running: ReturnType<typeof playground> | undefined
const itself = () => {
  if (running === undefined) throw new Error("the playground was not started")
  return running
}

beforeAll(async () => {
  running = playground("--port", "0", "--speed", SPEED, "--folder", folder)
  await running.says("The instance is Ready")
})

afterAll(() => {
  for (const child of started) if (child.exitCode === null) child.kill("SIGKILL")
  rmSync(place, { recursive: true, force: true })
})

describe("the playground", () => {
  it("says first that it is simulated, then how its example became Ready, then what to try", () => {
    const said = itself().said()
    assert.include(lines(said)[0], "simulated")
    for (const phase of ["Pending", "Provisioning", "Installing", "Ready"])
      assert.match(said, new RegExp(`team-a/one  ${phase} 6\\.0\\.22`))
    assert.isBelow(said.indexOf("Provisioning"), said.indexOf("Installing"))
    assert.include(said, "get pi -A -w")
  })

  it("keeps its files to their owner", () => {
    assert.deepStrictEqual(readdirSync(folder).toSorted(), [
      "ca.crt",
      "kubeconfig",
      "operator.log",
      "running",
      "token",
    ])
    for (const file of readdirSync(folder))
      assert.strictEqual(statSync(path.join(folder, file)).mode & 0o777, 0o600, file)
    const token = readFileSync(path.join(folder, "token"), "utf8")
    assert.notInclude(itself().said(), token)
    assert.notInclude(readFileSync(path.join(folder, "operator.log"), "utf8"), token)
  })

  it("refuses a second one in its folder, and one on its port, and says what to do", async () => {
    const second = await playground("--port", "0", "--folder", folder).ended
    assert.strictEqual(second.code, 1)
    assert.match(second.err, /a playground is running already, as process \d+\. Use it .* or end it/)
    const port = /https:\/\/127\.0\.0\.1:(\d+)/.exec(itself().said())?.[1] ?? ""
    const other = path.join(place, "other")
    const taken = await playground("--port", port, "--folder", other).ended
    assert.strictEqual(taken.code, 1)
    assert.include(taken.err, `port ${port} of 127.0.0.1 is taken`)
    assert.isFalse(existsSync(other))
  })
})

describe("kubectl reads", () => {
  it("what there is: version, kinds, short names", async () => {
    assert.match(await prints("version"), /Server Version: v1\.\d+/)
    const kinds = await prints("api-resources")
    assert.match(
      kinds,
      /platforminstances\s+pi\s+platform\.di-framework\.dev\/v1alpha1\s+true\s+PlatformInstance/,
    )
    assert.match(await prints("api-versions"), /^apps\/v1$/m)
  })

  it("explain", async () => {
    const explained = await prints("explain", "pi.spec")
    assert.match(explained, /KIND:\s+PlatformInstance/)
    assert.match(explained, /deletionPolicy\s+<string>/)
    assert.match(explained, /version\s+<string> -required-/)
    assert.include(await prints("explain", "pod.spec.containers"), "FIELD: containers <[]Container>")
    assert.match(await prints("explain", "pi", "--recursive"), /httpNodePort\s+<integer>/)
    assert.include(await complains("explain", "pi.spec.nothing"), 'field "nothing" does not exist')
  })

  it("get with the columns of the kind", async () => {
    const [head, one] = lines(await prints("get", "pi", "-A"))
    assert.deepStrictEqual(words(head), ["NAMESPACE", "NAME", "VERSION", "INSTALLED", "PHASE", "AGE"])
    assert.deepStrictEqual(words(one).slice(0, 5), ["team-a", "one", "6.0.22", "6.0.22", "Ready"])
    assert.match(words(one)[5] ?? "", /^\d+[smh]/)
    assert.match(await prints("get", "pods", "-n", host, "-o", "wide"), /vcluster-0\s+1\/1\s+Running.*node1/)
    assert.match(await prints("get", "all", "-n", host), /statefulset\.apps\/vcluster\s+1\/1/)
  })

  it("get in every form", async () => {
    const get = ["get", "pi", "one", "-n", "team-a", "-o"]
    assert.include(await prints(...get, "yaml"), "kind: PlatformInstance")
    assert.strictEqual(JSON.parse(await prints(...get, "json")).status.phase, "Ready")
    assert.strictEqual(await prints(...get, "jsonpath={.spec.version}"), "6.0.22")
    assert.strictEqual(await prints(...get, "go-template={{.metadata.name}}"), "one")
    assert.strictEqual(await prints(...get, "name"), "platforminstance.platform.di-framework.dev/one\n")
    assert.match(await prints("get", "pi", "-A", "-o", "custom-columns=N:.metadata.name"), /^N\none\n$/)
    assert.match(await prints("get", "ns", "--sort-by=.metadata.name", "-o", "name"), /namespace\/default\n/)
    assert.include(await complains("get", "pi", "two", "-n", "team-a"), '"two" not found')
  })

  it("describe with Events", async () => {
    const described = await prints("describe", "pi", "one", "-n", "team-a")
    // Simulated time is ahead of kubectl's clock, by which it works out these ages.
    assert.notInclude(described, "<invalid>")
    assert.match(described, /Installed Version:\s+6\.0\.22/)
    assert.match(described, /Events:[\s\S]*Normal\s+FirstInstall[\s\S]*installed version 6\.0\.22/)
    assert.match(
      await prints("get", "events", "-n", "team-a"),
      /Normal\s+FirstInstall\s+platforminstance\/one/,
    )
    assert.include(
      await prints("describe", "pod", "vcluster-0", "-n", host),
      "Controlled By:  StatefulSet/vcluster",
    )
    assert.include(await prints("describe", "ns", "team-a"), "Active")
  })

  it("events of one object", async () => {
    const told = await prints("events", "--for", "platforminstance/one", "-n", "team-a")
    assert.notInclude(told, "<invalid>")
    assert.match(told, /Normal\s+FirstInstall\s+PlatformInstance\/one\s+/)
    assert.include(
      (await kubectl("events", "--for", "platforminstance/two", "-n", "team-a")).err,
      "No events found",
    )
    assert.match(
      await prints("events", "-n", "team-a", "--types=Normal"),
      /Normal\s+FirstInstall\s+PlatformInstance\/one\s+/,
    )
  })

  it("logs of the operator, and says of others why there are none", async () => {
    const operator = ["-n", "platform-operator", "-l", "app.kubernetes.io/name=platform-operator"]
    const log = lines(await prints("logs", ...operator, "--tail=-1"))
    const about = log
      .map((line) => JSON.parse(line))
      .filter(({ annotations }) => annotations.instance === "team-a/one")
    assert.isNotEmpty(about)
    assert.lengthOf(lines(await prints("logs", ...operator, "--tail=2", "--timestamps")), 2)
    const following = run(["logs", "-f", ...operator, "--tail=1"])
    await following.says(/\n/)
    following.child.kill("SIGINT")
    await following.ended
    const into = "make run CLUSTER=local has a cluster whose containers run"
    for (const args of [
      ["logs", "vcluster-0"],
      ["exec", "vcluster-0", "--", "ls"],
      ["port-forward", "service/vcluster", ":443"],
    ])
      assert.include(await complains("-n", host, ...args), into)
  })

  it("says what is not there, and what does the same", async () => {
    const scaled = await complains("-n", host, "scale", "statefulset", "vcluster", "--replicas=0")
    assert.include(scaled, `kubectl -n ${host} patch statefulsets vcluster --type=merge`)
    const token = await complains("-n", "team-a", "create", "token", "default")
    assert.include(token, "--as=system:serviceaccount:team-a:default")
  })

  it("drain, and uncordon", async () => {
    const before = await prints("-n", host, "get", "pod", "vcluster-0", "-o", "jsonpath={.metadata.uid}")
    await prints("drain", "node1", "--ignore-daemonsets", "--force", "--delete-emptydir-data")
    await prints(
      "wait",
      "-n",
      host,
      "pod/vcluster-0",
      "--for=jsonpath={.status.phase}=Pending",
      "--timeout=60s",
    )
    await prints("uncordon", "node1")
    await prints("wait", "-n", host, "pod/vcluster-0", "--for=condition=Ready", "--timeout=120s")
    const after = await prints("-n", host, "get", "pod", "vcluster-0", "-o", "jsonpath={.metadata.uid}")
    assert.notStrictEqual(after, before)
  })

  it("get -w", async () => {
    const watching = run(["get", "pi", "-n", "team-a", "-w"])
    await watching.says("Ready")
    await prints("annotate", "pi", "one", "-n", "team-a", "seen=yes")
    await watching.says(/(one .*Ready.*\n){2}/)
    watching.child.kill("SIGINT")
    await watching.ended
  })

  it("auth can-i", async () => {
    assert.strictEqual(await prints("auth", "can-i", "delete", "pi"), "yes\n")
    const refused = await kubectl("auth", "can-i", "create", "pi", "--as", "jane")
    assert.deepStrictEqual([refused.code, refused.out], [1, "no\n"])
    const rights = (await prints("auth", "can-i", "--list")).trimEnd().split("\n")
    assert.include(rights.join("\n"), "*.*")
    assert.lengthOf(new Set(rights), rights.length)
    assert.match(await prints("auth", "whoami"), /Username\s+admin/)
    assert.include(await complains("get", "pi", "-A", "--as", "jane"), 'User "jane" cannot list resource')
  })

  it("selectors", async () => {
    await prints("label", "pi", "one", "-n", "team-a", "tier=gold")
    assert.match(await prints("get", "pi", "-A", "-l", "tier in (gold,silver)"), /one/)
    assert.notMatch(await prints("get", "pi", "-A", "-l", "tier!=gold"), /one/)
    assert.match(await prints("get", "pi", "-A", "--field-selector", "metadata.name=one"), /one/)
    assert.match(await prints("get", "pi", "-A", "--show-labels"), /tier=gold/)
    assert.notMatch(await prints("get", "pods", "-A", "--field-selector", "status.phase=Failed"), /vcluster/)
    assert.include(
      await complains("get", "pi", "-A", "--field-selector", "spec.version=6"),
      "field label not supported: spec.version",
    )
  })

  it("lists page by page", async () => {
    await prints("create", "namespace", "paged")
    for (const name of ["a", "b", "c", "d", "e"])
      await prints("create", "configmap", name, "-n", "paged", "--from-literal=k=v")
    const { err, out } = await kubectl("get", "cm", "-n", "paged", "--chunk-size=2", "-v=6")
    for (const name of ["a", "b", "c", "d", "e"]) assert.match(out, new RegExp(`^${name} +1 `, "m"))
    assert.isAtLeast([...err.matchAll(/continue=[^&\s"]+/g)].length, 2)
    await prints("delete", "namespace", "paged")
  })
})

describe("kubectl writes", () => {
  it("creates what its typed commands make", async () => {
    await prints("create", "namespace", "typed")
    await prints("create", "deployment", "web", "-n", "typed", "--image=nginx", "--replicas=2")
    await prints("create", "secret", "generic", "s", "-n", "typed", "--from-literal=k=v")
    await prints("create", "job", "j", "-n", "typed", "--image=busybox")
    await prints("create", "serviceaccount", "robot", "-n", "typed")
    await prints("create", "role", "reader", "-n", "typed", "--verb=get", "--resource=pods")
    await prints(
      "create",
      "rolebinding",
      "reader",
      "-n",
      "typed",
      "--role=reader",
      "--serviceaccount=typed:robot",
    )
    const robot = "system:serviceaccount:typed:robot"
    assert.strictEqual(await prints("auth", "can-i", "get", "pods", "-n", "typed", "--as", robot), "yes\n")
    assert.strictEqual(await prints("get", "secret", "s", "-n", "typed", "-o", "jsonpath={.data.k}"), "dg==")
    assert.include(
      await prints("rollout", "status", "deployment/web", "-n", "typed"),
      "successfully rolled out",
    )
    await prints("delete", "namespace", "typed")
  })

  it("apply on the client", async () => {
    const apply = (text: string, ...args: ReadonlyArray<string>) => fed(text, "apply", ...args)
    const containers = "{ name: a, image: a }, { name: b, image: b }"
    const names = ["get", "deployment", "web", "-o", "jsonpath={.spec.template.spec.containers[*].name}"]
    assert.include((await apply(deployment("web", containers))).out, "deployment.apps/web created")
    assert.include((await apply(deployment("web", containers))).out, "deployment.apps/web unchanged")
    assert.include(
      (await apply(deployment("web", "{ name: b, image: c }"))).out,
      "deployment.apps/web configured",
    )
    assert.strictEqual(await prints(...names), "b")
    assert.include((await apply(instance("client"))).out, "created")
    const differs = await fed(instance("client").replace("6.0.22", "6.0.21"), "diff")
    assert.strictEqual(differs.code, 1)
    assert.include(differs.out, "+  version: 6.0.21")
  })

  it("apply of a list, which kubectl looks at itself, by OpenAPI v2", async () => {
    const list = (...items: ReadonlyArray<string>) =>
      JSON.stringify({ apiVersion: "v1", kind: "List", items: items.map((item) => parse(item)) })
    const both = list(instance("listed"), deployment("listed", "{ name: a, image: a }"))
    const { out } = await fed(both, "apply")
    assert.include(out, "deployment.apps/listed created")
    assert.include(out, "/listed created")
    const wrong = await fed(list(instance("listed", ", platfrom: {}")), "apply")
    assert.strictEqual(wrong.code, 1)
    assert.include(wrong.err, 'ValidationError(PlatformInstance.spec): unknown field "platfrom"')
    assert.include((await fed(both, "delete")).out, "deleted")
  })

  it("apply on the server, with its conflicts", async () => {
    const apply = (text: string, ...args: ReadonlyArray<string>) =>
      fed(text, "apply", "--server-side", ...args)
    assert.include((await apply(instance("server"))).out, "serverside-applied")
    const other = instance("server").replace("6.0.22", "6.0.21")
    const conflict = await apply(other, "--field-manager=other")
    assert.strictEqual(conflict.code, 1)
    assert.include(conflict.err, 'conflict with "kubectl": .spec.version')
    assert.include(
      (await apply(other, "--field-manager=other", "--force-conflicts")).out,
      "serverside-applied",
    )
    const unknown = await apply(instance("server", ", platfrom: {}"))
    assert.include(unknown.err, "field not declared in schema")
  })

  it("strict field validation", async () => {
    const wrong = instance("wrong", ", platfrom: {}")
    const strict = await fed(wrong, "apply")
    assert.strictEqual(strict.code, 1)
    assert.include(strict.err, 'strict decoding error: unknown field "spec.platfrom"')
    const warned = await fed(wrong, "apply", "--validate=warn", "--dry-run=server")
    assert.strictEqual(warned.code, 0)
    assert.include(warned.err, 'Warning: unknown field "spec.platfrom"')
    const ignored = await fed(wrong, "apply", "--validate=ignore", "--dry-run=server")
    assert.deepStrictEqual([ignored.code, ignored.err], [0, ""])
    const builtin = await fed(deployment("wrong", "{ name: a, imgae: a }"), "create")
    assert.include(builtin.err, 'unknown field "spec.template.spec.containers[0].imgae"')
    const bad = instance("wrong", ", deletionPolicy: Never")
    assert.include((await fed(bad, "apply")).err, 'spec.deletionPolicy: Unsupported value: "Never"')
  })

  it("--dry-run=server leaves nothing", async () => {
    assert.include((await fed(instance("dry"), "apply", "--dry-run=server")).out, "created (server dry run)")
    assert.include(await complains("get", "pi", "dry"), "not found")
    assert.include(await prints("delete", "deployment", "web", "--dry-run=server"), "(server dry run)")
    await prints("get", "deployment", "web")
  })

  it("edit", async () => {
    const editor = path.join(place, "editor")
    writeFileSync(
      editor,
      '#!/bin/sh\nsed -i "s/image: c/image: edited/;s/deletionPolicy: Delete/deletionPolicy: Retain/" "$1"\n',
      {
        mode: 0o755,
      },
    )
    for (const what of ["deployment/web", "pi/client"]) {
      const { code, err, out } = await run(["edit", what], { KUBE_EDITOR: editor }).ended
      assert.strictEqual(code, 0, err)
      assert.include(out, "edited")
    }
    assert.include(await prints("get", "deployment", "web", "-o", "yaml"), "image: edited")
    assert.strictEqual(await prints("get", "pi", "client", "-o", "jsonpath={.spec.deletionPolicy}"), "Retain")
  })

  it("patches of each type", async () => {
    const patch = (what: string, type: string, text: string) => ["patch", what, "--type", type, "-p", text]
    const policy = ["get", "pi", "client", "-o", "jsonpath={.spec.deletionPolicy}"]
    await prints(...patch("pi/client", "merge", '{"spec":{"deletionPolicy":"Delete"}}'))
    assert.strictEqual(await prints(...policy), "Delete")
    await prints(
      ...patch("pi/client", "json", '[{"op":"replace","path":"/spec/deletionPolicy","value":"Retain"}]'),
    )
    assert.strictEqual(await prints(...policy), "Retain")
    assert.include(
      await complains(...patch("pi/client", "strategic", '{"spec":{"deletionPolicy":"Delete"}}')),
      "is not supported by platform.di-framework.dev/v1alpha1",
    )
    const side = '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s"}]}}}}'
    await prints(...patch("deployment/web", "strategic", side))
    const names = "jsonpath={.spec.template.spec.containers[*].name}"
    assert.sameMembers((await prints("get", "deployment", "web", "-o", names)).split(" "), ["b", "side"])
    assert.include(
      await complains(...patch("pi/client", "merge", '{"spec":{"target":{"type":"other"}}}')),
      "spec.target.type: Unsupported value",
    )
    await prints("set", "image", "deployment/web", "side=t")
    const unknown = await kubectl(...patch("pi/client", "merge", '{"spec":{"platfrom":{}}}'))
    assert.deepStrictEqual([unknown.code, unknown.err], [0, 'Warning: unknown field "spec.platfrom"\n'])
    await prints("patch", "pi/client", "--type=merge", "-p", '{"spec":{"deletionPolicy":"Delete"}}')
  })

  it("label and annotate", async () => {
    assert.include(await prints("label", "pi", "client", "a=1"), "labeled")
    assert.include(await complains("label", "pi", "client", "a=2"), "--overwrite is false")
    await prints("label", "pi", "client", "a=2", "--overwrite")
    assert.strictEqual(await prints("get", "pi", "client", "-o", "jsonpath={.metadata.labels.a}"), "2")
    assert.include(await prints("label", "pi", "client", "a-"), "unlabeled")
    assert.include(await prints("annotate", "pi", "client", "note=hello"), "annotated")
    assert.strictEqual(
      await prints("get", "pi", "client", "-o", "jsonpath={.metadata.annotations.note}"),
      "hello",
    )
  })

  it("deletes in each cascade mode", async () => {
    const sets = () => prints("get", "replicasets", "-l", "app=cascade", "-o", "name")
    for (const mode of ["background", "foreground", "orphan"]) {
      await fed(deployment("cascade", "{ name: a, image: a }"), "apply")
      await prints("rollout", "status", "deployment/cascade")
      assert.notStrictEqual(await sets(), "")
      assert.include(await prints("delete", "deployment", "cascade", `--cascade=${mode}`), "deleted")
      if (mode === "orphan") {
        assert.include(await sets(), "replicaset.apps/cascade")
        await prints("delete", "replicasets", "-l", "app=cascade")
      } else if (mode === "background")
        await prints("wait", "--for=delete", "replicasets", "-l", "app=cascade")
      assert.strictEqual(await sets(), "", mode)
    }
  })
})

describe("an instance", () => {
  const waits = (what: string, ...namespace: ReadonlyArray<string>) =>
    prints("wait", what, "pi/one", "-n", "team-a", "--timeout=300s", ...namespace)

  it("that is broken is repaired", async () => {
    assert.include(await waits("--for=condition=Ready"), "condition met")
    assert.include(await complains("delete", "service", "vcluster", "-n", host), "denied")
    const uid = ["get", "statefulset", "vcluster", "-n", host, "-o", "jsonpath={.metadata.uid}"]
    const before = await prints(...uid)
    await prints("delete", "statefulset", "vcluster", "-n", host)
    await waits('--for=jsonpath={.status.conditions[?(@.type=="TargetReady")].status}=False')
    await prints("wait", "--for=create", "statefulset/vcluster", "-n", host, "--timeout=5m")
    await waits("--for=condition=Ready")
    assert.notStrictEqual(await prints(...uid), before)
    await prints("delete", "secret", "one-kubeconfig", "-n", "team-a")
    await prints("wait", "--for=create", "secret/one-kubeconfig", "-n", "team-a", "--timeout=60s")
  })

  it("outlives its operator's pod", async () => {
    const pods = ["get", "pods", "-n", "platform-operator", "-o", "name"]
    const before = await prints(...pods)
    await prints("delete", "pods", "--all", "-n", "platform-operator")
    await prints(
      "wait",
      "--for=create",
      "pods",
      "-l",
      "app.kubernetes.io/name=platform-operator",
      "-n",
      "platform-operator",
    )
    assert.notStrictEqual(await prints(...pods), before)
    await waits("--for=condition=Ready")
  })

  it("gets another version", async () => {
    await prints("patch", "pi", "one", "-n", "team-a", "--type=merge", "-p", '{"spec":{"version":"6.0.21"}}')
    await waits("--for=jsonpath={.status.installedVersion}=6.0.21")
    await itself().says("Ready 6.0.21")
  })

  it("is deleted with all that was made for it", async () => {
    await prints("delete", "pi", "one", "-n", "team-a")
    assert.include(await complains("get", "ns", host), "not found")
    assert.include(await complains("get", "secret", "one-kubeconfig", "-n", "team-a"), "not found")
    await itself().says("team-a/one  gone")
  })
})

describe("Ctrl-C", () => {
  it("ends it in peace, and leaves nothing", async () => {
    itself().child.kill("SIGINT")
    const { code, err } = await itself().ended
    assert.deepStrictEqual([code, err], [0, ""])
    assert.isFalse(existsSync(folder))
  })

  it.each(["SIGINT", "SIGHUP"] as const)(
    "by %s leaves nothing when nobody reads what it says",
    async (signal) => {
      const other = path.join(place, `unheard-${signal}`)
      const { child, says } = playground("--port", "0", "--speed", SPEED, "--folder", other)
      await says("The instance is Ready")
      const gone = new Promise<number | null>((resolve) => child.once("exit", resolve))
      child.stdout.destroy()
      child.stderr.destroy()
      child.kill(signal)
      assert.strictEqual(await gone, 0)
      assert.isFalse(existsSync(other))
    },
  )
})
