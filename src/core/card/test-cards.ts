/** What a test card does. */
export const TEST_CARD_OUTCOMES = ['approved', 'declined', 'abandoned', 'slow', 'under'] as const
export type TestCardOutcome = (typeof TEST_CARD_OUTCOMES)[number]

/** Numbers that no bank has given out; each passes the check digit of ISO/IEC 7812, as a real one does. */
export const TEST_CARDS: { readonly [outcome in TestCardOutcome]: string } = {
  approved: '4242424242424242',
  declined: '4000000000000002',
  abandoned: '4000000000000010',
  slow: '4000000000000028',
  under: '4000000000000036',
}

/** What the card of this number does, however it is spaced; null for every other number. */
export function testCardOutcome(number: string): TestCardOutcome | null {
  const digits = number.replace(/[ -]/g, '')
  return TEST_CARD_OUTCOMES.find((outcome) => TEST_CARDS[outcome] === digits) ?? null
}
