import { writeFile } from 'node:fs/promises'
import { ROUTES } from '../dist/http/api/routes.js'
import { openApiDocument } from '../dist/http/docs/openapi.js'
import { sdkSource } from './sdk-source.mjs'

/** `npm run sdk`: writes what of the SDK follows from the routes. What only a person at the dashboard may call is left out. */
const routes = ROUTES.filter((route) => route.dashboardOnly !== true)
const { api, tables } = sdkSource(openApiDocument(routes, 'https://pay.example.com'))
const folder = new URL('../packages/sdk/src/', import.meta.url)
await writeFile(new URL('api.ts', folder), api)
await writeFile(new URL('tables.ts', folder), tables)
