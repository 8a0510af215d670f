// The playground's parts without kubectl and without the world: what it is told, what it writes, how its API is reached.
import { execFileSync, spawn } from "node:child_process"
import { X509Certificate } from "node:crypto"
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { request } from "node:https"
import { tmpdir } from "node:os"
import path from "node:path"
import { afterEach, assert, describe, it } from "@effect/vitest"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect } from "effect"
import { ANNOTATION_DAY_TWO, ANNOTATION_WINDOW } from "../../src/schema/Names.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { makeCredentials } from "../../tools/playground/Certificate.ts"
import { takeFolder } from "../../tools/playground/Folder.ts"
import { handlerOf, type Listening, listen } from "../../tools/playground/HttpsApi.ts"
import { kubeconfig } from "../../tools/playground/Kubeconfig.ts"
import { parseOptions } from "../../tools/playground/Options.ts"
import { makePodLogs } from "../../tools/playground/PodLog.ts"
import { Refusal } from "../../tools/playground/Refusal.ts"
import { describeInstance, makeStory, nextSteps } from "../../tools/playground/Story.ts"
import { toldEarlier } from "../../tools/playground/Times.ts"
import type { Change } from "../twins/kubernetes/ApiServer.ts"
import { makeApiServer } from "../twins/kubernetes/Server.ts"

const undo: Array<() => unknown> = []
afterEach(async () => {
  for (const each of undo.splice(0).toReversed()) await each()
})

const temporary = () => {
  const made = mkdtempSync(path.join(tmpdir(), "playground-"))
  undo.push(() => rmSync(made, { recursive: true, force: true }))
  return made
}

const refusal = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    if (error instanceof Refusal) return error.message
    throw error
  }
  return "nothing is refused"
}

describe("options", () => {
  it("have defaults, and are numbers that make sense", () => {
    assert.include(parseOptions([]), { port: 16_400, speed: 1, help: false })
    assert.include(parseOptions(["--port", "0", "--speed", "60"]), { port: 0, speed: 60 })
  })

  it.each([
    [["--port", "http"], '--port: "http" is not a port'],
    [["--port", "70000"], '--port: "70000" is not a port'],
    [["--speed", "0"], '--speed: "0" is not a speed'],
    [["--speed", ""], '--speed: "" is not a speed'],
    [["--sped", "2"], "--sped"],
  ])("%j are refused with a word on what to do", (args, words) => {
    assert.include(
      refusal(() => parseOptions(args)),
      words,
    )
  })
})

describe("the folder", () => {
  it("holds files for its owner alone, and is gone in the end", () => {
    const place = path.join(temporary(), ".playground")
    const folder = takeFolder(place)
    const file = folder.write("token", "secret")
    folder.write("token", "another")
    assert.strictEqual(readFileSync(file, "utf8"), "another")
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    assert.strictEqual(statSync(place).mode & 0o777, 0o700)
    folder.remove()
    assert.isFalse(existsSync(place))
  })

  it("keeps what somebody else has put there", () => {
    const place = path.join(temporary(), ".playground")
    const folder = takeFolder(place)
    writeFileSync(path.join(place, "notes"), "mine")
    folder.remove()
    assert.isTrue(existsSync(path.join(place, "notes")))
    assert.isFalse(existsSync(path.join(place, "running")))
  })

  it("is one playground's at a time, until that has died", async () => {
    const place = path.join(temporary(), ".playground")
    takeFolder(place)
    const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "playground"])
    undo.push(() => other.kill("SIGKILL"))
    const ended = new Promise((resolve) => other.once("exit", resolve))
    writeFileSync(path.join(place, "running"), `${other.pid}\n`)
    assert.include(
      refusal(() => takeFolder(place)),
      `a playground is running already, as process ${other.pid}`,
    )
    other.kill("SIGKILL")
    await ended
    takeFolder(place).remove()
    assert.isFalse(existsSync(place))
  })

  it("that cannot be made is told", () => {
    const file = path.join(temporary(), "file")
    writeFileSync(file, "")
    assert.include(
      refusal(() => takeFolder(path.join(file, ".playground"))),
      "cannot be written to",
    )
  })
})

describe("the certificate", () => {
  it("is for loopback, signed by its own key, and never the same", () => {
    const now = Date.now()
    const made = makeCredentials(now)
    const certificate = new X509Certificate(made.certificate)
    assert.isTrue(certificate.verify(certificate.publicKey))
    assert.strictEqual(certificate.checkIP("127.0.0.1"), "127.0.0.1")
    assert.strictEqual(certificate.checkHost("localhost"), "localhost")
    assert.isTrue(certificate.ca)
    assert.isBelow(Date.parse(certificate.validFrom), now)
    assert.isAbove(Date.parse(certificate.validTo), now)
    assert.notStrictEqual(
      new X509Certificate(makeCredentials(now).certificate).serialNumber,
      certificate.serialNumber,
    )
  })
})

describe("the API", () => {
  const token = "the token"
  const now = Date.parse("2026-01-01T00:10:00Z")

  const serve = async (ahead = () => 0) => {
    const api = Effect.runSync(makeApiServer({ name: "host" }))
    const credentials = makeCredentials(Date.now())
    const logs = makePodLogs()
    const listening = await listen(
      credentials,
      0,
      handlerOf({
        api,
        credentials,
        token,
        logs,
        now: () => new Date(now),
        ahead,
        enter: (call) => call(),
      }),
    )
    undo.push(listening.close)
    return { api, credentials, listening, logs }
  }
  type Served = Awaited<ReturnType<typeof serve>>

  const ask = (
    { credentials, listening }: Served,
    target: string,
    options: {
      method?: string
      headers?: Record<string, string>
      body?: string | Buffer
      bearer?: string
    } = {},
  ) =>
    new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }>(
      (resolve, reject) => {
        const { bearer = token, body, headers, method = "GET" } = options
        const sent = request(
          `https://127.0.0.1:${listening.port}${target}`,
          { method, ca: credentials.certificate, headers: { authorization: `Bearer ${bearer}`, ...headers } },
          (answer) => {
            let text = ""
            answer.on("data", (chunk) => {
              text += chunk
            })
            answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
          },
        )
        sent.on("error", reject)
        sent.end(body)
      },
    )

  const maps = "/api/v1/namespaces/default/configmaps"
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, dta: {} }

  it("is for whoever has the token, who may act for others", async () => {
    const served = await serve()
    assert.strictEqual((await ask(served, maps, { bearer: "another" })).status, 401)
    assert.strictEqual((await ask(served, maps)).status, 200)
    assert.strictEqual((await ask(served, maps, { headers: { "impersonate-user": "jane" } })).status, 403)
    const masters = { "impersonate-user": "jane", "impersonate-group": "system:masters" }
    assert.strictEqual((await ask(served, maps, { headers: masters })).status, 200)
  })

  it("takes JSON and YAML, tells what it left out, and refuses what cannot be read", async () => {
    const served = await serve()
    const json = { "content-type": "application/json" }
    const made = await ask(served, `${maps}?fieldValidation=Warn`, {
      method: "POST",
      headers: json,
      body: JSON.stringify(map),
    })
    assert.strictEqual(made.status, 201)
    assert.strictEqual(made.headers.warning, '299 - "unknown field \\"dta\\""')
    const applied = await ask(served, `${maps}/b?fieldManager=me`, {
      method: "PATCH",
      headers: { "content-type": "application/apply-patch+yaml" },
      body: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  k: v\n",
    })
    assert.strictEqual(applied.status, 201)
    for (const [type, body] of [
      ["application/json", "{"],
      ["application/yaml", "a: [b"],
      ["application/vnd.kubernetes.protobuf", "k8s\0\xff"],
    ] as const) {
      const broken = await ask(served, maps, { method: "POST", headers: { "content-type": type }, body })
      assert.strictEqual(broken.status, 400, type)
      assert.include(broken.text, "cannot be read", type)
    }
    const large = await ask(served, maps, {
      method: "POST",
      headers: json,
      body: Buffer.alloc(3 * 1024 * 1024 + 1, 32),
    })
    assert.strictEqual(large.status, 400)
    assert.include(large.text, "larger than")
  })

  it("ahead of the clock here, tells times as long ago as they are for it, and what was written as it was", async () => {
    const hour = 3_600_000
    let ahead = hour
    const served = await serve(() => ahead)
    const written = "2026-01-01T12:00:00Z"
    const event = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "e", namespace: "default", annotations: { lastTimestamp: written } },
      involvedObject: { kind: "ConfigMap", name: "a", namespace: "default" },
      message: `since ${written}`,
      lastTimestamp: written,
      reportingComponent: "test",
      reportingInstance: "test",
      action: "Test",
      reason: "Test",
      type: "Normal",
    }
    const json = { "content-type": "application/json" }
    const events = "/api/v1/namespaces/default/events"
    const body = JSON.stringify(event)
    const made = await ask(served, events, { method: "POST", headers: json, body })
    assert.strictEqual(made.status, 201, made.text)
    ahead = 0
    const plain = JSON.parse((await ask(served, `${events}/e`)).text)
    ahead = hour
    const found = JSON.parse((await ask(served, `${events}/e`)).text)
    assert.strictEqual(
      Date.parse(plain.metadata.creationTimestamp) - Date.parse(found.metadata.creationTimestamp),
      hour,
    )
    assert.deepInclude(found, {
      lastTimestamp: "2026-01-01T11:00:00Z",
      message: event.message,
    })
    assert.strictEqual(found.metadata.annotations.lastTimestamp, written)
    const watched = await ask(served, `${events}?watch=1&timeoutSeconds=1`)
    assert.include(watched.text, '"lastTimestamp":"2026-01-01T11:00:00Z"')
    const table = await ask(served, events, {
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    })
    assert.include(table.text, found.metadata.creationTimestamp)
    const lease = { spec: { renewTime: "2026-01-01T12:00:00.123456Z" } }
    assert.deepStrictEqual(toldEarlier([lease], 1500), [
      { spec: { renewTime: "2026-01-01T11:59:58.623456Z" } },
    ])
    const annotations = (pausedSince: string, since: string) => ({
      "platform.di-framework.dev/day-two": JSON.stringify({
        uid: "u",
        pausedSince,
        sleep: { askedAt: since, pods: 1, since },
        kept: { since: written },
      }),
      note: written,
    })
    const memo = { metadata: { annotations: annotations(written, "2026-01-01T12:30:00Z") } }
    assert.deepStrictEqual(toldEarlier(memo, hour), {
      metadata: { annotations: annotations("2026-01-01T11:00:00Z", "2026-01-01T11:30:00Z") },
    })
    const files = (began: string, ended: string) => ({
      data: {
        "history.json": JSON.stringify({ operations: [{ startedAt: began, endedAt: ended }] }),
        "plan.json": JSON.stringify({ drift: { madeAt: ended, after: written, data: ["Namespace a"] } }),
        "other.json": JSON.stringify({ startedAt: written }),
      },
    })
    assert.deepStrictEqual(
      toldEarlier(files(written, "2026-01-01T12:30:00Z"), hour),
      files("2026-01-01T11:00:00Z", "2026-01-01T11:30:00Z"),
    )
    const broken = { annotations: { "platform.di-framework.dev/day-two": `{"since":"${written}"` } }
    assert.deepStrictEqual(toldEarlier(broken, hour), broken)
    // What was read can be written back.
    const back = await ask(served, `${events}/e`, {
      method: "PUT",
      headers: json,
      body: JSON.stringify(found),
    })
    assert.strictEqual(back.status, 200, back.text)
    assert.strictEqual(JSON.parse(back.text).metadata.creationTimestamp, found.metadata.creationTimestamp)
  })

  describe("leads into no pod but the operator's log:", () => {
    const log = "/api/v1/namespaces/default/pods/operator/log"
    const pod = (name: string) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default" },
      spec: { containers: [{ name: "a", image: "a" }] },
    })
    const written = async () => {
      const served = await serve()
      for (const name of ["operator", "other"]) served.api.as("admin").create(Kinds.Pod, pod(name))
      for (const minute of [1, 5, 9])
        served.logs.add("operator", {
          time: new Date(`2026-01-01T00:0${minute}:00Z`),
          text: `minute ${minute}`,
        })
      return served
    }

    it("its lines, or those that are asked for", async () => {
      const served = await written()
      const read = async (query: string) => (await ask(served, `${log}?${query}`)).text
      assert.strictEqual(await read("container=operator"), "minute 1\nminute 5\nminute 9\n")
      assert.strictEqual(await read("tailLines=1"), "minute 9\n")
      assert.strictEqual(await read("tailLines=0"), "")
      assert.strictEqual(
        await read("sinceSeconds=300&timestamps=true"),
        "2026-01-01T00:05:00.000Z minute 5\n2026-01-01T00:09:00.000Z minute 9\n",
      )
      assert.strictEqual(await read("sinceTime=2026-01-01T00:06:00Z"), "minute 9\n")
    })

    /** Follows it from its last line on; `heard` is told of all there is so far, and may end it. Gives what there was. */
    const followed = (
      { credentials, listening }: Served,
      heard: (text: string, end: () => void) => void,
    ): Promise<string> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}` }
        const url = `https://127.0.0.1:${listening.port}${log}?follow=true&tailLines=1`
        request(url, { ca: credentials.certificate, headers }, (answer) => {
          let text = ""
          answer.on("data", (chunk) => {
            text += chunk
            heard(text, () => answer.destroy())
          })
          answer.on("close", () => resolve(text))
        })
          .on("error", reject)
          .end()
      })

    it("its lines as they come", async () => {
      const served = await written()
      const text = await followed(served, (soFar, end) => {
        if (soFar === "minute 9\n") served.logs.add("operator", { time: new Date(now), text: "now" })
        else end()
      })
      assert.strictEqual(text, "minute 9\nnow\n")
    })

    it("its lines until its pod is gone", async () => {
      const served = await written()
      const text = await followed(served, () => {
        served.api.as("admin").delete(Kinds.Pod, { namespace: "default", name: "operator" })
      })
      assert.strictEqual(text, "minute 9\n")
    })

    it("to whoever may read it", async () => {
      const served = await written()
      const refused = await ask(served, log, { headers: { "impersonate-user": "jane" } })
      assert.strictEqual(refused.status, 403)
      assert.include(refused.text, '\\"jane\\" cannot get resource \\"pods/log\\"')
    })

    it.each([
      ["GET", "pods/other/log", "it has no log"],
      ["POST", "pods/operator/exec?command=sh", "nothing can be run in it"],
      ["GET", "pods/other/portforward?ports=1", "no port leads into it"],
    ])("%s %s says why not, and where it can be had", async (method, place, words) => {
      const { status, text } = await ask(await written(), `/api/v1/namespaces/default/${place}`, { method })
      assert.strictEqual(status, 500)
      assert.include(text, words)
      assert.include(text, "make run CLUSTER=local")
    })

    it("of a pod that there is", async () => {
      const { status, text } = await ask(await written(), "/api/v1/namespaces/default/pods/none/log")
      assert.strictEqual(status, 404)
      assert.include(text, '\\"none\\" not found')
    })
  })

  it("sends a watch as lines, until the time that was asked for", async () => {
    const served = await serve()
    served.api.as("admin").create(Kinds.ConfigMap, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "early", namespace: "default" },
    })
    const watching = ask(served, `${maps}?watch=1&timeoutSeconds=1`)
    await ask(served, maps, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...map, dta: undefined }),
    })
    const lines = (await watching).text.trim().split("\n")
    assert.include(lines[0], '"early"')
    assert.strictEqual((await ask(served, "/api/v1/nothing?watch=1")).status, 404)
  })

  it("says that a port is taken, and how to take another one", async () => {
    const { credentials, listening } = await serve()
    const again: Listening | unknown = await listen(credentials, listening.port, () => {}).catch(
      (error) => error,
    )
    assert.instanceOf(again, Refusal)
    assert.include(
      again instanceof Refusal ? again.message : "",
      `port ${listening.port} of 127.0.0.1 is taken`,
    )
  })

  it("is what the kubeconfig leads to", () => {
    const { certificate } = makeCredentials(Date.now())
    const config = new KubeConfig()
    config.loadFromString(kubeconfig("https://127.0.0.1:16400", certificate, token))
    assert.strictEqual(config.getCurrentCluster()?.server, "https://127.0.0.1:16400")
    assert.strictEqual(config.getCurrentUser()?.token, token)
    assert.strictEqual(
      Buffer.from(config.getCurrentCluster()?.caData ?? "", "base64").toString(),
      certificate,
    )
  })
})

describe("the story", () => {
  const object = (status: object | undefined, generation = 1) => ({
    apiVersion: "platform.di-framework.dev/v1alpha1",
    kind: "PlatformInstance",
    metadata: {
      name: "one",
      namespace: "team-a",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      generation,
    },
    spec: { version: "6.0.22", target: { type: "vcluster" } },
    ...(status !== undefined && { status }),
  })
  const condition = (type: string, status: string, reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
    lastTransitionTime: "2026-01-01T00:00:00Z",
  })

  it("tells phase, version and what is not true yet", () => {
    assert.strictEqual(describeInstance(object(undefined)), "Pending 6.0.22")
    const conditions = [
      condition("Ready", "False", "TargetPending", "as the target"),
      condition("TargetReady", "False", "Creating", "creating it"),
    ]
    assert.strictEqual(
      describeInstance(object({ phase: "Provisioning", installedVersion: "6.0.21", conditions })),
      "Provisioning 6.0.21 -> 6.0.22; TargetReady Creating: creating it",
    )
  })

  it("tells what annotations ask for, of this life alone", () => {
    const asked = (memo: object) =>
      describeInstance({
        ...object({ phase: "Ready", installedVersion: "6.0.22" }),
        metadata: {
          ...object(undefined).metadata,
          annotations: { [ANNOTATION_DAY_TWO]: JSON.stringify(memo) },
        },
      })
    const since = "2026-01-01T00:00:00Z"
    const kept = { [ANNOTATION_WINDOW]: "Sat 02:00-04:00" }
    assert.strictEqual(asked({ uid: "u", pausedSince: since }), "Ready 6.0.22; paused")
    assert.strictEqual(asked({ uid: "u", sleep: { askedAt: since } }), "Ready 6.0.22; falls asleep")
    assert.strictEqual(
      asked({ uid: "u", sleep: { askedAt: since, since }, kept }),
      "Ready 6.0.22; asleep; window Sat 02:00-04:00",
    )
    assert.strictEqual(asked({ uid: "another", pausedSince: since, kept }), "Ready 6.0.22")
  })

  it("tells a message of several lines in one, and what a page says to a failure", () => {
    const conditions = [
      condition("Ready", "False", "InstallFailed", "the same"),
      condition("Installed", "False", "InstallFailed", "up: npm says\n  it is away\r\n\tby far"),
    ]
    assert.strictEqual(
      describeInstance(object({ phase: "Failed", conditions })),
      "Failed 6.0.22; Installed InstallFailed: up: npm says   it is away by far; what to do: docs/reasons.md#installfailed",
    )
  })

  it("tells each repair", () => {
    assert.strictEqual(
      describeInstance(
        object({ phase: "Ready", installedVersion: "6.0.22", lastRepair: "2026-01-01T00:30:00Z" }),
      ),
      "Ready 6.0.22, last repair 2026-01-01T00:30:00Z",
    )
  })

  it("tells a thing once, and when the newest generation is ready", () => {
    const said: Array<string> = []
    const ready: Array<string> = []
    const story = makeStory({
      say: (line) => said.push(line),
      elapsed: () => 61_000,
      onReady: (name) => ready.push(name),
    })
    const change = (type: Change["type"], of: ReturnType<typeof object>) =>
      story({ type, kind: Kinds.PlatformInstance, object: of })
    change("ADDED", object(undefined))
    change("MODIFIED", object(undefined))
    change("MODIFIED", object({ phase: "Ready", observedGeneration: 1 }, 2))
    assert.deepStrictEqual(ready, [])
    change("MODIFIED", object({ phase: "Ready", observedGeneration: 2, installedVersion: "6.0.22" }, 2))
    change("DELETED", object(undefined))
    assert.deepStrictEqual(said, [
      "   61s  team-a/one  Pending 6.0.22",
      "   61s  team-a/one  Ready 6.0.22",
      "   61s  team-a/one  gone",
    ])
    assert.deepStrictEqual(ready, ["team-a/one"])
  })

  it("tells the words of a failure once, however often it is tried again", () => {
    const said: Array<string> = []
    const story = makeStory({ say: (line) => said.push(line), elapsed: () => 0, onReady: () => undefined })
    const failing = ["Installed", "ConfigApplied", "Ready"].map((type) =>
      condition(type, "False", "InstallFailed", "npm is away"),
    )
    for (const phase of ["Failed", "Installing", "Failed"])
      story({
        type: "MODIFIED",
        kind: Kinds.PlatformInstance,
        object: object({ phase, conditions: failing }),
      })
    const [first = "", ...others] = said
    assert.strictEqual(first.split("npm is away").length, 2, first)
    assert.lengthOf(others, 2)
    for (const line of others) assert.notInclude(line, "npm is away")
  })

  it("ends with what to try", () => {
    const options = {
      kubeconfig: "/k",
      server: "https://127.0.0.1:1",
      logFile: "/l",
      speed: 1,
      hostNamespace: "pi-x",
    }
    const text = nextSteps({ ...options, hasKubectl: true })
    assert.notInclude(text, "no kubectl")
    assert.include(nextSteps({ ...options, hasKubectl: false }), "no kubectl on this machine")
    const spaced = nextSteps({ ...options, kubeconfig: "/my work/k", hasKubectl: true })
    assert.include(spaced, "export KUBECONFIG='/my work/k'")
    for (const words of [
      "get pi -A -w",
      "delete statefulset",
      "6.0.21",
      "delete pi one",
      "SPEED=60",
      "Ctrl-C",
    ])
      assert.include(text, words)
  })
})

describe("the command", () => {
  it("says which Node it needs when it is given an older one", () => {
    const script = readFileSync("tools/playground/start.mjs", "utf8")
    // The version is the only thing that an older Node would have otherwise.
    const older = script.replace("process.versions.node.split", '"18.19.0".split')
    assert.notStrictEqual(older, script)
    const file = path.join(temporary(), "start.mjs")
    writeFileSync(file, older)
    try {
      execFileSync(process.execPath, [file], { stdio: "pipe" })
      assert.fail("it goes on")
    } catch (error) {
      assert.include(String(error), "it needs Node 24 or later")
    }
  })
})
