// Arguments of `unshare`: what is mounted there is mounted nowhere else. Root needs no user namespace for it.
export const inMounts: ReadonlyArray<string> = [
  "--mount",
  "--propagation=private",
  ...(process.geteuid?.() === 0 ? [] : ["--map-root-user"]),
]
