// Names and paths of the plugin's pages.
export const LIST = "platformInstances"
export const DETAIL = "platformInstance"
export const CREATE = "platformInstanceCreate"
export const EDIT = "platformInstanceEdit"

export const paths = {
  [LIST]: "/platform-instances",
  [CREATE]: "/platform-instances/create",
  [EDIT]: "/platform-instances/:namespace/:name/edit",
  [DETAIL]: "/platform-instances/:namespace/:name",
}
