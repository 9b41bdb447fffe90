import { Inject } from '@nestjs/common'
import { Mutation, Resolver } from '@nestjs/graphql'
import {
  ActiveOrderService,
  Allow,
  Ctx,
  Logger,
  OrderService,
  Permission,
  type RequestContext,
} from '@vendure/core'
import { gql } from 'graphql-tag'
import { ApiError } from 'paylink-sdk'
import { CheckoutRefused, PaylinkCheckouts } from './checkouts.js'

export const shopApiSchema = gql`
  type PaylinkCheckout {
    "The payment page: send the buyer there."
    url: String!
    invoiceId: String!
  }
  type PaylinkCheckoutError implements ErrorResult {
    errorCode: ErrorCode!
    message: String!
  }
  union CreatePaylinkCheckoutResult = PaylinkCheckout | PaylinkCheckoutError
  extend type Mutation {
    "Opens the payment page of the active order, which must be in the state ArrangingPayment."
    createPaylinkCheckout: CreatePaylinkCheckoutResult!
  }
`

@Resolver()
export class PaylinkShopResolver {
  readonly #activeOrders: ActiveOrderService
  readonly #orders: OrderService
  readonly #checkouts: PaylinkCheckouts

  constructor(
    @Inject(ActiveOrderService) activeOrders: ActiveOrderService,
    @Inject(OrderService) orders: OrderService,
    @Inject(PaylinkCheckouts) checkouts: PaylinkCheckouts,
  ) {
    this.#activeOrders = activeOrders
    this.#orders = orders
    this.#checkouts = checkouts
  }

  @Mutation()
  @Allow(Permission.Owner)
  async createPaylinkCheckout(@Ctx() ctx: RequestContext) {
    const active = await this.#activeOrders.getActiveOrder(ctx, undefined)
    const order = active && (await this.#orders.findOne(ctx, active.id, ['payments', 'customer', 'channels']))
    if (!order) return refusal('There is no active order.')
    if (order.state !== 'ArrangingPayment')
      return refusal('The order must be in the state ArrangingPayment: call transitionOrderToState first.')
    try {
      const { id, checkout_url } = await this.#checkouts.open(ctx, order)
      return { __typename: 'PaylinkCheckout', url: checkout_url, invoiceId: id }
    } catch (error) {
      if (error instanceof CheckoutRefused) return refusal(error.message)
      Logger.error(`${order.code}: ${String(error)}`, 'Paylink')
      // What is wrong with the amount or its currency is for the buyer too; anything else is for the log.
      const isForBuyer = error instanceof ApiError && (error.status === 400 || error.status === 422)
      return refusal(isForBuyer ? error.message : 'No crypto payment can be made at the moment; try again.')
    }
  }
}

/** Vendure makes the code of an error from the name of its type. */
const refusal = (message: string) => ({
  __typename: 'PaylinkCheckoutError',
  errorCode: 'PAYLINK_CHECKOUT_ERROR',
  message,
})
