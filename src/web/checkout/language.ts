import type { BuyerLanguage } from '../../core/checkout/buyer-emails.ts'
import ar from './messages/ar.json' with { type: 'json' }
import de from './messages/de.json' with { type: 'json' }
import en from './messages/en.json' with { type: 'json' }
import es from './messages/es.json' with { type: 'json' }
import fr from './messages/fr.json' with { type: 'json' }
import ja from './messages/ja.json' with { type: 'json' }
import ptBr from './messages/pt-br.json' with { type: 'json' }
import ru from './messages/ru.json' with { type: 'json' }
import tr from './messages/tr.json' with { type: 'json' }
import zh from './messages/zh.json' with { type: 'json' }

/** A sentence for every kind of number that a language tells apart (Unicode CLDR plural categories). */
type Plural = { readonly other: string } & { readonly [category in Intl.LDMLPluralRule]?: string }

/**
 * Everything that the buyers' pages say. Words in braces are filled in by the page. A translation has the keys of the
 * English one, and the same words in braces: `npm run check` fails where one is missing.
 */
type Messages = {
  readonly [key in keyof typeof en]: (typeof en)[key] extends string ? string : Plural
}

/** A language in which the pages can speak, with its direction. */
export type Language = {
  /** BCP 47 tag, for the `lang` attribute and for `?lang=`. */
  readonly tag: BuyerLanguage
  /** What `Intl` formats by: digits that can be compared with those of the amounts to copy. */
  readonly locale: string
  readonly direction: 'ltr' | 'rtl'
  /** The language in its own words. */
  readonly name: string
  readonly messages: Messages
}

const ltr = (tag: BuyerLanguage, name: string, messages: Messages): Language => ({
  tag,
  locale: tag,
  direction: 'ltr',
  name,
  messages,
})

export const ENGLISH: Language = ltr('en', 'English', en)

export const LANGUAGES: readonly Language[] = [
  ENGLISH,
  ltr('es', 'Español', es),
  ltr('pt-BR', 'Português', ptBr),
  ltr('fr', 'Français', fr),
  ltr('de', 'Deutsch', de),
  ltr('ru', 'Русский', ru),
  ltr('tr', 'Türkçe', tr),
  ltr('zh', '中文', zh),
  ltr('ja', '日本語', ja),
  { tag: 'ar', locale: 'ar-u-nu-latn', direction: 'rtl', name: 'العربية', messages: ar },
]

const ACCEPT_LENGTH_MAX = 500
const ACCEPT_ENTRIES_MAX = 30

/** The language that `?lang=` names; null for anything else. */
export function languageNamed(tag: string | undefined): Language | null {
  return LANGUAGES.find((language) => language.tag.toLowerCase() === tag?.toLowerCase()) ?? null
}

/**
 * The first of a browser's languages (RFC 9110 §12.5.4) in which we can speak, by weight; English where there is
 * none. `pt-PT` and `zh-TW` get the nearest that we have, by the primary subtag (RFC 4647 §3.4).
 */
export function languageAccepted(header: string | undefined): Language {
  const wanted = (header ?? '')
    .slice(0, ACCEPT_LENGTH_MAX)
    .split(',', ACCEPT_ENTRIES_MAX)
    .map((entry, index) => {
      const [tag = '', ...parameters] = entry.split(';').map((part) => part.trim())
      const weight = Number(/^q=([01](?:\.[0-9]{0,3})?)$/i.exec(parameters[0] ?? 'q=1')?.[1] ?? 0)
      return { primary: tag.split('-')[0]?.toLowerCase() ?? '', weight, index }
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight || a.index - b.index)
  for (const { primary } of wanted) {
    const found = LANGUAGES.find(({ tag }) => tag.split('-')[0] === primary)
    if (found !== undefined) return found
  }
  return ENGLISH
}

const PLACEHOLDER = /\{([a-z]+)\}/
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/
/** Characters that turn the direction of what follows: in a shop's name they could turn a whole sentence. */
const DIRECTION_CONTROLS = /[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/g
const FIRST_STRONG_ISOLATE = '\u2068'
const POP_ISOLATE = '\u2069'

/**
 * A message with its words in braces filled in. A missing word is a bug. If the sentence or the
 * word is written from right to left, the word is isolated (UAX #9), so that neither turns the other around.
 */
export function fill(message: string, values: { readonly [word: string]: string }): string {
  const turns = RIGHT_TO_LEFT.test(message)
  const parts = Object.entries(values).map(([word, value]) => {
    const plain = value.replace(DIRECTION_CONTROLS, '')
    const isApart = turns || RIGHT_TO_LEFT.test(plain)
    return [word, isApart ? FIRST_STRONG_ISOLATE + plain + POP_ISOLATE : plain]
  })
  return fillParts(message, Object.fromEntries(parts)).join('')
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

/** The sentence that a language has for this many, with the number in it. */
export function fillPlural(language: Language, plural: Plural, count: number): string {
  const category = new Intl.PluralRules(language.locale).select(count)
  return fill(plural[category] ?? plural.other, {
    count: new Intl.NumberFormat(language.locale).format(count),
  })
}
