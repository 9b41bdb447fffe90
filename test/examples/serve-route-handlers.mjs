// Serves Next.js route handlers as Next.js calls them: node serve-route-handlers.mjs FOLDER, its routes under app/.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { serve } from '@hono/node-server'

const app = join(process.argv[2] ?? '.', 'app')
const routes = new Map()
for (const name of await readdir(app)) {
  routes.set(`/${name}`, await import(pathToFileURL(join(app, name, 'route.mjs')).href))
}

serve({
  hostname: '127.0.0.1',
  port: Number(process.env.PORT),
  fetch: (request) => {
    const handler = routes.get(new URL(request.url).pathname)?.[request.method]
    return handler === undefined ? new Response(null, { status: 404 }) : handler(request)
  },
})
