/** One act at the dashboard, or its end. */
export type AuditEntry = {
  readonly merchantId: string
  readonly id: string
  readonly livemode: boolean
  /** 1, 2, 3… per merchant. */
  readonly number: number
  readonly actor: string
  readonly action: string
  readonly resourceId: string | null
  readonly phase: 'begun' | 'done' | 'refused'
  readonly code: string | null
  readonly requestId: string
  readonly createdAtMs: number
}

/**
 * What an entry's hash is taken of: the hash before it (hex; empty for the first) and its own fields, as one
 * JSON array, in which no field can flow into the next.
 */
export function auditText(previousHash: string, entry: AuditEntry): string {
  const { merchantId, id, livemode, number, actor, action, resourceId, phase, code, requestId, createdAtMs } =
    entry
  return JSON.stringify([
    previousHash,
    merchantId,
    id,
    livemode,
    number,
    actor,
    action,
    resourceId,
    phase,
    code,
    requestId,
    createdAtMs,
  ])
}
