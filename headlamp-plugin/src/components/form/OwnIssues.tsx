// What is wrong with a list as a whole.
import { Typography } from "@mui/material"
import type { Issue } from "../../logic/checks.ts"
import { isUnder, type Path } from "../../logic/schema.ts"
import { useWords } from "../../useWords.ts"

interface Props {
  readonly issues: ReadonlyArray<Issue>
  readonly at: Path
}

export const OwnIssues = ({ issues, at }: Props) => {
  const { say } = useWords()
  const own = issues.filter(({ path }) => path.length === at.length && isUnder(path, at))
  return own.length === 0 ? null : (
    <Typography role="alert" variant="body2" color="error" sx={{ my: 1 }}>
      {own.map(({ words }) => say(words)).join("; ")}
    </Typography>
  )
}
