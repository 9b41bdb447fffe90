import { VersionGraph, VersionInfo } from '@start9labs/start-sdk'

/** Migrations of the database run at each start: nothing is left to do here. */
const current = VersionInfo.of({
  version: '0.1.0:0',
  releaseNotes: 'The first release',
  migrations: {},
})

export const versions = VersionGraph.of({ current, other: [] })
