// Locks between processes. The holder is a child that ends when its stdin does: a test process that dies, whatever way,
// leaves no lock behind.
import { startChild } from "./Child.ts"

export interface Lock {
  readonly release: () => Promise<void>
}

/** Waits until the lock of that file is free. */
export const takeLock = async (file: string, kind: "shared" | "exclusive"): Promise<Lock> => {
  const holder = startChild("flock", [`--${kind}`, file, "sh", "-c", "echo taken; exec cat"])
  await new Promise<void>((resolve) => holder.lines(() => resolve()))
  return { release: holder.end }
}
