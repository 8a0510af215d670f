/** The words in which the API server refuses what is new in a namespace that ends (1.35, seen). */
export const refusedInEnding = (namespace: string): string =>
  `in namespace ${namespace} because it is being terminated`
