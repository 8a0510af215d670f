// What the templates of the chart in test/fixtures/platform make: the stand-in for the platform's own release.
// Chart.real.test.ts holds it to what Helm makes of them.
import { createHash } from "node:crypto"
import type { Templates } from "../Chart.ts"

const serve = "mkdir -p /tmp/www && echo wasmcloud > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www"

export const platformTemplates: Templates = ({ release, values }) => {
  const name = `${release.name}-hosts`
  const labels = { app: "wasmcloud" }
  const token = createHash("sha256").update(`${release.namespace}/${release.name}`).digest("hex").slice(0, 32)
  return {
    "templates/deployment.yaml": [
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name },
        spec: {
          replicas: values.replicas,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              terminationGracePeriodSeconds: 1,
              containers: [
                {
                  name: "host",
                  image: values.image,
                  imagePullPolicy: "IfNotPresent",
                  command: ["sh", "-c", serve],
                  ports: [{ name: "http", containerPort: 8080 }],
                  readinessProbe: { httpGet: { path: "/", port: "http" }, periodSeconds: 1 },
                  env: [{ name: "TOKEN", valueFrom: { secretKeyRef: { name, key: "token" } } }],
                },
              ],
            },
          },
        },
      },
    ],
    "templates/secret.yaml": [
      { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: { token } },
    ],
  }
}
