import { describe, expect, it } from "vitest"
import { cleanupJob } from "../../../src/services/Cleanup/CleanupJob.ts"

const request = {
  image: "registry.example/operator@sha256:0",
  cleanupNamespace: "cleaning",
  base: "/var/lib/kubesolo/instances/",
  currentBase: "/srv/instances/",
  key: { namespace: "team-a", name: "one" },
  uid: "11111111-2222-3333-4444-555555555555",
}

describe("the cleanup Job", () => {
  it("belongs to one life of one instance", () => {
    const job = cleanupJob(request)
    expect(job.metadata).toMatchObject({
      namespace: "cleaning",
      labels: { "platform.di-framework.dev/instance-uid": request.uid },
      annotations: { "platform.di-framework.dev/instance": "team-a/one" },
    })
    expect(job.metadata.name).toMatch(/^pi-storage-cleanup-[a-z2-7]{12}-[a-z2-7]{12}$/)
    expect(cleanupJob({ ...request, uid: "another" }).metadata.name).not.toBe(job.metadata.name)
  })

  it("gives its pod the labels it is found by", () => {
    const job = cleanupJob(request)
    expect(job).toHaveProperty("spec.template.metadata.labels", job.metadata.labels)
  })

  it("mounts the namespace's folder alone, and names the instance inside it", () => {
    const job = cleanupJob(request)
    expect(job).toHaveProperty("spec.template.spec.volumes", [
      {
        name: "storage",
        hostPath: { path: "/var/lib/kubesolo/instances/team-a", type: "DirectoryOrCreate" },
      },
    ])
    expect(job).toHaveProperty("spec.template.spec.containers.0.args", [
      "--base=/var/lib/kubesolo/instances",
      "--current-base=/srv/instances",
      "--namespace=team-a",
      "--name=one",
      "--mount=/storage",
    ])
  })

  it("fails once and within ten minutes: trying again is the operator's decision", () => {
    expect(cleanupJob(request)).toMatchObject({
      spec: {
        backoffLimit: 0,
        activeDeadlineSeconds: 600,
        template: { spec: { restartPolicy: "Never" } },
      },
    })
    expect(cleanupJob(request)).not.toHaveProperty("spec.ttlSecondsAfterFinished")
  })

  it("holds no credentials and of root's powers only those over files", () => {
    expect(cleanupJob(request)).toMatchObject({
      spec: {
        template: {
          spec: {
            automountServiceAccountToken: false,
            containers: [
              {
                securityContext: {
                  runAsUser: 0,
                  allowPrivilegeEscalation: false,
                  readOnlyRootFilesystem: true,
                  capabilities: { drop: ["ALL"], add: ["DAC_OVERRIDE", "FOWNER"] },
                },
              },
            ],
          },
        },
      },
    })
  })

  it("runs the operator's own image, shares nothing of the node, and is bounded in memory", () => {
    const job = cleanupJob(request)
    expect(job).toMatchObject({
      spec: {
        template: {
          spec: {
            enableServiceLinks: false,
            securityContext: { seccompProfile: { type: "RuntimeDefault" } },
            containers: [
              {
                image: request.image,
                resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { memory: "256Mi" } },
              },
            ],
          },
        },
      },
    })
    for (const shared of ["hostNetwork", "hostPID", "hostIPC", "serviceAccountName"])
      expect(job).not.toHaveProperty(`spec.template.spec.${shared}`)
  })
})
