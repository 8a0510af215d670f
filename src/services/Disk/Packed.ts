// A file that is gzip or plain, by what it begins with: the engine writes states either way.
import { gunzipSync } from "node:zlib"

/** Bytes, unpacked. A state is a few MiB; more than this would take the operator's memory. */
export const LARGEST_STATE = 128 * 1024 * 1024

export const isPacked = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b

/** Throws where it is packed and was cut off, or is larger than `LARGEST_STATE`. */
export const unpackedText = (bytes: Uint8Array): string =>
  (isPacked(bytes) ? gunzipSync(bytes, { maxOutputLength: LARGEST_STATE }) : Buffer.from(bytes)).toString(
    "utf8",
  )
