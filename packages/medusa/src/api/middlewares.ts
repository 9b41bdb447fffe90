import { defineMiddlewares } from '@medusajs/framework/http'

/** The raw bytes are what is signed. */
export default defineMiddlewares({
  routes: [
    { matcher: '/hooks/paylink', method: ['POST'], bodyParser: { preserveRawBody: true, sizeLimit: '1mb' } },
  ],
})
