import type { z } from 'zod'
import type { PaymentRules } from '../../core/payment-rules.ts'
import type { AddressLeases } from '../../flows/steps/address-leases.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import type { ErrorCode } from '../../wire/errors.ts'
import type { Scope } from '../../wire/scopes.ts'
import type { SignedIn } from './credentials.ts'
import type { ApiDeps } from './deps.ts'
import type { MarketOf } from './market.ts'

/** Prefix of every route's path; a breaking change of the API would get a new one. */
export const API_PREFIX = '/api/v1'

/** What a route's handler is given besides the request. */
export type RouteDeps = ApiDeps & {
  /** The merchant's payment rules in this mode, at most half a second old. */
  readonly rulesOf: (tenant: Tenant) => Promise<PaymentRules>
  /** What the merchant can sell for now in this mode. */
  readonly marketOf: MarketOf
  /** Addresses that this process may give out. */
  readonly leases: AddressLeases
}

/** A request that was authenticated, allowed and parsed. */
export type RouteRequest<Id = unknown, Body = unknown, Query = unknown> = {
  readonly tenant: Tenant
  /** The API key's id, or the person's. */
  readonly callerId: string
  /** Who is signed in to the dashboard; null for an API key. */
  readonly person: SignedIn | null
  readonly requestId: string
  /** `:id` of the path, in the form of an id; of what kind, and whose, the database says. */
  readonly id: Id
  readonly body: Body
  readonly query: Query
}

/** The result of a creating request, returned to the caller once its transaction has committed. */
export type Created<View> = {
  readonly view: View
  /** In place of the route's own; only 2xx. */
  readonly status?: 200 | 201
  /** Statements already sent; the commit waits for them. */
  readonly written?: Promise<unknown>
  /** Runs after the commit, and never for a repeated request. It must not throw. */
  readonly afterCommit?: () => void
}

/** A creation that is known to be possible, for all that this process knows. */
export type Ahead<View> = {
  /** `create` of the route, that waits for no statement's answer. */
  create(tx: Tx): Promise<Created<View>>
  /** Nothing was created. */
  giveBack(): void
}

type Method = 'get' | 'post' | 'patch' | 'delete'

/** What the server, the OpenAPI document and the tests need to know of a route. */
type RouteFacts = {
  readonly method: Method
  /** Below `/api/v1`; at most one parameter, named `:id`. */
  readonly path: string
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** A body that the documentation shows and the tests send. */
  readonly example?: { readonly [field: string]: unknown }
  /** All fields are optional, and no body at all is the same as `{}`. */
  readonly bodyOptional?: true
  /** Null: any key may call it. */
  readonly scope: Scope | null
  /**
   * Restricts live mode: `session` needs a signed-in owner or admin with a fresh second factor; `test_only` exists in
   * test mode alone.
   */
  readonly live?: 'session' | 'test_only'
  /** The request may prove a second factor itself: the handler looks whether it does, or one was proved just now. */
  readonly provesFactor?: true
  /** Not for API keys, in either mode: only for a person signed in to the dashboard. */
  readonly dashboardOnly?: true
  /** Of the people, only owners and admins. */
  readonly managers?: true
  /** May wait for a receiver of webhooks, for seconds: takes its turn among the merchant's requests of that kind. */
  readonly awaitsReceiver?: true
  /** Codes beyond those that any route of its kind can answer with. */
  readonly problems: readonly ErrorCode[]
  /** Whether `:id` names something of the tenant's; used only to answer 404 before a 400, 409 or 422. */
  readonly exists?: (tx: Tx, tenant: Tenant, id: string) => Promise<boolean>
}

type Success<View> = {
  readonly status: 200 | 201 | 204
  readonly description: string
  /** Absent for 204. */
  readonly schema?: z.ZodType<View>
  /** What a 200 in place of a 201 means, with the same schema. */
  readonly found?: string
}

type IdOf<Path extends string> = Path extends `${string}/:id${string}` ? string : undefined
type OutputOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined

type RouteDefinition<
  Path extends string,
  View,
  Body extends z.ZodType | undefined,
  Query extends z.ZodObject | undefined,
  Prepared,
> = RouteFacts & {
  readonly path: Path
  /** A strict object. Absent: the request has no body, or `{}`. */
  readonly body?: Body
  /** A strict object of optional strings. Absent: no parameter is known. */
  readonly query?: Query
  readonly success: Success<View>
} & (
    | {
        readonly handler: (
          deps: RouteDeps,
          request: RouteRequest<IdOf<Path>, OutputOf<Body>, OutputOf<Query>>,
        ) => Promise<NoInfer<View>>
      }
    | {
        /** Reads what `create` needs, before a database connection is held. Rejects nothing. */
        readonly prepare?: (
          deps: RouteDeps,
          request: RouteRequest<IdOf<Path>, OutputOf<Body>, OutputOf<Query>>,
        ) => Promise<Prepared>
        /**
         * Creates something in the given transaction, together with the Idempotency-Key and its stored answer. No
         * network call and no other connection inside.
         */
        readonly create: (
          deps: RouteDeps,
          request: RouteRequest<IdOf<Path>, OutputOf<Body>, OutputOf<Query>>,
          tx: Tx,
          prepared: NoInfer<Prepared>,
        ) => Promise<Created<NoInfer<View>>>
        /**
         * What can be created in one round trip, or null. Tried first; where the database refuses it, because the
         * Idempotency-Key is not fresh or something is not as it was, the request goes the way of all others.
         */
        readonly ahead?: (
          deps: RouteDeps,
          request: RouteRequest<IdOf<Path>, OutputOf<Body>, OutputOf<Query>>,
          prepared: NoInfer<Prepared>,
        ) => Ahead<NoInfer<View>> | null
        /**
         * Runs before the Idempotency-Key is looked at: returns an answer that already stands, and throws every
         * rejection of `create` that takes precedence over a key's 409 and 422. Null to go on.
         */
        readonly answerFirst?: (
          deps: RouteDeps,
          request: RouteRequest<IdOf<Path>, OutputOf<Body>, OutputOf<Query>>,
          tx: Tx,
          prepared: NoInfer<Prepared>,
        ) => Promise<Created<NoInfer<View>> | null>
        /** Throws the 400s of `create`, which come before an Idempotency-Key's 409 and 422. */
        readonly refuse?: (
          deps: RouteDeps,
          request: RouteRequest<IdOf<Path>, OutputOf<Body>, OutputOf<Query>>,
          prepared: NoInfer<Prepared>,
        ) => void
      }
  )

/** A route as the server uses it, with its type parameters erased. */
export type Route = RouteFacts & {
  readonly body?: z.ZodType
  readonly query?: z.ZodObject
  readonly success: Success<unknown>
  readonly handler?: (deps: RouteDeps, request: RouteRequest) => Promise<unknown>
  readonly prepare?: (deps: RouteDeps, request: RouteRequest) => Promise<unknown>
  readonly create?: (
    deps: RouteDeps,
    request: RouteRequest,
    tx: Tx,
    prepared: unknown,
  ) => Promise<Created<unknown>>
  readonly ahead?: (deps: RouteDeps, request: RouteRequest, prepared: unknown) => Ahead<unknown> | null
  readonly answerFirst?: (
    deps: RouteDeps,
    request: RouteRequest,
    tx: Tx,
    prepared: unknown,
  ) => Promise<Created<unknown> | null>
  readonly refuse?: (deps: RouteDeps, request: RouteRequest, prepared: unknown) => void
}

/** Checks a route's types against one another: what its schemas parse is what its handler gets and gives. */
export function defineRoute<
  const Path extends string,
  View,
  Body extends z.ZodType | undefined = undefined,
  Query extends z.ZodObject | undefined = undefined,
  Prepared = undefined,
>(definition: RouteDefinition<Path, View, Body, Query, Prepared>): Route {
  // The server calls a handler only with what the route's own schemas made.
  return definition as unknown as Route
}
