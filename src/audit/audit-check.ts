/** A promise of the service, and the query that finds whatever breaks it: merchant_id, subject, detail. */
export type AuditCheck = { readonly name: string; readonly rule: string; readonly sql: string }
