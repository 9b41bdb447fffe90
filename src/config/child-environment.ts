/** What a program needs to find its files, to speak a language and to trust certificates; none of it is a secret. */
const CHILD_VARIABLES = [
  'PATH',
  'HOME',
  'TMPDIR',
  'LANG',
  'LC_ALL',
  'TZ',
  'NODE_ENV',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'PGSSLMODE',
] as const

/**
 * The whole environment of a child process: `settings`, what every program needs and what it is named besides. It is
 * here because only this file may read the environment.
 */
export function childEnvironment(
  settings: { readonly [name: string]: string } = {},
  alsoInherited: readonly string[] = [],
): { [name: string]: string } {
  const inherited = [...CHILD_VARIABLES, ...alsoInherited].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...Object.fromEntries(inherited), ...settings }
}
