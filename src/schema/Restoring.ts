// What is at work in the state of an instance that is being restored, as the operator's programs and the command line both say it.
export const restoringWords = (backup: string): string => `restore of backup ${backup}`
