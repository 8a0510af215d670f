// Which authority signed which leaf, when, and for how long. Nothing is encrypted here; a certificate that differs is
// another one.
import type { Tasks } from "../controllers/Tasks.ts"
import { certificate } from "./Certificate.ts"
import type { Subject } from "./Der.ts"

const DAY = 86_400_000
export const LEAF_LIFE = 365 * DAY
const AUTHORITY_LIFE = 3650 * DAY
/** So long before its end a leaf is renewed. */
export const RENEWED_BEFORE = 90 * DAY

export interface Pki {
  readonly ca: string
  readonly caKey: string
  /** Of the administrator: what the exported kubeconfig carries. */
  readonly client: string
  readonly clientKey: string
  /** Milliseconds. */
  readonly issued: number
}

const pem = (what: string, content: string | Buffer) =>
  `-----BEGIN ${what}-----\n${Buffer.from(content).toString("base64")}\n-----END ${what}-----\n`

const authority: Subject = { commonName: "kubernetes" }
const administrator: Subject = { commonName: "kubernetes-super-admin", organization: "system:masters" }

const signed = (subject: Subject, serial: string, from: number, life: number) =>
  pem(
    "CERTIFICATE",
    certificate({ subject, issuer: authority, serial, notBefore: from, notAfter: from + life }),
  )

const serial = ({ random }: Tasks) => Math.floor(random() * 2 ** 48).toString(16)

export const newLeaves = (pki: { readonly ca: string; readonly caKey: string }, tasks: Tasks): Pki => {
  const issued = tasks.now()
  const number = serial(tasks)
  return {
    ca: pki.ca,
    caKey: pki.caKey,
    client: signed(administrator, number, issued, LEAF_LIFE),
    clientKey: pem("RSA PRIVATE KEY", `of serial=${number}`),
    issued,
  }
}

export const newPki = (tasks: Tasks): Pki => {
  const number = serial(tasks)
  const ca = signed(authority, number, tasks.now(), AUTHORITY_LIFE)
  return newLeaves({ ca, caKey: pem("RSA PRIVATE KEY", `of CA serial=${number}`) }, tasks)
}

const KEYS = [
  ...["admin.conf", "controller-manager.conf", "scheduler.conf", "sa.key", "sa.pub"],
  ...[
    ...["ca", "server-ca", "client-ca", "apiserver", "apiserver-etcd-client", "apiserver-kubelet-client"],
    ...[
      "front-proxy-ca",
      "front-proxy-client",
      "etcd-ca",
      "etcd-server",
      "etcd-peer",
      "etcd-healthcheck-client",
    ],
  ].flatMap((name) => [`${name}.crt`, `${name}.key`]),
]

const encode = (text: string) => Buffer.from(text).toString("base64")
const decode = (text: string) => Buffer.from(text, "base64").toString("utf8")

/** The 29 keys of Secret `vcluster-certs`. */
export const certsData = (pki: Pki): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(KEYS.map((key) => [key, encode(`${key} ${pki.issued}`)])),
  "ca.crt": encode(pki.ca),
  "ca.key": encode(pki.caKey),
  "admin.conf": encode(JSON.stringify({ client: pki.client, key: pki.clientKey, issued: pki.issued })),
})

export const pkiOf = (data: Readonly<Record<string, string>>): Pki | undefined => {
  const admin = data["admin.conf"]
  const ca = data["ca.crt"]
  const caKey = data["ca.key"]
  if (admin === undefined || ca === undefined || caKey === undefined) return undefined
  const { client, key, issued } = JSON.parse(decode(admin))
  return { ca: decode(ca), caKey: decode(caKey), client, clientKey: key, issued }
}

/** The five keys of Secret `vc-<name>`. */
export const kubeconfigData = (
  pki: Pki,
  options: { readonly server: string; readonly context: string | undefined },
): Readonly<Record<string, string>> => {
  const { server, context = "my-vcluster" } = options
  const kubeconfig = [
    "apiVersion: v1",
    "clusters:",
    "- cluster:",
    `    certificate-authority-data: ${encode(pki.ca)}`,
    `    server: ${server}`,
    `  name: ${context}`,
    "contexts:",
    "- context:",
    `    cluster: ${context}`,
    `    user: ${context}`,
    `  name: ${context}`,
    `current-context: ${context}`,
    "kind: Config",
    "users:",
    `- name: ${context}`,
    "  user:",
    `    client-certificate-data: ${encode(pki.client)}`,
    `    client-key-data: ${encode(pki.clientKey)}`,
    "",
  ].join("\n")
  return {
    config: encode(kubeconfig),
    "certificate-authority": encode(pki.ca),
    "client-certificate": encode(pki.client),
    "client-key": encode(pki.clientKey),
    token: "",
  }
}
