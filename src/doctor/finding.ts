/** One thing that was looked at: how it stands, in words, with the fix where something is wrong. */
export type Finding = {
  /** `fault`: something does not work. `notice`: worth knowing, works as it is. */
  readonly kind: 'ok' | 'notice' | 'fault'
  readonly text: string
}

export const ok = (text: string): Finding => ({ kind: 'ok', text })
export const notice = (text: string): Finding => ({ kind: 'notice', text })
export const fault = (text: string): Finding => ({ kind: 'fault', text })
