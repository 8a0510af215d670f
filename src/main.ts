// Flags -> config -> layers -> run. Composition only.
export {}
