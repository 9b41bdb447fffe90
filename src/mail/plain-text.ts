const WORDS_LENGTH_MAX = 60

/**
 * What somebody wrote, as an email to others may repeat it: on one line, no longer than a name
 * or `lengthMax`, and nothing in it that a mail
 * program would make a link of. `none` where nothing is left.
 */
export function plainText(written: string, none: string, lengthMax = WORDS_LENGTH_MAX): string {
  const text = written
    .normalize('NFKC')
    // Control characters, and those that turn the direction of writing.
    .replace(/\p{C}+/gu, ' ')
    .replace(/[a-z][a-z0-9+.-]*:\/\/\S*/giu, ' ')
    .replace(/[/\\@<>[\]"“”]+/g, ' ')
    // A dot between letters makes a host name.
    .replace(/(?<=\S)[.。:](?=\S)/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  const letters = [...text]
  if (letters.length === 0) return none
  return letters.length <= lengthMax ? text : `${letters.slice(0, lengthMax - 1).join('')}…`
}
