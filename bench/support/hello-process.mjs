// The least that Hono can do, on the server library that Paylink uses: the peer of a page.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono().get('/', (context) => context.text('hello'))
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => process.send({ port }))
process.once('disconnect', () => process.exit(0))
