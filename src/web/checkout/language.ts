import { en, type Messages } from './messages/en.ts'

/** A language in which the page can speak, with its direction. */
export type Language = {
  /** BCP 47 tag, for the `lang` attribute and for `Intl`. */
  readonly tag: string
  readonly direction: 'ltr' | 'rtl'
  readonly messages: Messages
}

export const ENGLISH: Language = { tag: 'en', direction: 'ltr', messages: en }

const PLACEHOLDER = /\{([a-z]+)\}/

/** A message with its words in braces filled in. A word that is not given is a bug. */
export function fill(message: string, values: { readonly [word: string]: string }): string {
  return fillParts(message, values).join('')
}

/** As `fill`, for values that are elements of the page. */
export function fillParts<Part>(
  message: string,
  values: { readonly [word: string]: Part },
): (string | Part)[] {
  return message.split(PLACEHOLDER).map((part, index) => {
    if (index % 2 === 0) return part
    const value = values[part]
    if (value === undefined) throw new Error(`nothing was given for {${part}} in “${message}”`)
    return value
  })
}
