// What a package's program, and with it the engine and its provider, may read and write. All that is not named here is kept
// from it: the ServiceAccount's token, the npmrc, other instances, other processes, the operator's own files.
import path from "node:path"
import { confined, type Grants } from "../Process/Sandbox.ts"
import type { InstancePaths } from "../StateStore/StateStore.ts"
import type { PulumiOptions } from "./Options.ts"
import type { Workspace } from "./Workspace.ts"

/** What any program reads: libraries, names and addresses, certificates, what the machine is like. Nothing of this is secret. */
const system: ReadonlyArray<string> = [
  ...["/usr", "/bin", "/sbin", "/lib", "/lib64"],
  ...["ld.so.cache", "localtime", "passwd", "group"].map((name) => `/etc/${name}`),
  ...["resolv.conf", "hosts", "hostname", "host.conf", "gai.conf", "nsswitch.conf", "services"].map(
    (name) => `/etc/${name}`,
  ),
  // Not all of /etc/ssl: a machine's private keys may lie there.
  ...["ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust", "crypto-policies"].map(
    (name) => `/etc/${name}`,
  ),
  // Of processes its own alone, and the children's not even to themselves: a rule is for one folder that is there.
  ...["self", "cpuinfo", "meminfo", "stat", "loadavg", "version", "sys/kernel", "sys/net", "sys/vm"].map(
    (name) => `/proc/${name}`,
  ),
  ...["devices/system/cpu", "fs/cgroup", "kernel/mm/transparent_hugepage"].map((name) => `/sys/${name}`),
]

/** Certificates of the place the operator runs in, which children are told of by their environment. */
const certificates = (env: Readonly<Record<string, string>>): ReadonlyArray<string> =>
  [env.NODE_EXTRA_CA_CERTS, env.SSL_CERT_FILE, ...(env.SSL_CERT_DIR ?? "").split(":")].filter(
    (file): file is string => file !== undefined && path.isAbsolute(file),
  )

type Sandbox = NonNullable<PulumiOptions["sandbox"]>

const programs = (sandbox: Sandbox, options: PulumiOptions, env: Readonly<Record<string, string>>) => [
  ...system,
  ...certificates(env),
  options.nodePath,
  ...sandbox.code,
]

export interface OperationFiles {
  readonly paths: InstancePaths
  readonly workspace: Workspace
  /** Folder of the package in the store. */
  readonly packageDirectory: string
  /** The folder of plugins that has the one the package needs. */
  readonly pluginDirectory: string
}

/** For a run of the program. It has the passphrase and its own instance's kubeconfig, because it works with them. */
const operationGrants = (
  sandbox: Sandbox,
  { paths, workspace, packageDirectory, pluginDirectory }: OperationFiles,
  options: PulumiOptions,
  env: Readonly<Record<string, string>>,
): Grants => ({
  read: [
    ...programs(sandbox, options, env),
    options.pulumiPath,
    pluginDirectory,
    packageDirectory,
    path.resolve(options.passphraseFile),
    workspace.kubeconfig,
  ],
  write: [paths.project, paths.backend, workspace.home],
})

export interface Command {
  readonly command: string
  readonly args: ReadonlyArray<string>
}

/** The command in the sandbox, if there is one. */
const inSandbox = (
  { command, args }: Command,
  { sandbox }: PulumiOptions,
  grants: (sandbox: Sandbox) => Grants,
): Command =>
  sandbox === undefined ? { command, args } : confined(sandbox.launcher, grants(sandbox), command, args)

/** The command of a run of the program, in the sandbox if there is one. */
export const operationCommand = (
  command: Command,
  files: OperationFiles,
  options: PulumiOptions,
  env: Readonly<Record<string, string>>,
): Command => inSandbox(command, options, (sandbox) => operationGrants(sandbox, files, options, env))

/** The command that loads a package to read what it says of itself: it writes nothing. */
export const readingCommand = (
  command: Command,
  packageDirectory: string,
  options: PulumiOptions,
  env: Readonly<Record<string, string>>,
): Command =>
  inSandbox(command, options, (sandbox) => ({
    read: [...programs(sandbox, options, env), packageDirectory],
    write: [],
  }))
