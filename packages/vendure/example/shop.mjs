// A shop in euros on Vendure, with one product and a page to buy it:
//   DATABASE_URL=postgresql://… PAYLINK_URL=http://localhost:3000 PAYLINK_API_KEY=sk_test_… \
//     PAYLINK_WEBHOOK_SECRET=whsec_… ADMIN_PASSWORD=… node example/shop.mjs
import { readFile } from 'node:fs/promises'
import { bootstrap, DefaultLogger, LogLevel } from '@vendure/core'
import { PaylinkPlugin } from 'paylink-vendure'
import { stockShop } from './stock-shop.mjs'

const { DATABASE_URL, PAYLINK_URL, PAYLINK_API_KEY, PAYLINK_WEBHOOK_SECRET, ADMIN_PASSWORD } = process.env
const PORT = Number(process.env.PORT ?? 4000)
const shopUrl = `http://localhost:${PORT}`
const page = await readFile(new URL('shop.html', import.meta.url))

await bootstrap({
  apiOptions: {
    port: PORT,
    hostname: '127.0.0.1',
    adminApiPath: 'admin-api',
    shopApiPath: 'shop-api',
    cors: { origin: [shopUrl], credentials: true },
    csrfPrevention: true,
    middleware: [
      {
        route: '/shop',
        handler: (_request, response) => response.type('html').send(page),
        beforeListen: true,
      },
    ],
  },
  authOptions: {
    tokenMethod: ['cookie', 'bearer'],
    superadminCredentials: { identifier: 'admin', password: ADMIN_PASSWORD },
    cookieOptions: { secret: ADMIN_PASSWORD },
    requireVerification: false,
  },
  // In production: migrations in place of `synchronize`.
  dbConnectionOptions: { type: 'postgres', url: DATABASE_URL, synchronize: true, logging: false },
  logger: new DefaultLogger({ level: LogLevel.Warn, timestamp: false }),
  plugins: [
    PaylinkPlugin.init({
      url: PAYLINK_URL,
      apiKey: PAYLINK_API_KEY,
      webhookSecret: PAYLINK_WEBHOOK_SECRET,
      returnUrl: (orderCode) => `${shopUrl}/shop?order=${orderCode}`,
    }),
  ],
})
await stockShop(`http://127.0.0.1:${PORT}/admin-api`, ADMIN_PASSWORD)
console.log(`the shop is at ${shopUrl}/shop`)
