// What vitest's JSON reporter says of each test, as far as it is read here.
import { Schema } from "effect"

/** Of `testResults` an entry a file, each with its tests. */
export const testResults = Schema.Array(
  Schema.Struct({
    assertionResults: Schema.Array(
      Schema.Struct({
        fullName: Schema.String,
        /** `passed`, `failed`, `skipped`. */
        status: Schema.String,
        /** Of each try that failed, those of a test that passed in the end included. */
        failureMessages: Schema.NullOr(Schema.Array(Schema.String)),
      }),
    ),
  }),
)
