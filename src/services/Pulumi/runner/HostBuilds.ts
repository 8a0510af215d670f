// Reads what a platform package says about itself by loading it. That runs code of the package, which is why
// it happens here and not in the operator. What counts as the list is decided by `ApprovedHostBuilds`.

import { createRequire } from "node:module"
import { join } from "node:path"
import { platformPackageName } from "../Layout.ts"
import { eventDescriptor } from "../Protocol.ts"
import { writeAll } from "./Channel.ts"

/** Writes `{"entrypoint": <the export>, "manifest": <package.json's diFramework>}`; what is absent is null. */
export const hostBuilds = (directory: string): void => {
  const require = createRequire(join(directory, "index.js"))
  const entrypoint: { readonly approvedTenantHostImages?: unknown } = require(platformPackageName)
  const manifest: { readonly diFramework?: { readonly approvedTenantHostImages?: unknown } } = require(
    `${platformPackageName}/package.json`,
  )
  writeAll(
    eventDescriptor,
    JSON.stringify({
      entrypoint: entrypoint.approvedTenantHostImages ?? null,
      manifest: manifest.diFramework?.approvedTenantHostImages ?? null,
    }),
  )
  process.exit(0)
}
