import { describe, expect, test } from 'vitest'
import { fill, fillPlural, LANGUAGES, languageAccepted, languageNamed } from './language.ts'
import en from './messages/en.json' with { type: 'json' }

const placeholders = (text: string) => [...text.matchAll(/\{([^}]*)\}/g)].map((match) => match[1]).sort()
const others = LANGUAGES.filter(({ tag }) => tag !== 'en')

describe.each(LANGUAGES)('in $name', (language) => {
  test('nothing is left empty, and every sentence takes the words that it takes in English', () => {
    for (const [key, english] of Object.entries(en)) {
      const own = language.messages[key as keyof typeof en]
      if (typeof own !== 'string') {
        for (const form of Object.values(own)) expect(placeholders(form), key).toEqual(['count'])
        continue
      }
      expect(own.trim(), key).not.toBe('')
      expect([key, [...new Set(placeholders(own))]]).toEqual([
        key,
        [...new Set(placeholders(String(english)))].filter(
          // Some sentences name the shop again where others say “the shop”.
          (word) => word !== 'merchant' || own.includes('{merchant}'),
        ),
      ])
    }
  })

  test('no message is left that English does not have', () => {
    expect(Object.keys(language.messages).sort()).toEqual(Object.keys(en).sort())
  })

  test('every number has its own sentence', () => {
    const { pluralCategories } = new Intl.PluralRules(language.locale).resolvedOptions()
    expect(Object.keys(language.messages.warning_left).sort()).toEqual([...pluralCategories].sort())
    expect(fillPlural(language, language.messages.warning_left, 5)).toContain('5')
  })
})

test('no sentence of some length was left in English', () => {
  const untouched = others.flatMap(({ tag, messages }) =>
    Object.entries(en)
      .filter(([key, text]) => String(text).length > 25 && messages[key as keyof typeof en] === text)
      .map(([key]) => `${tag} ${key}`),
  )
  expect(untouched).toEqual([])
})

test('sentences that name the shop in English name it, or the shop, everywhere', () => {
  for (const { tag, messages } of others) {
    for (const key of ['title_pay', 'awaiting_lead', 'paid_lead', 'review_late', 'cancelled_lead'] as const) {
      expect(messages[key], `${tag} ${key}`).toContain('{merchant}')
    }
  }
})

describe('the language of a page', () => {
  test.each([
    ['de-CH,de;q=0.9,en;q=0.8', 'de'],
    ['pt', 'pt-BR'],
    ['zh-TW', 'zh'],
    ['nl, fr;q=0.2, ar;q=0.7', 'ar'],
    ['nl', 'en'],
    ['*', 'en'],
    ['', 'en'],
    ['de;q=0, fr', 'fr'],
    ['de;q=hostile, ja;q=0.1', 'ja'],
    ['<script>,\u0000,../,ru', 'ru'],
    [`${'x,'.repeat(10_000)}de`, 'en'],
  ])('is chosen by Accept-Language: %j gives %s', (header, tag) => {
    expect(languageAccepted(header).tag).toBe(tag)
  })

  test('is named by its tag, in any case, and by nothing else', () => {
    expect(languageNamed('PT-br')?.tag).toBe('pt-BR')
    for (const wrong of ['', 'english', 'de-DE', 'constructor', '__proto__', undefined]) {
      expect(languageNamed(wrong)).toBeNull()
    }
  })
})

test('a word of the other direction stands apart, and turns nothing around', () => {
  expect(fill('Pay {merchant}', { merchant: 'Blue Heron' })).toBe('Pay Blue Heron')
  expect(fill('Pay {merchant} 5', { merchant: 'שלום' })).toBe('Pay \u2068שלום\u2069 5')
  expect(fill('Pay {merchant} 5', { merchant: '\u202eevil\u2069' })).toBe('Pay evil 5')
  expect(fill('أرسل {amount}', { amount: '0.1 LTC' })).toBe('أرسل \u20680.1 LTC\u2069')
})
