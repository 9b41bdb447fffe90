import { Hono } from 'hono'

/** Ponder asks for such a file; what the bench needs, `/health` and `/ready`, is its own. */
export default new Hono()
