// What the twin of the API server says against a request, for tests.
import { ApiStatus } from "./ApiServer.ts"

/** What a request was refused with; empty when it was not. */
export const refusal = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    if (error instanceof ApiStatus) return error.message
    throw error
  }
  return ""
}
