import type { OpenApiDocument } from '../src/http/docs/openapi.ts'

/** The texts of the SDK's generated files. Throws for a schema that it has no rule for. */
export function sdkSource(document: OpenApiDocument): { readonly api: string; readonly tables: string }
