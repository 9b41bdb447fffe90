/** Digits that a double may not hold exactly. */
const LONG_INTEGER_OR_STRING = /"|-?[0-9]{16,}/g

/**
 * JSON whose long integers come out as strings of their digits, so that none is rounded: a balance may have 20 digits.
 * Throws `SyntaxError`. One pass, whatever the text.
 */
export function parseLosslessJson(text: string): unknown {
  let quoted = ''
  let copied = 0
  const token = new RegExp(LONG_INTEGER_OR_STRING)
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[0] === '"') {
      token.lastIndex = endOfString(text, match.index)
      continue
    }
    const end = match.index + match[0].length
    const isFraction = /[.eE+]/.test(text[match.index - 1] ?? '') || /[.eE]/.test(text[end] ?? '')
    if (isFraction) continue
    quoted += `${text.slice(copied, match.index)}"${match[0]}"`
    copied = end
  }
  return JSON.parse(copied === 0 ? text : quoted + text.slice(copied))
}

/** The place after the quote that ends the string beginning at `start`; the text's end where none does. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text[at - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return at + 1
  }
  return text.length
}
