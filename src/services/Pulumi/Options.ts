// What the live layer has to be told: programs, folders, the registry, and who this operator is.
import type { Duration } from "effect"
import type { IsPodAlive } from "../Kubernetes/PodLiveness.ts"
import type { Identity } from "./Evidence.ts"

export interface PulumiOptions {
  /** Node 24, absolute. Runs the runner and npm's script. */
  readonly nodePath: string
  /** The runner's entry: `runner/main.ts` in development, a bundled file in the image. */
  readonly runnerPath: string
  /** How a package's program is kept to its own; absent: it can read and write what the operator can. */
  readonly sandbox?: {
    /** The launcher, absolute. */
    readonly launcher: string
    /** Folders and files that the runner's code consists of. */
    readonly code: ReadonlyArray<string>
  }
  /** The program that is copied into each project: `wrapper/index.js`. */
  readonly wrapperPath: string
  /** The `pulumi` program, absolute: its folder comes first on the runner's PATH. */
  readonly pulumiPath: string
  /** `npm` and `helm`: a path, or a name looked up on PATH. */
  readonly npmPath: string
  readonly helmPath: string
  readonly passphraseFile: string
  /** `--plugin-server`: absent, Pulumi's own. */
  readonly pluginServer?: string
  /** `--npm-registry`: absent, npm's own default or the one of `npmrc`. */
  readonly registry?: string
  /** `--npmrc`: npm reads credentials from there. */
  readonly npmrc?: string
  /** Folders with provider plugins that are there already, such as the image's; read only. */
  readonly pluginDirectories: ReadonlyArray<string>
  /** Bytes that stay free on the volume of the state directory: below, nothing is begun. Default: 0. */
  readonly minFreeSpace?: number
  /** Bytes of memory that the processes of one operation may have together: above, it is ended. Default: no bound. */
  readonly operationMemory?: number
  /** Ordinary temporary space: homes of the children, npm's cache. */
  readonly tmpDir: string
  /** Memory-backed temporary space, for kubeconfigs: `/dev/shm`. */
  readonly memoryDir: string
  readonly identity: Identity
  readonly isPodAlive: IsPodAlive
  /**
   * How long a cancelled run may take to end by itself, before SIGKILL. The engine needs well under a second
   * (3.274.1, seen), and the loss of a lease leaves 12 s for all. Default: 8 s.
   */
  readonly grace?: Duration.Input
  /** How long a run may say and await nothing before it counts as hanging. Default: 5 minutes. */
  readonly hang?: Duration.Input
  /** How long npm may take for one package. Default: 10 minutes. */
  readonly fetchTimeout?: Duration.Input
  /**
   * How long a fetch takes a package that was verified as it is: looking at its fifteen thousand files takes a moment, and
   * an install, which looks at their marks, follows right after the fetch. Default: 5 minutes.
   */
  readonly verifiedFor?: Duration.Input
}
