import type { Hono } from 'hono'
export function addDocumentation(_app: Hono<{ Variables: { requestId: string } }>, _baseUrl: string): void {}
