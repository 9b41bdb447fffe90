import type { Log } from '../runtime/log.ts'

/** Says once that something fails and once that it works again, however often it was tried in between. */
export type FaultLog = {
  failed(error: unknown): void
  recovered(): void
}

export function createFaultLog(log: Log, what: string): FaultLog {
  let failures = 0
  return {
    failed: (error) => {
      failures += 1
      if (failures === 1) log.error({ err: error }, `${what} fails, and is tried again`)
    },
    recovered: () => {
      if (failures > 0) log.info({ failures }, `${what} works again`)
      failures = 0
    },
  }
}
