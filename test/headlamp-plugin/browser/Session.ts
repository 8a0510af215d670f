// One API server without a controller, one browser, and the plugin between them.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { assert } from "vitest"
import { programPath, startApiServer } from "../../services/Pulumi/apiServer.ts"
import { type Backend, startBackend } from "./Backend.ts"
import { run } from "./Child.ts"
import { type Colours, startChromium, type User } from "./Chromium.ts"
import { installed } from "./Installed.ts"
import { namespace } from "./Objects.ts"
import { type Kubectl, makeUsers, type Tokens } from "./Users.ts"

export const crdFile = join(import.meta.dirname, "../../../crd/platforminstances.yaml")

export interface Session {
  readonly backend: Backend
  readonly kubectl: Kubectl
  readonly apply: (object: object) => Promise<string>
  readonly installCrd: () => Promise<void>
  readonly setStatus: (name: string, status: object | null) => Promise<string>
  readonly signIn: (who: keyof Tokens, colours?: Colours) => Promise<User>
  /** Fails when a page has asked for something elsewhere, or has had an error. */
  readonly assertQuiet: (atLeast: number) => void
  readonly close: () => Promise<void>
}

/** The namespace and its users are there, the CRD is not. */
export const startSession = async (): Promise<Session> => {
  const scope = await Effect.runPromise(Scope.make())
  try {
    return await startIn(scope)
  } catch (error) {
    // Nobody else could end what has been started already.
    await Effect.runPromise(Scope.close(scope, Exit.void))
    throw error
  }
}

const startIn = async (scope: Scope.Closeable): Promise<Session> => {
  const folder = mkdtempSync(join(tmpdir(), "browser-"))
  const plugin = installed()
  const { kubeconfig } = await Effect.runPromise(startApiServer(folder).pipe(Scope.provide(scope)))
  const { clusters } = JSON.parse(kubeconfig)
  const program = programPath("kubectl") ?? "kubectl"
  const kubectl: Kubectl = (args, input) =>
    run(program, [`--kubeconfig=${folder}/api-server/kubeconfig`, ...args], input)
  const backend = await startBackend(plugin, clusters[0].cluster.server)
  const chromium = await startChromium()
  // The roles that RBAC itself needs are made after the server has begun to answer.
  await kubectl(["wait", "--for=create", "clusterrole/cluster-admin", "--timeout=120s"])
  const tokens = await makeUsers(kubectl, namespace)
  const users: Array<User> = []
  return {
    backend,
    kubectl,
    apply: (object) => kubectl(["apply", "-f", "-"], JSON.stringify(object)),
    installCrd: async () => {
      await kubectl(["apply", "--server-side", "--force-conflicts", "-f", crdFile])
      await kubectl([
        "wait",
        "--for=condition=Established",
        "crd/platforminstances.platform.di-framework.dev",
      ])
    },
    setStatus: (name, status) =>
      kubectl([
        "patch",
        "pi",
        name,
        `--namespace=${namespace}`,
        "--subresource=status",
        "--type=merge",
        "-p",
        JSON.stringify({ status }),
      ]),
    signIn: async (who, colours) => {
      const user = await chromium.signIn(backend.url, tokens[who], colours)
      users.push(user)
      return user
    },
    assertQuiet: (atLeast) => {
      assert.deepStrictEqual(
        users.flatMap(({ strangers }) => strangers),
        [],
      )
      assert.deepStrictEqual(
        users.flatMap(({ errors }) => errors),
        [],
      )
      assert.isAtLeast(users.length, atLeast)
    },
    close: async () => {
      await chromium.close()
      await backend.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
