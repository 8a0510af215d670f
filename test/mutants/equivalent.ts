// Mutants that no test can tell from the sources, and why. One that is caught after all does not belong here.

/** Names of mutants. */
export const equivalent: ReadonlyMap<string, string> = new Map([])
