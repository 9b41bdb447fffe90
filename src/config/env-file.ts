/** A line of an env file, as node and systemd read it; null where no quotes can hold the value. */
export function envLine(name: string, value: string): string | null {
  if (/^[A-Za-z0-9_.,:/@+=%~?&-]*$/.test(value)) return `${name}=${value}`
  const quote = ["'", '"'].find((each) => !value.includes(each))
  if (quote === undefined || /[\r\n\\]/.test(value)) return null
  return `${name}=${quote}${value}${quote}`
}
