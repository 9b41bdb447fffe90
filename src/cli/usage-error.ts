/** The command line is wrong: one line that names the option and the fix, and exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}
