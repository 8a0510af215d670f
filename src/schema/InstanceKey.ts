// Which PlatformInstance something belongs to. A key names a place (namespace and name); a UID names one life
// in that place. Memory belongs to a UID, a retained predecessor is found again by the key.
export interface InstanceKey {
  readonly namespace: string
  readonly name: string
}

/** `<namespace>/<name>`: the form used in logs, annotations and map keys. */
export const formatKey = (key: InstanceKey): string => `${key.namespace}/${key.name}`
