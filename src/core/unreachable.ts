/** For the end of a `switch` that has a case for everything: a new kind without a case does not compile. */
export function unreachable(value: never): never {
  throw new Error(`no case for ${JSON.stringify(value)}`)
}
