// The instance's kubeconfig: read when somebody asks for it, with that person's rights, and kept nowhere but on the page.
import { SectionBox } from "@kinvolk/headlamp-plugin/lib/CommonComponents"
import { Alert, Box, Button, Typography } from "@mui/material"
import { useEffect, useRef, useState } from "react"
import * as api from "../../api.ts"
import { kubeconfigOf } from "../../logic/kubeconfig.ts"
import { refusalOf } from "../../logic/refusal.ts"
import { useWords } from "../../useWords.ts"

interface Props {
  readonly namespace: string
  readonly instance: string
  readonly secret: string | undefined
  readonly cluster: string
}

const save = (text: string, name: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: "application/yaml" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}

export const Kubeconfig = ({ namespace, instance, secret, cluster }: Props) => {
  const { t } = useWords()
  const [shown, setShown] = useState<string>()
  const [problem, setProblem] = useState<string>()
  const here = useRef(true)
  useEffect(() => {
    here.current = true
    return () => {
      here.current = false
    }
  }, [])

  const fetchIt = async (then: (text: string) => void) => {
    if (secret === undefined) return
    setProblem(undefined)
    try {
      const text = kubeconfigOf(await api.readSecret({ namespace, name: secret, cluster }))
      if (!here.current) return
      if (text === undefined) setProblem(t("The Secret {{name}} holds no kubeconfig.", { name: secret }))
      else then(text)
    } catch (error) {
      const refusal = refusalOf(error)
      if (here.current)
        setProblem(
          refusal.kind === "forbidden"
            ? t("You may not read the Secret {{name}}.", { name: `${namespace}/${secret}` })
            : refusal.message,
        )
    }
  }

  return (
    <SectionBox title={t("Kubeconfig")}>
      <Box id="kubeconfig" sx={{ p: 1 }}>
        {secret === undefined ? (
          <Typography variant="body2">{t("There is none yet.")}</Typography>
        ) : (
          <>
            <Typography variant="body2" sx={{ mb: 1 }}>
              {t(
                "An administrator's, in the Secret {{name}}. Its address is one inside the cluster: use kubectl port-forward from anywhere else.",
                { name: secret },
              )}
            </Typography>
            {shown === undefined ? (
              <Button size="small" variant="outlined" onClick={() => fetchIt(setShown)}>
                {t("Show")}
              </Button>
            ) : (
              <Button size="small" variant="outlined" onClick={() => setShown(undefined)}>
                {t("Hide")}
              </Button>
            )}
            <Button
              size="small"
              onClick={() => fetchIt((text) => save(text, `${namespace}-${instance}.kubeconfig`))}
            >
              {t("Download")}
            </Button>
            {problem !== undefined && (
              <Alert severity="warning" role="alert" sx={{ mt: 1 }}>
                {problem}
              </Alert>
            )}
            {shown !== undefined && (
              <Box
                component="pre"
                role="region"
                tabIndex={0}
                aria-label={t("Kubeconfig")}
                sx={{ overflow: "auto", maxHeight: "24rem" }}
              >
                {shown}
              </Box>
            )}
          </>
        )}
      </Box>
    </SectionBox>
  )
}
