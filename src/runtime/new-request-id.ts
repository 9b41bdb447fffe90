import { randomUUID } from 'node:crypto'

/** The `request-id` of one answer, random: what a caller quotes and the log is searched for. */
export const newRequestId = (): string => `req_${randomUUID().replaceAll('-', '')}`
