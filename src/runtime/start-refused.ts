/** Something that the person who starts the program can fix: it ends the start with this one line, and no stack trace. */
export class StartRefused extends Error {
  override name = 'StartRefused'
}
