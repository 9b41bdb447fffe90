import { PluginCommonModule, type Type, VendurePlugin } from '@vendure/core'
import { raw } from 'express'
import { PaylinkCheckouts } from './checkouts.js'
import { PAYLINK_OPTIONS, type PaylinkPluginOptions } from './options.js'
import { paylinkPaymentHandler } from './payment-handler.js'
import { PaylinkSettlement } from './settlement.js'
import { PaylinkShopResolver, shopApiSchema } from './shop-api.js'
import { PaylinkWebhooks, WEBHOOK_PATH } from './webhooks.js'

export type { PaylinkPluginOptions } from './options.js'
export { paylinkPaymentHandler } from './payment-handler.js'

/** An event is a few kilobytes. */
const EVENT_BYTES_MAX = '1mb'

/** Crypto payments through a Paylink server: `PaylinkPlugin.init({ url, apiKey, webhookSecret })` among your `plugins`. */
@VendurePlugin({
  imports: [PluginCommonModule],
  compatibility: '^3.0.0',
  controllers: [PaylinkWebhooks],
  providers: [
    { provide: PAYLINK_OPTIONS, useFactory: () => PaylinkPlugin.options },
    PaylinkCheckouts,
    PaylinkSettlement,
  ],
  shopApiExtensions: { schema: shopApiSchema, resolvers: [PaylinkShopResolver] },
  configuration: (config) => {
    config.paymentOptions.paymentMethodHandlers.push(paylinkPaymentHandler)
    // The raw bytes are what is signed.
    config.apiOptions.middleware.push({
      route: `/${WEBHOOK_PATH}`,
      handler: raw({ type: '*/*', limit: EVENT_BYTES_MAX }),
      beforeListen: true,
    })
    return config
  },
})
// biome-ignore lint/complexity/noStaticOnlyClass: a Vendure plugin is a class, and `init` is how its options are given.
export class PaylinkPlugin {
  static options: PaylinkPluginOptions

  static init(options: PaylinkPluginOptions): Type<PaylinkPlugin> {
    PaylinkPlugin.options = options
    return PaylinkPlugin
  }
}
