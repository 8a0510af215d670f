// What a tenant has inside an instance: a Deployment and a ConfigMap.

/** A Deployment of one pod that asks for 32 MiB, and has a file of its own to show that it is another pod. */
export const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { namespace: "default", name: "web" },
  spec: {
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: {
        terminationGracePeriodSeconds: 0,
        automountServiceAccountToken: false,
        containers: [
          {
            name: "sh",
            image: "docker.io/library/busybox:1.36",
            command: ["sleep", "36000"],
            resources: { requests: { memory: "32Mi" } },
          },
        ],
      },
    },
  },
}

export const settings = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "default", name: "kept" },
  data: { a: "b" },
}
