import { parsePlace, US_STATES, WHOLE_COUNTRIES } from '../../core/card/places.ts'
import type { Language } from './language.ts'

type NamedPlace = { readonly code: string; readonly name: string }

const PLACES = new Map<string, readonly NamedPlace[]>()
/** English stands in where a language has no name. */
const namesIn = (language: Language) => new Intl.DisplayNames([language.locale, 'en'], { type: 'region' })

/** Every country by its name in the language and in its order; the United States state by state. */
export function placesIn(language: Language): readonly NamedPlace[] {
  const known = PLACES.get(language.tag)
  if (known !== undefined) return known
  const names = namesIn(language)
  const nameOf = (code: string): string => names.of(code) ?? code
  const states = Object.entries(US_STATES).map(([code, name]) => ({
    code: `US-${code}`,
    name: `${nameOf('US')} – ${name}`,
  }))
  const countries = WHOLE_COUNTRIES.map((code) => ({ code, name: nameOf(code) }))
  const { compare } = new Intl.Collator(language.locale)
  const places = [...countries, ...states].sort((a, b) => compare(a.name, b.name))
  PLACES.set(language.tag, places)
  return places
}

/** Whether a form's value is a place. */
export const isPlace = (text: string | undefined): text is string =>
  text !== undefined && parsePlace(text) !== null
