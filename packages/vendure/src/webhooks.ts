import type { IncomingMessage } from 'node:http'
import { Controller, Inject, Post, Req, Res } from '@nestjs/common'
import { Logger } from '@vendure/core'
import type { Response } from 'express'
import { UnsupportedSchemaVersion, verify, WebhookRejected } from 'paylink-sdk/webhooks'
import { PAYLINK_OPTIONS, type PaylinkPluginOptions } from './options.js'
import { PaylinkSettlement } from './settlement.js'

/** The path of the webhook endpoint below the server's address. */
export const WEBHOOK_PATH = 'payments/paylink'

/** Takes Paylink's signed events. 2xx only once what an event means is committed: anything else comes again. */
@Controller(WEBHOOK_PATH)
export class PaylinkWebhooks {
  readonly #options: PaylinkPluginOptions
  readonly #settlement: PaylinkSettlement

  constructor(
    @Inject(PAYLINK_OPTIONS) options: PaylinkPluginOptions,
    @Inject(PaylinkSettlement) settlement: PaylinkSettlement,
  ) {
    this.#options = options
    this.#settlement = settlement
  }

  @Post()
  async receive(@Req() request: IncomingMessage & { body: Buffer }, @Res() response: Response) {
    try {
      const event = verify(request.body, request.headers, this.#options.webhookSecret)
      if (event.kind === 'endpoint_verification') return response.json({ challenge: event.data.challenge })
      if (event.kind === 'invoice') await this.#settlement.settle(event.data)
      return response.sendStatus(200)
    } catch (error) {
      Logger.error(`a webhook was not taken: ${String(error)}`, 'Paylink')
      if (error instanceof WebhookRejected) return response.sendStatus(400)
      return response.sendStatus(error instanceof UnsupportedSchemaVersion ? 503 : 500)
    }
  }
}
