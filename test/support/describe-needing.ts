import { describe } from 'vitest'
import type { ProgramName } from './programs.ts'

/** The suite once for each case, which stands for `%s` in the title, tagged with the program that the case needs. */
export function describeNeeding<Case extends string>(
  cases: { readonly [name in Case]: ProgramName | null },
  title: string,
  define: (name: Case) => void,
): void {
  for (const [name, program] of Object.entries(cases) as [Case, ProgramName | null][]) {
    describe(title.replace('%s', name), { tags: program === null ? [] : [program] }, () => define(name))
  }
}
