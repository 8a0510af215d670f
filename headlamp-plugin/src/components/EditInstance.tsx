// An edit of an instance, based on what was stored when the form was opened. What is written meanwhile does not move it.
import { Router, Utils } from "@kinvolk/headlamp-plugin/lib"
import { Loader } from "@kinvolk/headlamp-plugin/lib/CommonComponents"
import { useCallback, useEffect, useState } from "react"
import { useHistory, useParams } from "react-router-dom"
import * as api from "../api.ts"
import { type Conflict, conflictOf } from "../logic/conflict.ts"
import { absenceOfOne } from "../logic/crdState.ts"
import { type Draft, draftOf, objectOf } from "../logic/form.ts"
import { merge } from "../logic/merge.ts"
import { editPatch } from "../logic/patch.ts"
import { refusalOf } from "../logic/refusal.ts"
import { type JsonObject, rootSchema } from "../logic/schema.ts"
import { DETAIL } from "../routes.ts"
import { useWords } from "../useWords.ts"
import { Absent } from "./Absent.tsx"
import { ConflictNotice } from "./form/ConflictNotice.tsx"
import { InstanceForm } from "./form/InstanceForm.tsx"

interface Opened {
  readonly base: JsonObject
  readonly draft: Draft
  /** Counts how often the form was opened anew. */
  readonly round: number
}

export const EditInstance = () => {
  const { t } = useWords()
  const history = useHistory()
  const { namespace, name } = useParams<{ namespace: string; name: string }>()
  const cluster = Utils.getCluster() ?? ""
  const [opened, setOpened] = useState<Opened>()
  const [failure, setFailure] = useState<unknown>()
  const [conflict, setConflict] = useState<{
    readonly conflict: Conflict
    readonly current: JsonObject | undefined
  }>()

  useEffect(() => {
    let left = false
    api.read({ namespace, name, cluster }).then(
      (base) => {
        if (!left) setOpened({ base, draft: draftOf(base), round: 0 })
      },
      (error) => left || setFailure(error),
    )
    return () => {
      left = true
    }
  }, [namespace, name, cluster])

  const leave = useCallback(
    () => history.push(Router.createRouteURL(DETAIL, { namespace, name })),
    [history, namespace, name],
  )

  if (failure !== undefined) return <Absent absence={absenceOfOne(failure, `${namespace}/${name}`)} />
  if (opened === undefined) return <Loader title={t("Loading the instance")} />
  const { base, round } = opened

  const submit = async (draft: Draft) => {
    setConflict(undefined)
    const operations = editPatch(base, objectOf(draft))
    if (operations.length === 0) return leave()
    try {
      await api.patch({ namespace, name, cluster }, operations)
    } catch (error) {
      if (refusalOf(error).kind !== "conflict") throw error
      const current = await api.readIfThere({ namespace, name, cluster })
      const found = conflictOf(base, current)
      if (found.kind === "none") throw error
      setConflict({ conflict: found, current })
      return
    }
    leave()
  }

  return (
    <InstanceForm
      key={round}
      title={t("Edit {{name}}", { name: `${namespace}/${name}` })}
      initial={opened.draft}
      base={base}
      submitLabel={t("Save")}
      onCancel={leave}
      onSubmit={submit}
      notice={(draft) =>
        conflict && (
          <ConflictNotice
            conflict={conflict.conflict}
            onReopen={
              conflict.current &&
              ((keep) => {
                const next = conflict.current
                if (next === undefined) return
                const stored = draftOf(next)
                const kept = keep ? merge(draftOf(base), draft, stored, rootSchema) : stored
                setConflict(undefined)
                setOpened({ base: next, draft: kept, round: round + 1 })
              })
            }
          />
        )
      }
    />
  )
}
