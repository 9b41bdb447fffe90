/** A size that whoever measures may set in the environment, `usual` where it is not set. Throws where it is no number above 0. */
export function numberOf(name: string, usual: number): number {
  const text = process.env[name]
  if (text === undefined) return usual
  const number = Number(text)
  if (!(number > 0 && Number.isFinite(number)))
    throw new Error(`${name} must be a number above 0, not "${text}"`)
  return number
}
