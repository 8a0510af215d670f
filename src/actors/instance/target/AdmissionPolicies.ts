// The admission policies that the operator keeps in its cluster, each with its binding: what may not be deleted by mistake, and
// what a pod of an instance may not ask of the node. One set for all instances; `Protection` applies it.
import { Option, Schema } from "effect"
import {
  ANNOTATION_PROTECT,
  ANNOTATION_STORAGE_ROOT,
  CRD_NAME,
  GROUP,
  INSTANCE_POLICY_NAME,
  LABEL_HOST_NAMESPACE,
  PLURAL,
  POD_POLICY_NAME,
  SERVICE_POLICY_NAME,
  VCLUSTER_POLICY_NAME,
  VERSION,
} from "../../../schema/Names.ts"
import type { KubeManifest } from "../../../services/Kubernetes/Kubernetes.ts"
import { PRIORITY } from "./controlPlanePriority.ts"
import { MANAGED_BY } from "./ownership.ts"

/** The policy and its binding, of one name. */
export type PolicyManifests = readonly [policy: KubeManifest, binding: KubeManifest]

/** A CEL string literal. */
const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`

const made = (name: string, spec: object): PolicyManifests => [
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name, labels: MANAGED_BY },
    spec: { failurePolicy: "Fail", ...spec },
  },
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name, labels: MANAGED_BY },
    spec: { policyName: name, validationActions: ["Deny"] },
  },
]

interface Rule {
  readonly apiGroups: ReadonlyArray<string>
  readonly apiVersions: ReadonlyArray<string>
  readonly operations: ReadonlyArray<string>
  readonly resources: ReadonlyArray<string>
}

/** With what the server has by default, so that anything beside it is somebody else's (`applyWhole`). */
const matching = (namespaceSelector: object, ...rules: ReadonlyArray<Rule>) => ({
  matchPolicy: "Equivalent",
  namespaceSelector,
  objectSelector: {},
  resourceRules: rules.map((rule) => ({ ...rule, scope: "*" })),
})

const hostNamespaces = { matchLabels: { [LABEL_HOST_NAMESPACE]: "true" } }

/**
 * The name is compared in CEL and not by `resourceNames`, because a DELETE of the collection carries no name and
 * would pass; a terminating namespace is exempt, or it could never be emptied (both seen on a real API server).
 */
export const policyManifests = (operatorUser: string): PolicyManifests =>
  made(VCLUSTER_POLICY_NAME, {
    matchConstraints: matching(hostNamespaces, {
      apiGroups: [""],
      apiVersions: ["v1"],
      operations: ["DELETE"],
      resources: ["services"],
    }),
    validations: [
      {
        expression: [
          "oldObject.metadata.name != 'vcluster'",
          `request.userInfo.username == ${quoted(operatorUser)}`,
          "(has(namespaceObject.status) && has(namespaceObject.status.phase) && namespaceObject.status.phase == 'Terminating')",
        ].join(" || "),
        message:
          "service/vcluster owns everything its vCluster synced to this namespace; to remove it, delete the PlatformInstance",
      },
    ],
  })

/** Adding them is what the Pod Security Standards' level `baseline` allows (Kubernetes 1.35). */
const baselineCapabilities = [
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
]

/** That every container of the pod meets `condition`, which calls it `c`. Each list has a type of its own in CEL. */
const everyContainer = (condition: string): string =>
  ["containers", "initContainers", "ephemeralContainers"]
    .map((list) => `(!has(object.spec.${list}) || object.spec.${list}.all(c, ${condition}))`)
    .join(" && ")

const unset = (path: string): string => `(!has(${path}) || !${path})`

const annotationOf = (name: string) => `namespaceObject.metadata.annotations[${quoted(name)}]`

/** The instance's storage root as the operator has written it on the namespace; empty where it has written none (yet). */
const storageRoot = `has(namespaceObject.metadata.annotations) && ${quoted(ANNOTATION_STORAGE_ROOT)} in namespaceObject.metadata.annotations ? ${annotationOf(ANNOTATION_STORAGE_ROOT)} : ''`

/**
 * The control plane's own pod, which nobody inside can make: its StatefulSet's controller does, under its own account or, where
 * controllers have none, that of their manager. A webhook of the cluster may have added to it; it has to come back all the same.
 */
const isControlPlane = `object.metadata.name == 'vcluster-0' && request.userInfo.username in ['system:serviceaccount:kube-system:statefulset-controller', 'system:kube-controller-manager']`

/** vCluster hands no class on; this is for the day it does. What a debug container is added to is as it was. */
const noPriority = {
  expression: `request.operation != 'CREATE' || !has(object.spec.priority) || object.spec.priority < ${PRIORITY}`,
  message: `a pod of an instance may not be scheduled before the control planes of instances (priorityClassName); give it a class whose value is below ${PRIORITY}, or none`,
}

const wayOut = "; an operator with --allow-privileged-instances allows it"

/**
 * Pods of host namespaces are not restricted by Pod Security, because tenant data lies on hostPath: this takes back all but
 * that, of all pods but the control plane's own. Without a mark of the operator's on the namespace nothing is said of hostPath:
 * it is nobody's to guess where an instance has its data. What is there already is let go on: only its making, and what is added to it, is looked at.
 */
export const podPolicyManifests = ({ priority } = { priority: true }): PolicyManifests =>
  made(POD_POLICY_NAME, {
    matchConstraints: matching(
      hostNamespaces,
      { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] },
      {
        apiGroups: [""],
        apiVersions: ["v1"],
        operations: ["UPDATE"],
        resources: ["pods/ephemeralcontainers"],
      },
    ),
    matchConditions: [{ name: "not-the-control-plane", expression: `!(${isControlPlane})` }],
    variables: [{ name: "root", expression: storageRoot }],
    validations: [
      {
        expression: everyContainer(`!has(c.securityContext) || ${unset("c.securityContext.privileged")}`),
        message: `a pod of an instance may have no privileged container (securityContext.privileged)${wayOut}`,
      },
      {
        expression: ["hostNetwork", "hostPID", "hostIPC"]
          .map((field) => unset(`object.spec.${field}`))
          .join(" && "),
        message: `a pod of an instance may not share the node's namespaces (hostNetwork, hostPID, hostIPC)${wayOut}`,
      },
      {
        expression: everyContainer(
          [
            "!has(c.securityContext)",
            "!has(c.securityContext.capabilities)",
            "!has(c.securityContext.capabilities.add)",
            `c.securityContext.capabilities.add.all(k, k in [${baselineCapabilities.map(quoted).join(", ")}])`,
          ].join(" || "),
        ),
        message: `a pod of an instance may add no capabilities (securityContext.capabilities.add) but ${baselineCapabilities.join(", ")}${wayOut}`,
      },
      {
        expression: everyContainer(
          "!has(c.securityContext) || !has(c.securityContext.procMount) || c.securityContext.procMount == 'Default'",
        ),
        message: `a pod of an instance may not see the whole of /proc (securityContext.procMount)${wayOut}`,
      },
      {
        expression:
          "!has(object.spec.volumes) || object.spec.volumes.all(v, !has(v.hostPath) || variables.root == '' || v.hostPath.path == variables.root || v.hostPath.path.startsWith(variables.root + '/'))",
        message: `a pod of an instance may mount nothing of the node (hostPath) but what lies in the instance's own storage root${wayOut}`,
        messageExpression: `'a pod of an instance may mount nothing of the node (hostPath) but what lies in the storage root of its instance, ' + variables.root + ${quoted(wayOut)}`,
      },
      ...(priority ? [noPriority] : []),
    ],
  })

const externalIps = (object: string) => `has(${object}.spec.externalIPs) ? ${object}.spec.externalIPs : []`

/**
 * An external address of a Service is the whole cluster's: what any pod sends there, the operator's too, gets the pod behind it
 * (CVE-2020-8554). One from before the policy can still be changed otherwise.
 */
export const servicePolicyManifests = (): PolicyManifests =>
  made(SERVICE_POLICY_NAME, {
    matchConstraints: matching(hostNamespaces, {
      apiGroups: [""],
      apiVersions: ["v1"],
      operations: ["CREATE", "UPDATE"],
      resources: ["services"],
    }),
    variables: [
      { name: "asked", expression: externalIps("object") },
      { name: "had", expression: `oldObject == null ? [] : (${externalIps("oldObject")})` },
    ],
    validations: [
      {
        expression: "variables.asked.all(address, address in variables.had)",
        message: `a Service of an instance may take no address of the cluster's network (externalIPs)${wayOut}`,
      },
    ],
  })

const protectedBy = "oldObject.metadata.annotations"

/** Nobody is exempt, the operator neither: it deletes none. The end of one that is being deleted is no deletion. */
export const instancePolicyManifests = (): PolicyManifests =>
  made(INSTANCE_POLICY_NAME, {
    matchConstraints: matching(
      {},
      { apiGroups: [GROUP], apiVersions: [VERSION], operations: ["DELETE"], resources: [PLURAL] },
      {
        apiGroups: ["apiextensions.k8s.io"],
        apiVersions: ["v1"],
        operations: ["DELETE"],
        resources: ["customresourcedefinitions"],
      },
    ),
    validations: [
      {
        expression: `request.resource.resource != ${quoted(PLURAL)} || !has(${protectedBy}) || !(${quoted(ANNOTATION_PROTECT)} in ${protectedBy}) || ${protectedBy}[${quoted(ANNOTATION_PROTECT)}] != 'true'`,
        message: `this instance is protected; to delete it, remove its annotation ${ANNOTATION_PROTECT} first`,
        messageExpression: [
          "'this instance is protected; to delete it, remove its annotation first: kubectl annotate pi ' + oldObject.metadata.name",
          "' --namespace ' + oldObject.metadata.namespace",
          quoted(` ${ANNOTATION_PROTECT}-`),
        ].join(" + "),
      },
      {
        expression: `request.resource.resource != 'customresourcedefinitions' || oldObject.metadata.name != ${quoted(CRD_NAME)}`,
        message: `there are PlatformInstances, and all would go with their definition; delete them first, with the operator running. Without an operator: kubectl delete validatingadmissionpolicybinding ${INSTANCE_POLICY_NAME}`,
      },
    ],
  })

const UserExpression = Schema.Struct({
  spec: Schema.Struct({ validations: Schema.Array(Schema.Struct({ expression: Schema.String })) }),
})
const decodeUserExpression = Schema.decodeUnknownOption(UserExpression)

/** The user that a policy of this name exempts: the operator that applied it. The inverse of `policyManifests`. */
export const operatorOf = (policy: unknown): Option.Option<string> =>
  Option.flatMap(decodeUserExpression(policy), ({ spec }) =>
    Option.fromUndefinedOr(
      spec.validations
        .map(({ expression }) => /request\.userInfo\.username == '((?:[^'\\]|\\.)*)'/.exec(expression)?.[1])
        .find((user) => user !== undefined),
    ).pipe(Option.map((user) => user.replaceAll(/\\(.)/g, "$1"))),
  )
