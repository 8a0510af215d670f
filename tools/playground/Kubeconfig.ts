// The kubeconfig of the playground's administrator.

const base64 = (text: string) => Buffer.from(text).toString("base64")

/** `server`: its URL. The certificate goes in whole, so that the file can be carried elsewhere on this machine. */
export const kubeconfig = (server: string, certificate: string, token: string): string => `apiVersion: v1
kind: Config
clusters:
  - name: playground
    cluster:
      server: ${server}
      certificate-authority-data: ${base64(certificate)}
users:
  - name: admin
    user:
      token: ${token}
contexts:
  - name: playground
    context:
      cluster: playground
      user: admin
current-context: playground
`
