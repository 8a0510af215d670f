// The recordings of a terminal that the pages show: what is typed in each. `record.ts` makes them of a run.

export interface Step {
  /** As a page has it. */
  readonly command: string
  /** It goes on by itself: Ctrl-C, or a look elsewhere, once it has printed this; what comes behind is left out. */
  readonly until?: RegExp
  /** What is said above it. */
  readonly note?: string
}

export interface Recording {
  readonly name: string
  readonly title: string
  readonly steps: ReadonlyArray<Step>
}

/** In this order in one playground. */
export const recordings: ReadonlyArray<Recording> = [
  {
    name: "first",
    title: "The first command, and an instance that becomes Ready",
    steps: [
      { command: "make run", until: /The instance is Ready\./ },
      { command: "kubectl get pi -A", note: "in a second terminal, which has its KUBECONFIG" },
      { command: "kubectl pi status one -n team-a" },
    ],
  },
  {
    name: "repair",
    title: "What is broken is repaired",
    steps: [
      { command: "kubectl -n team-a delete secret one-kubeconfig" },
      { command: "kubectl -n team-a wait --for=create secret/one-kubeconfig", note: "it is written again" },
      { command: "kubectl delete statefulset -A -l app=vcluster", note: "worse: its control plane" },
      { command: "kubectl get pi -A -w", until: /Provisioning[\s\S]*Ready/ },
      { command: "kubectl pi history one -n team-a" },
    ],
  },
  {
    name: "upgrade",
    title: "Another version, and the end",
    steps: [
      { command: `kubectl -n team-a patch pi one --type merge -p '{"spec":{"version":"6.0.21"}}'` },
      { command: "kubectl get pi -A -w", until: /Installing[\s\S]*6\.0\.21 +6\.0\.21 +Ready/ },
      { command: "kubectl -n team-a delete pi one" },
      { command: "kubectl get pi -A" },
    ],
  },
]

export const recordingPath = (name: string, form: "cast" | "svg"): string => `docs/recordings/${name}.${form}`
