// A shop in euros on Medusa. README.md says how it is started.
const { join } = require('node:path')
const { defineConfig } = require('@medusajs/framework/utils')

const {
  DATABASE_URL,
  PORT = '9000',
  SHOP_SECRET,
  PAYLINK_URL,
  PAYLINK_API_KEY,
  PAYLINK_WEBHOOK_SECRET,
} = process.env
// In your shop: `paylink-medusa`, which is installed there, and `paylink-medusa/provider`.
const plugin = join(__dirname, '..')
const provider = join(plugin, '.medusa/server/src/provider')
const origin = `http://localhost:${PORT}`

module.exports = defineConfig({
  admin: { disable: true },
  projectConfig: {
    databaseUrl: DATABASE_URL,
    http: {
      storeCors: origin,
      adminCors: origin,
      authCors: origin,
      jwtSecret: SHOP_SECRET,
      cookieSecret: SHOP_SECRET,
    },
  },
  plugins: [plugin],
  modules: [
    {
      resolve: '@medusajs/medusa/payment',
      options: {
        providers: [
          {
            resolve: provider,
            id: 'paylink',
            options: {
              url: PAYLINK_URL,
              apiKey: PAYLINK_API_KEY,
              webhookSecret: PAYLINK_WEBHOOK_SECRET,
              returnUrl: `${origin}/shop`,
            },
          },
        ],
      },
    },
  ],
})
