// A new instance.
import { Router, Utils } from "@kinvolk/headlamp-plugin/lib"
import { useState } from "react"
import { useHistory } from "react-router-dom"
import * as api from "../api.ts"
import { newDraft, objectOf } from "../logic/form.ts"
import { platformVersion, valueAt } from "../logic/schema.ts"
import { DETAIL } from "../routes.ts"
import { useWords } from "../useWords.ts"
import { InstanceForm } from "./form/InstanceForm.tsx"

export const CreateInstance = () => {
  const { t } = useWords()
  const history = useHistory()
  const [initial] = useState(() => newDraft("", platformVersion))
  return (
    <InstanceForm
      title={t("Create a platform instance")}
      initial={initial}
      submitLabel={t("Create instance")}
      onCancel={() => history.goBack()}
      onSubmit={async (draft) => {
        const object = objectOf(draft)
        const text = (key: string) => String(valueAt(object, ["metadata", key]) ?? "")
        const namespace = text("namespace")
        await api.create(object, namespace, Utils.getCluster() ?? "")
        history.push(Router.createRouteURL(DETAIL, { namespace, name: text("name") }))
      }}
    />
  )
}
