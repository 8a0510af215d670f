// One instance: what is asked for, what is, what has happened.
import { Router, Utils } from "@kinvolk/headlamp-plugin/lib"
import { AuthVisible, DetailsGrid } from "@kinvolk/headlamp-plugin/lib/CommonComponents"
import { Button } from "@mui/material"
import { Link as RouterLink, useParams } from "react-router-dom"
import { absenceOfOne } from "../logic/crdState.ts"
import { dayTwoOf } from "../logic/dayTwo.ts"
import { statusOf, versionOf } from "../logic/status.ts"
import { PlatformInstance } from "../PlatformInstance.ts"
import { EDIT } from "../routes.ts"
import { useWords } from "../useWords.ts"
import { Absent } from "./Absent.tsx"
import { Conditions } from "./detail/Conditions.tsx"
import {
  Asleep,
  Drift,
  detectsDrift,
  isPaused,
  isToSleep,
  isUpgraded,
  Paused,
  Upgrade,
} from "./detail/DayTwo.tsx"
import { DeleteInstance, Holdup } from "./detail/Deletion.tsx"
import { Events } from "./detail/Events.tsx"
import { Kubeconfig } from "./detail/Kubeconfig.tsx"
import { Spec, Status } from "./detail/Settings.tsx"
import { PhaseLabel, ReadyLabel } from "./labels.tsx"

const Actions = ({ item }: { readonly item: PlatformInstance }) => {
  const { t } = useWords()
  const { namespace = "", name, uid, deletionTimestamp } = item.metadata
  return (
    <>
      <AuthVisible item={item} authVerb="patch" namespace={namespace}>
        <Button
          component={RouterLink}
          to={Router.createRouteURL(EDIT, { namespace, name })}
          size="small"
          variant="outlined"
        >
          {t("Edit")}
        </Button>
      </AuthVisible>
      {deletionTimestamp === undefined && (
        <AuthVisible item={item} authVerb="delete" namespace={namespace}>
          <DeleteInstance
            object={item.jsonData}
            uid={uid}
            place={{ namespace, name, cluster: item.cluster }}
          />
        </AuthVisible>
      )}
    </>
  )
}

export const InstanceDetail = () => {
  const { t } = useWords()
  const { namespace, name } = useParams<{ namespace: string; name: string }>()
  const cluster = Utils.getCluster() ?? ""
  // The same question as the grid's own, so it is asked once.
  const [found, error] = PlatformInstance.useGet(name, namespace, { cluster })
  if (!found && error) return <Absent absence={absenceOfOne(error, `${namespace}/${name}`)} />
  return (
    <DetailsGrid
      resourceType={PlatformInstance}
      name={name}
      namespace={namespace}
      cluster={cluster}
      noDefaultActions
      actions={(item: PlatformInstance | null) =>
        item === null ? [] : [<Actions key="actions" item={item} />]
      }
      headerSection={(item: PlatformInstance | null) =>
        item === null ? null : <Holdup object={item.jsonData} />
      }
      extraInfo={(item: PlatformInstance | null) =>
        item === null
          ? null
          : [
              { name: t("Phase"), value: <PhaseLabel object={item.jsonData} /> },
              { name: t("Version"), value: versionOf(item.jsonData).text },
              { name: t("Ready"), value: <ReadyLabel object={item.jsonData} /> },
              {
                name: t("Maintenance windows"),
                value: dayTwoOf(item.jsonData).window,
                hide: dayTwoOf(item.jsonData).window === undefined,
              },
              {
                name: t("Waits for approval"),
                value: t("generation {{generation}}: kubectl pi plan says what it would do", {
                  generation: dayTwoOf(item.jsonData).awaitsApproval ?? 0,
                }),
                hide: dayTwoOf(item.jsonData).awaitsApproval === undefined,
              },
              {
                name: t("Drift"),
                value: <Drift object={item.jsonData} />,
                hide: !detectsDrift(item.jsonData),
              },
              {
                name: t("vCluster's chart"),
                value: <Upgrade object={item.jsonData} />,
                hide: !isUpgraded(item.jsonData),
              },
              {
                name: t("Restoring"),
                value: t("backup {{backup}}: kubectl pi restore, run again, goes on with it", {
                  backup: dayTwoOf(item.jsonData).restores ?? "",
                }),
                hide: dayTwoOf(item.jsonData).restores === undefined,
              },
              { name: t("Paused"), value: <Paused object={item.jsonData} />, hide: !isPaused(item.jsonData) },
              {
                name: t("Asleep"),
                value: <Asleep object={item.jsonData} />,
                hide: !isToSleep(item.jsonData),
              },
            ]
      }
      extraSections={(item: PlatformInstance | null) => {
        if (item === null || item === undefined) return []
        const object = item.jsonData
        const secret = statusOf(object).kubeconfigSecret
        return [
          { id: "pi.conditions", section: <Conditions object={object} /> },
          { id: "pi.status", section: <Status object={object} /> },
          { id: "pi.spec", section: <Spec object={object} /> },
          {
            id: "pi.kubeconfig",
            section: (
              <Kubeconfig
                key={item.metadata.uid}
                namespace={namespace}
                instance={name}
                secret={secret}
                cluster={item.cluster}
              />
            ),
          },
          {
            id: "pi.events",
            section: (
              <Events name={name} namespace={namespace} uid={item.metadata.uid} cluster={item.cluster} />
            ),
          },
        ]
      }}
    />
  )
}
