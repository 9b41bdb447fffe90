import fc from 'fast-check'
import { expect, test } from 'vitest'
import { brandColours, contrastOf, type HexColour, parseColour } from './brand-colours.ts'

const anyColour = fc
  .integer({ min: 0, max: 0xffffff })
  .map((value): HexColour => `#${value.toString(16).padStart(6, '0')}`)

test('whatever a merchant’s colour, buttons keep it, and it is readable as text and under text', () => {
  fc.assert(
    fc.property(anyColour, (colour) => {
      const { fill, onFill, light, dark } = brandColours(colour)
      expect(fill).toBe(colour)
      expect(contrastOf(fill, onFill)).toBeGreaterThanOrEqual(4.5)
      for (const ground of ['#f3f5f8', '#ffffff', '#f6f8fa'] as const)
        expect(contrastOf(light, ground)).toBeGreaterThanOrEqual(4.5)
      for (const ground of ['#0d1015', '#171b22', '#1f242d'] as const)
        expect(contrastOf(dark, ground)).toBeGreaterThanOrEqual(4.5)
    }),
    { numRuns: 2_000 },
  )
})

test('a colour that can be read is left as it is', () => {
  expect(brandColours('#1a4d2e').light).toBe('#1a4d2e')
  expect(brandColours('#ffd166').dark).toBe('#ffd166')
})

test('contrast is what WCAG says of black, white and grey', () => {
  expect(contrastOf('#000000', '#ffffff')).toBe(21)
  expect(contrastOf('#767676', '#ffffff')).toBeCloseTo(4.54, 2)
})

test('a colour is six digits after a #, and nothing else', () => {
  expect(parseColour('#2B50D8')).toBe('#2b50d8')
  for (const wrong of [
    '',
    'red',
    '#fff',
    '2b50d8',
    '#2b50d8;}',
    '#2b50dg',
    ' #2b50d8',
    '#2b50d8\n',
    'url(x)',
  ])
    expect(parseColour(wrong)).toBeNull()
})
