// The pod by which a backup and a restore reach an instance's storage root on the node, and what is run in it. Pure.
import { formatKey, type InstanceKey } from "../schema/InstanceKey.ts"
import { ANNOTATION_INSTANCE, GROUP, instanceHash } from "../schema/Names.ts"
import { STORAGE_ROOT_BASE } from "../schema/StorageRoot.ts"
import { idle, inShell } from "./BackupObjects.ts"
import { flagOf, type Operator } from "./RotationObjects.ts"

/** Which instance's storage root a pod has: one of a command that was killed is found by it. */
export const LABEL_STORAGE = `${GROUP}/storage-of`
const MOUNT = "/storage"
const CONTAINER = "storage"

/** Where the operator makes pods that mount the node: it has to admit them. */
export const cleanupNamespaceOf = ({ container }: Operator, operatorNamespace: string): string =>
  flagOf(container.args ?? [], "--cleanup-namespace", operatorNamespace)

export const storageRootBaseOf = ({ container }: Operator): string =>
  flagOf(container.args ?? [], "--storage-root-base", STORAGE_ROOT_BASE)

/** A backup only reads. `DirectoryOrCreate`, because a pod over one that is not there would never start. */
export const storagePod = ({
  name,
  namespace,
  key,
  operator,
  root,
  readOnly,
}: {
  readonly name: string
  readonly namespace: string
  readonly key: InstanceKey
  readonly operator: Operator
  readonly root: string
  readonly readOnly: boolean
}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    namespace,
    labels: { "app.kubernetes.io/managed-by": "kubectl-pi", [LABEL_STORAGE]: instanceHash(key) },
    annotations: { [ANNOTATION_INSTANCE]: formatKey(key) },
  },
  spec: {
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // Where this program dies. As long as the largest copy may take.
    activeDeadlineSeconds: 86_400,
    terminationGracePeriodSeconds: 1,
    securityContext: { seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: CONTAINER,
        image: operator.container.image,
        imagePullPolicy: "IfNotPresent",
        ...idle,
        // Root, because files there are of whoever the tenants run as; of its powers those that read and make them as they were.
        securityContext: {
          runAsUser: 0,
          runAsGroup: 0,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: {
            drop: ["ALL"],
            add: ["DAC_OVERRIDE", ...(readOnly ? [] : ["CHOWN", "FOWNER", "FSETID", "MKNOD", "SETFCAP"])],
          },
        },
        resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { memory: "512Mi" } },
        volumeMounts: [{ name: "storage", mountPath: MOUNT, readOnly }],
      },
    ],
    volumes: [{ name: "storage", hostPath: { path: root, type: "DirectoryOrCreate" } }],
  },
})

/** What a restore has there until its end: what is not in its place yet, and that all of it has come. */
const STAGING = ".kubectl-pi-restore-"
const staging = (id: string): string => `${STAGING}${id}`

/** What of a storage root is the instance's: of one that the spec names the platform's trees alone, the rest is its owner's. */
const trees = (isCustom: boolean): string =>
  isCustom
    ? "ls -A | grep -x -e di-tenants -e di-framework || true"
    : `ls -A | grep -v -e '^${STAGING.replace(".", "\\.")}' || true`

const run = inShell(CONTAINER, "-euc")
const inPod = (name: string, stdin: boolean, script: string) => run(name, stdin, `cd ${MOUNT}; ${script}`)

/** What lies in these folders, each by what no other thing of its name has: its inode, and when that was made, where the disk knows it. */
const inventory = (...folders: ReadonlyArray<string>): string =>
  `find ${folders.join(" ")} -mindepth 1 -maxdepth 1 -printf '%i %B@ %f\\0' | LC_ALL=C sort -z`

/**
 * Whether all that had come is still there, in its place or on its way to it. What a restore that was given up has left counts for nothing
 * once somebody has taken the rest away.
 */
const isWhole = (id: string): string =>
  `[ -e ${staging(id)}/whole ] && [ "$(${inventory(".", `${staging(id)}/new`)} | LC_ALL=C comm -z -23 ${staging(id)}/whole - | wc -c)" = 0 ]`

const xattrs = "--acls --xattrs --xattrs-include='user.*' --xattrs-include='security.capability'"

/** Links as links, holes as holes, sockets not at all. Zipped, so that it is known to be whole. Fails where a file changes meanwhile. */
export const readCommand = (name: string, isCustom: boolean) =>
  inPod(
    name,
    false,
    isCustom
      ? `set --; for tree in di-tenants di-framework; do [ ! -d $tree ] || [ -L $tree ] || set -- "$@" ./$tree; done; [ $# -gt 0 ] || set -- --files-from=/dev/null; exec tar --create --file=- --sparse --numeric-owner ${xattrs} --use-compress-program='gzip -1' "$@"`
      : `exec tar --create --file=- --sparse --numeric-owner ${xattrs} --use-compress-program='gzip -1' --anchored --exclude='./${STAGING}*' .`,
  )

/** Says `empty`, `begun`, `whole`, or the name of something that lies there. */
export const lookCommand = (name: string, id: string, isCustom: boolean) =>
  inPod(
    name,
    false,
    `if ${isWhole(id)}; then echo whole; exit; fi; found=$(${trees(isCustom)}); if [ -n "$found" ]; then echo "there $found" | head -n 1; elif [ -d ${staging(id)} ]; then echo begun; else echo empty; fi`,
  )

/** Into a folder that nobody knows: no link leads out of it. */
export const unpackCommand = (name: string, id: string) =>
  inPod(
    name,
    true,
    // What is made in a folder with the bit of its group gets that bit, too; five digits take it away.
    `rm -rf ${STAGING}*; mkdir ${staging(id)}; chmod 00700 ${staging(id)}; mkdir -m 700 ${staging(id)}/new; tar --extract --gzip --file=- --numeric-owner --same-owner --preserve-permissions --delay-directory-restore ${xattrs} --directory=${staging(id)}/new; sync; ${inventory(`${staging(id)}/new`)} > ${staging(id)}/all; mv ${staging(id)}/all ${staging(id)}/whole; sync`,
  )

/** Each by one rename, whatever its name; again does the rest. */
export const placeCommand = (name: string, id: string, isCustom: boolean) => {
  const move = `for each; do to=./"\${each##*/}"; if [ -e "$to" ] || [ -L "$to" ]; then echo "$to is there" >&2; exit 1; fi; mv -T "$each" "$to"; done`
  const own = `chown --reference=${staging(id)}/new .; chmod --reference=${staging(id)}/new .; `
  return inPod(
    name,
    false,
    `${isWhole(id)} || { echo "it has not come whole" >&2; exit 1; }; find ${staging(id)}/new -mindepth 1 -maxdepth 1 -exec sh -euc '${move}' sh {} +; ${isCustom ? "" : own}sync`,
  )
}

export const tidyCommand = (name: string, id: string) => inPod(name, false, `rm -rf ${staging(id)}`)
