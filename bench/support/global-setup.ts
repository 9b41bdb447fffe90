import { provideServer } from '../../test/support/global-setup.ts'

/** Benches measure what a shop sees: a commit is on the disk when it is reported. */
export default (project: Parameters<typeof provideServer>[0]) => provideServer(project, { isDurable: true })
