import fc from 'fast-check'
import { expect, test } from 'vitest'
import { elementsOf, membersOf } from './raw-json.ts'

/** JSON as somebody else might write it, with space in any place. */
const spaced = (text: string, space: string): string => JSON.stringify(JSON.parse(text), null, space)
const space = fc.constantFrom('', ' ', '\t', '  ')

test('the members of any object are found where they are', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,9}$/), fc.jsonValue()), space, (object, indent) => {
      const bytes = Buffer.from(` ${spaced(JSON.stringify(object), indent)}\n`)
      const found = [...(membersOf(bytes) ?? [])].map(([name, span]) => [
        name,
        JSON.parse(bytes.toString('utf8', ...span)),
      ])
      expect(found).toEqual(Object.entries(JSON.parse(JSON.stringify(object))))
    }),
  )
})

test('the elements of any list are found where they are', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), space, (list, indent) => {
      const bytes = Buffer.from(spaced(JSON.stringify(list), indent))
      const found = elementsOf(bytes)?.map((span) => JSON.parse(bytes.toString('utf8', ...span)))
      expect(found).toEqual(JSON.parse(JSON.stringify(list)))
    }),
  )
})

test('what is cut off anywhere has no members', () => {
  const whole = '{"result":{"a":[1,{"b":"\\"}"}],"c":null},"error":null,"id":7}'
  for (let length = 0; length < whole.length; length++)
    expect(membersOf(Buffer.from(whole.slice(0, length)))).toBeNull()
  for (const other of ['[]', '7', '"{}"', '{}x', '{"a" 1}', '{"a":1,}', '{,}', 'null', '{"a":}'])
    expect(membersOf(Buffer.from(other))).toBeNull()
  for (const other of ['[', '[1', '[1,', '["]', '[1,]', '[]]', '{}', '[[1]']) {
    expect(elementsOf(Buffer.from(other))).toBeNull()
  }
})
