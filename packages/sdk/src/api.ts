// Written by `npm run sdk` from the server's own schemas; a test fails when it is out of date. Do not change it by hand.
// biome-ignore-all format: it is compared letter by letter with what the generator writes.

export type ApprovePayout = {
  /** Live mode: the WebAuthn assertion, in base64url, over the `challenge` of `GET /payouts/:id/approval`. */
  readonly passkey?: {
    readonly credential_id: string
    readonly authenticator_data: string
    readonly client_data_json: string
    readonly signature: string
  } | undefined
  /** Live mode, where you have no passkey: the 6-digit code of your authenticator app. */
  readonly code?: string | undefined
}

export type Asset = {
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA'
  readonly object: 'asset'
  readonly livemode: boolean
  readonly name: string
  readonly symbol: string
  /** The network as a buyer knows it. */
  readonly network: string
  readonly decimals: number
  /** Smallest amount of an invoice, in coins. */
  readonly minimum: string
  /** Taken for an invoice that names no asset. */
  readonly is_default: boolean
  /** Window of an invoice made now. */
  readonly payment_window_minutes: number
  /** Windows that can be chosen, in minutes. */
  readonly payment_windows: readonly number[]
  readonly available: boolean
  /** The code that creating an invoice in US dollars would answer with. */
  readonly unavailable_code: 'asset_unavailable' | 'rate_unavailable' | null
  readonly unavailable_reason: string | null
  /** How the network is followed now. While it is `syncing` or `unavailable` invoices can be made, and their payments are seen once it is `ok` again. Null where no node is connected. */
  readonly network_status: 'starting' | 'ok' | 'syncing' | 'unavailable' | 'halted' | null
  /** What kind of fault it has, or why payments may wait. `paylink doctor` names the cause and the fix. */
  readonly network_reason: string | null
  /** An address to try a payout with; null where the network is no sandbox chain. */
  readonly test_address: string | null
}

export type Attempt = {
  readonly id: string
  readonly object: 'attempt'
  readonly event_id: string
  readonly endpoint_id: string
  /** Null once the event itself is no longer kept. */
  readonly event_type: string | null
  /** 1, 2, 3… for each delivery. */
  readonly number: number
  readonly http_status: number | null
  /** How it ended. `unknown_outcome`: the sender stopped before it could record an answer; the event may have been sent or not. `superseded`: not sent, because a later event of the invoice is all that a receiver in an older service’s format has to know. */
  readonly code: 'ok' | 'http_status' | 'redirect' | 'timeout' | 'dns' | 'address_refused' | 'connect' | 'tls' | 'tls_expired' | 'tls_wrong_host' | 'tls_untrusted' | 'reset' | 'malformed_response' | 'unknown_outcome' | 'superseded' | 'internal'
  readonly duration_ms: number
  /** ISO 8601 UTC with milliseconds. */
  readonly created_at: string
}

export type Balance = {
  /** The asset; or what no invoice asks for and no payout is made in, and waits for you (`wrong_asset`): `WSOL`, wrapped SOL. */
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA' | 'WSOL'
  readonly object: 'balance'
  readonly livemode: boolean
  /** Final and yours to pay out. */
  readonly available: string
  /** In a block, not yet final. */
  readonly pending: string
  /** Final, and waiting for your decision, or in a coin that no payout is made in (`WSOL`). */
  readonly suspense: string
  /** Set aside for payouts under way. */
  readonly reserved: string
  /** Part of `available` that the issuer of the token lets nobody move from the address of that invoice, or that permanent address, the largest first: no payout can be made of it. */
  readonly frozen: readonly {
    readonly invoice_id: string | null
    readonly deposit_address_id: string | null
    /** Canonical decimal in coin units. */
    readonly amount: string
  }[]
  /** Zero, or below it: what was paid out to you of a payment that the chain took back afterwards. What comes next makes up for it before anything is available. */
  readonly shortfall: string
}

export type BalanceEntry = {
  readonly id: string
  readonly object: 'balance_entry'
  readonly livemode: boolean
  /** The asset; or what no invoice asks for and no payout is made in, and waits for you (`wrong_asset`): `WSOL`, wrapped SOL. */
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA' | 'WSOL'
  /** Which of the balances of this asset it moved. */
  readonly account: 'available' | 'pending' | 'suspense' | 'reserved' | 'shortfall'
  /** Coins that came in, or, with a minus, went out. */
  readonly amount: string
  /** What stood in that account right after it. */
  readonly balance_after: string
  /** What the amount was worth in US dollars when it came: at the invoice's rate where it counts towards the invoice by itself, else at the price of that moment, as for money that came much too late. What the chain takes back goes out at the same value. Null where no price had ever been known. */
  readonly usd_value: string | null
  /** The same value in the shop's own currency: money at its invoice's terms is its share of the invoice's price, all else is `usd_value` at the rate that was kept on that day (UTC). Null where the shop's currency is the US dollar. */
  readonly home_value: {
    readonly currency: string
    /** With a minus where it went out. Null where no rate was kept on the day of the entry, or `usd_value` is null. */
    readonly amount: string | null
    /** US dollars per unit of the currency, and where that came from. */
    readonly rate: {
      readonly usd_per_unit: string
      /** ISO 8601 UTC with milliseconds. */
      readonly quoted_at: string
      readonly sources: readonly {
        readonly name: string
        readonly usd_per_unit: string
        /** ISO 8601 UTC with milliseconds. */
        readonly at: string
      }[]
    } | null
  } | null
  /** What moved it: `deposit`, a payment on its way to your balance; `deposit_void`, one that the chain took back; `payout`, money set aside for one; `payout_return`, such money back; `payout_sent` and `network_fee`, what a confirmed payout paid; `service_fee`, what the operator keeps, and `service_fee_return`, such a fee given back; `shortfall`, what is missing because the chain took back money that was paid out, and `shortfall_repaid`, what made up for it. More may come. */
  readonly type: string
  readonly invoice_id: string | null
  /** What came to a permanent address; `invoice_id` is then null. */
  readonly deposit_id: string | null
  readonly payment_id: string | null
  readonly payout_id: string | null
  /** The invoice's `order_reference`, or else its `external_reference`; of a deposit, its customer's reference. */
  readonly reference: string | null
  /** ISO 8601 UTC with milliseconds. */
  readonly created_at: string
}

export type CheckoutSession = {
  readonly id: string
  readonly object: 'checkout_session'
  readonly livemode: boolean
  readonly payment_link_id: string
  readonly order_reference: string
  readonly return_url: string | null
  readonly usd_amount: string
  /** What was asked for in your own currency; `usd_amount` was computed from it. */
  readonly price: {
    readonly amount: string
    readonly currency: string
  } | null
  /** The rate that turned `price` into `usd_amount`, in US dollars per unit, and where it came from. */
  readonly price_rate: {
    readonly usd_per_unit: string
    /** ISO 8601 UTC with milliseconds. */
    readonly quoted_at: string
    readonly sources: readonly {
      readonly name: string
      readonly usd_per_unit: string
      /** ISO 8601 UTC with milliseconds. */
      readonly at: string
    }[]
  } | null
  readonly status: 'active' | 'completed' | 'expired' | 'cancelled'
  /** Set when the buyer continues. */
  readonly invoice_id: string | null
  /** The final deadline of the payment; opening the URL does not renew it. */
  readonly expires_at: string
  /** Send the buyer here, unchanged. It shows neither the order nor the total. */
  readonly checkout_url: string
  /** Whether the request found the session made before. False wherever a session is only read. */
  readonly replayed: boolean
  /** ISO 8601 UTC with milliseconds. */
  readonly created_at: string
}

export type CreateCheckoutSession = {
  /** Your order. One order has one session, for ever and in both modes together. */
  readonly order_reference: string
  /** Total of the order, 0.50 to 100000.00; needed unless `price` is given. */
  readonly usd_amount?: string | undefined
  /** Total of the order in your own currency. `usd_amount` is what it is worth when the session is created, rounded up to the cent. */
  readonly price?: {
    readonly amount: string
    readonly currency: 'AUD' | 'BRL' | 'CAD' | 'CHF' | 'CNY' | 'CZK' | 'DKK' | 'EUR' | 'GBP' | 'HKD' | 'HUF' | 'IDR' | 'ILS' | 'INR' | 'ISK' | 'JPY' | 'KRW' | 'MXN' | 'MYR' | 'NOK' | 'NZD' | 'PHP' | 'PLN' | 'RON' | 'SEK' | 'SGD' | 'THB' | 'TRY' | 'ZAR'
  } | undefined
  /** Payment window of this session, 5 to 1440; the one of the link unless given, then your default. */
  readonly expires_in_minutes?: number | undefined
  /** Your page to which the buyer goes back: a button on the payment’s page once nothing is to be sent any more. Https; in test mode also http on localhost. `{INVOICE_ID}` in it becomes the invoice’s id. Coming back proves no payment. */
  readonly return_url?: string | undefined
}

export type CreateDepositAddress = {
  /** Your own reference of the customer. The same reference has the same addresses for ever. */
  readonly customer_reference: string
}

export type CreateInvoice = {
  /** Total in US dollars, 0.50 to 100000.00. */
  readonly usd_amount?: string | undefined
  /** Total in your own currency in place of dollars. `usd_amount` is what it is worth at the rate of the moment, rounded up to the cent: 0.50 to 100000.00 dollars. */
  readonly price?: {
    readonly amount: string
    readonly currency: 'AUD' | 'BRL' | 'CAD' | 'CHF' | 'CNY' | 'CZK' | 'DKK' | 'EUR' | 'GBP' | 'HKD' | 'HUF' | 'IDR' | 'ILS' | 'INR' | 'ISK' | 'JPY' | 'KRW' | 'MXN' | 'MYR' | 'NOK' | 'NZD' | 'PHP' | 'PLN' | 'RON' | 'SEK' | 'SGD' | 'THB' | 'TRY' | 'ZAR'
  } | undefined
  /** Total in coins in place of dollars; needs `asset`, refuses `usd_amount`. */
  readonly amount?: string | undefined
  /** Starting coin; your default coin unless given. A token without its network (`USDC`, `USDT`): it can be paid on every network on which you accept it, `also_accepts` names them, and payments on several of them are added up. `USD` takes the dollar tokens of every issuer, each on every such network, at the rates of `token_rates`. */
  readonly asset?: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA' | 'USDC' | 'USDT' | 'PYUSD' | 'USD' | undefined
  /** Whether the buyer may change the coin. */
  readonly allow_asset_selection?: boolean | undefined
  readonly customer_email?: string | undefined
  /** Your own reference. */
  readonly external_reference?: string | undefined
  /** What the buyer pays for, on one line: shown on the page and the receipt. */
  readonly description?: string | undefined
  /** Any JSON object of yours, at most 8 KiB; returned in the API and in events exactly as given. */
  readonly metadata?: {
    readonly [field: string]: unknown
  } | undefined
  /** Your page to which the buyer goes back: a button on the payment’s page once nothing is to be sent any more. Https; in test mode also http on localhost. `{INVOICE_ID}` in it becomes the invoice’s id. Coming back proves no payment. */
  readonly return_url?: string | undefined
}

export type CreatePaymentLink = {
  /** What the buyer pays for. */
  readonly name: string
  /** Charged where a checkout gives no total of its own; needed, or `price`, unless `allow_dynamic_amount` is true. 0.50 to 100000.00, and at least the minimum of the asset. */
  readonly usd_amount?: string | undefined
  /** Charged in your own currency in place of dollars: each buyer pays what it is worth at the rate of the moment, rounded up to the cent. */
  readonly price?: {
    readonly amount: string
    readonly currency: 'AUD' | 'BRL' | 'CAD' | 'CHF' | 'CNY' | 'CZK' | 'DKK' | 'EUR' | 'GBP' | 'HKD' | 'HUF' | 'IDR' | 'ILS' | 'INR' | 'ISK' | 'JPY' | 'KRW' | 'MXN' | 'MYR' | 'NOK' | 'NZD' | 'PHP' | 'PLN' | 'RON' | 'SEK' | 'SGD' | 'THB' | 'TRY' | 'ZAR'
  } | undefined
  /** The coin to begin with; your default coin of the moment unless given. */
  readonly asset?: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA' | undefined
  /** Whether checkout sessions, and buyers by `?usd=` or `?amount=&currency=`, give the total. */
  readonly allow_dynamic_amount?: boolean | undefined
  /** For tips, donations and top-ups: what buyers may pay where they say how much. Only with `allow_dynamic_amount`. */
  readonly buyer_amount?: {
    /** What the page asks in; that of the link’s own amount. Default: USD. */
    readonly currency?: 'USD' | 'AUD' | 'BRL' | 'CAD' | 'CHF' | 'CNY' | 'CZK' | 'DKK' | 'EUR' | 'GBP' | 'HKD' | 'HUF' | 'IDR' | 'ILS' | 'INR' | 'ISK' | 'JPY' | 'KRW' | 'MXN' | 'MYR' | 'NOK' | 'NZD' | 'PHP' | 'PLN' | 'RON' | 'SEK' | 'SGD' | 'THB' | 'TRY' | 'ZAR' | undefined
    /** The least that a buyer may enter. */
    readonly minimum?: string | undefined
    /** The most that a buyer may enter. */
    readonly maximum?: string | undefined
    /** Amounts that the page offers with one press. */
    readonly suggested?: readonly string[] | undefined
  } | undefined
  /** Makes the link’s page a till, at which staff take payments. Only with `allow_dynamic_amount`, and without an amount or `buyer_amount`. */
  readonly till?: {
    /** What the till counts in. */
    readonly currency: 'USD' | 'AUD' | 'BRL' | 'CAD' | 'CHF' | 'CNY' | 'CZK' | 'DKK' | 'EUR' | 'GBP' | 'HKD' | 'HUF' | 'IDR' | 'ILS' | 'INR' | 'ISK' | 'JPY' | 'KRW' | 'MXN' | 'MYR' | 'NOK' | 'NZD' | 'PHP' | 'PLN' | 'RON' | 'SEK' | 'SGD' | 'THB' | 'TRY' | 'ZAR'
    /** What is sold with one press. */
    readonly items?: readonly {
      readonly name: string
      readonly amount: string
      /** The digest that `POST /till-pictures` answered. */
      readonly picture?: string | undefined
    }[] | undefined
    /** Percentages to choose a tip from. None: the till asks for no tip. */
    readonly tips?: readonly number[] | undefined
  } | undefined
  /** Minutes that a buyer has to pay, one of 15, 30, 60, 180, 720 and 1440; your default of the moment unless given. */
  readonly duration_minutes?: 15 | 30 | 60 | 180 | 720 | 1440 | undefined
}

export type CreatePayout = {
  readonly destination_id: string
  /** What leaves your balance, in coins. The network fee is taken from it. */
  readonly amount: string
  /** The destination's asset unless given; it cannot be another one. */
  readonly asset?: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA' | undefined
}

export type CreatePayoutDestination = {
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA'
  /** Where the money goes. Checked for the network of the mode and for typing errors. */
  readonly address: string
  /** What it is to you, such as "Treasury". */
  readonly name: string
}

export type CreateWebhookEndpoint = {
  /** https, a host name, port 443 or above 1023, no credentials. */
  readonly url: string
  /** Exact event types, or `["*"]` for all. */
  readonly subscribed_events: readonly ('*' | 'invoice.created' | 'invoice.payment_detected' | 'invoice.confirming' | 'invoice.paid' | 'invoice.partially_paid' | 'invoice.overpaid' | 'invoice.expired' | 'invoice.manual_review' | 'payout.requested' | 'payout.approved' | 'payout.rejected' | 'payout.submitted' | 'payout.confirmed' | 'payout.failed' | 'deposit.detected' | 'deposit.confirmed' | 'deposit.reversed')[]
  /** The format of the bodies: Paylink’s own by default. `btcpay` and `coinbase_commerce` are for a receiver written for those services; they have invoice events only. */
  readonly format?: 'paylink' | 'btcpay' | 'coinbase_commerce' | undefined
  /** A secret that the receiver has already, in place of a new one; for the formats `btcpay` and `coinbase_commerce` alone. */
  readonly secret?: string | undefined
}

export type CreatedWebhookEndpoint = {
  readonly id: string
  readonly object: 'webhook_endpoint'
  readonly url: string
  readonly subscribed_events: readonly string[]
  readonly format: 'paylink' | 'btcpay' | 'coinbase_commerce'
  readonly status: 'pending_verification' | 'enabled' | 'disabled'
  /** `merchant`: disabled on request. `receiver_gone`: the receiver answered 410. */
  readonly status_reason: string | null
  /** The API key that asked for it in live mode. Verify it only if its URL is yours. `null`: a person or a test key added it. */
  readonly requested_by: string | null
  readonly livemode: boolean
  readonly verified_at: string | null
  /** Since when all deliveries to it have failed, ten or more in a row: it is throttled, and each is retried at least every 12 hours until one succeeds. `null`: it is not throttled. */
  readonly failing_since: string | null
  readonly secret_rotation: {
    /** Whether an older secret still signs beside the current one. */
    readonly active: boolean
    readonly ends_at: string | null
  }
  /** ISO 8601 UTC with milliseconds. */
  readonly created_at: string
  /** Signs every event. Shown here only; the whole string, `whsec_` included, is the key. */
  readonly secret: string
}

export type Deposit = {
  readonly id: string
  readonly object: 'deposit'
  readonly livemode: boolean
  readonly deposit_address_id: string
  readonly customer_reference: string
  readonly address: string
  readonly network: 'bitcoin-live' | 'bitcoin-test' | 'litecoin-live' | 'litecoin-test' | 'ethereum-live' | 'ethereum-test' | 'base-live' | 'base-test' | 'arbitrum-live' | 'arbitrum-test' | 'polygon-live' | 'polygon-test' | 'solana-live' | 'solana-test'
  /** The asset; or what no invoice asks for and no payout is made in, and waits for you (`wrong_asset`): `WSOL`, wrapped SOL. */
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA' | 'WSOL'
  /** Canonical decimal in coin units. */
  readonly amount: string
  /** What it was worth when it came. Null where no price was known, and while `review_reason` is not null. */
  readonly usd_amount: string | null
  /** The price when it came, and where it came from. */
  readonly rate: {
    readonly usd_per_unit: string
    /** ISO 8601 UTC with milliseconds. */
    readonly quoted_at: string
    readonly sources: readonly {
      readonly name: string
      readonly usd_per_unit: string
      /** ISO 8601 UTC with milliseconds. */
      readonly at: string
    }[]
  } | null
  /** `confirmed` is final: credit it then. `replaced` and `reorged`: it has left the mempool or the chain. */
  readonly status: 'detected' | 'confirming' | 'confirmed' | 'replaced' | 'reorged'
  readonly txid: string
  readonly output_index: number
  /** How many outputs of the transaction the amount sums. */
  readonly transfers_count: number
  readonly confirmations: number
  /** Blocks that make the payment final; null where `finality` is a word of the chain. */
  readonly confirmations_required: number | null
  /** What makes the payment final: a count of blocks (`confirmations_required`), or that the chain itself calls its block `safe` or `finalized`. */
  readonly finality: 'blocks' | 'safe' | 'finalized'
  /** `wrong_asset`: a coin that Paylink does not pay out. It is in suspense, and no event tells of it. */
  readonly review_reason: 'wrong_asset' | null
  /** ISO 8601 UTC with milliseconds. */
  readonly detected_at: string
  readonly confirmed_at: string | null
}

export type DepositAddress = {
  readonly id: string
  readonly object: 'deposit_address'
  readonly livemode: boolean
  readonly customer_reference: string
  /** One for each family of chains. A family that had none to give out is missing: ask again for the same customer. */
  readonly addresses: readonly {
    readonly family: 'bitcoin' | 'litecoin' | 'evm' | 'solana'
    readonly address: string
    /** Where money to this address is seen now. On any other network it is not. */
    readonly networks: readonly ('bitcoin-live' | 'bitcoin-test' | 'litecoin-live' | 'litecoin-test' | 'ethereum-live' | 'ethereum-test' | 'base-live' | 'base-test' | 'arbitrum-live' | 'arbitrum-test' | 'polygon-live' | 'polygon-test' | 'solana-live' | 'solana-test')[]
    /** The coins that you accept there now. */
    readonly assets: readonly ('BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA')[]
  }[]
  /** ISO 8601 UTC with milliseconds. */
  readonly created_at: string
}

export type Event = {
  /** Stable: the same in every delivery. Deduplicate by it. */
  readonly id: string
  readonly schema_version: number
  readonly event_type: string
  readonly merchant_id: string
  readonly resource_id: string
  readonly livemode: boolean
  /** ISO 8601 UTC with milliseconds. */
  readonly created_at: string
  /** 1, 2, 3… for each resource. */
  readonly sequence: number
  /** The API request that caused it, if one did. */
  readonly request_id: string | null
  /** The resource as the API showed it at that moment; has `id` and `status`. */
  readonly data: {
    readonly [field: string]: unknown
  }
  readonly [field: string]: unknown
}

export type EventRecovery = {
  readonly object: 'event_recovery'
  readonly endpoint_id: string
  /** ISO 8601 UTC with milliseconds. */
  readonly since: string
  /** Events queued by this request, oldest first. */
  readonly queued: number
  /** The most one request queues. */
  readonly limit: number
  /** Whether more of them still await recovery: ask again. */
  readonly has_more: boolean
}

export type ImportedInvoice = {
  readonly id: string
  readonly object: 'imported_invoice'
  readonly livemode: boolean
  /** Where it comes from. */
  readonly source: string
  /** Its id there. */
  readonly source_id: string
  /** In the words of its source. */
  readonly status: string
  /** As it was exported, in `currency`. */
  readonly amount: string
  readonly currency: string
  readonly order_reference: string | null
  readonly customer_email: string | null
  readonly payments: readonly {
    readonly id: string
    readonly coin: string
    readonly amount: string
    readonly received_at: string | null
  }[]
  /** ISO 8601 UTC with milliseconds. */
  readonly created_at: string
  /** ISO 8601 UTC with milliseconds. */
  readonly imported_at: string
}

export type Invoice = {
  readonly id: string
  readonly object: 'invoice'
  readonly livemode: boolean
  readonly status: 'awaiting_payment' | 'payment_detected' | 'confirming' | 'partially_paid' | 'paid' | 'overpaid' | 'expired' | 'cancelled' | 'manual_review'
  readonly status_reason: string | null
  readonly review_reason: 'wrong_asset' | 'wrong_network' | 'late' | 'cancelled' | 'after_settlement' | 'too_many_payments' | 'reorged' | null
  /** Null where a coin amount was asked for. */
  readonly usd_amount: string | null
  /** What was asked for in your own currency; `usd_amount` was computed from it. Null where dollars or coins were asked for. */
  readonly price: {
    readonly amount: string
    readonly currency: string
  } | null
  /** The rate that turned `price` into `usd_amount`, in US dollars per unit, and where it came from. */
  readonly price_rate: {
    readonly usd_per_unit: string
    /** ISO 8601 UTC with milliseconds. */
    readonly quoted_at: string
    readonly sources: readonly {
      readonly name: string
      readonly usd_per_unit: string
      /** ISO 8601 UTC with milliseconds. */
      readonly at: string
    }[]
  } | null
  readonly amount_source: 'merchant' | 'buyer'
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA'
  /** Canonical decimal in coin units. */
  readonly amount: string
  /** Canonical decimal in coin units. */
  readonly amount_detected: string
  /** Canonical decimal in coin units. */
  readonly amount_confirmed: string
  /** Canonical decimal in coin units. */
  readonly amount_remaining: string
  readonly address: string
  readonly payment_uri: string
  /** The same token on other networks, which counts as `asset` does; of an invoice in `USD` other issuers’ as well, at their rates. */
  readonly also_accepts: readonly {
    readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA'
    readonly payment_uri: string
    /** All EVM networks share one; Solana has its own. */
    readonly address: string
    /** What is left, where it is sent in this asset. */
    readonly amount_remaining: string
  }[]
  /** The price that fixed the coin amount, and where it came from. */
  readonly rate: {
    readonly usd_per_unit: string
    /** ISO 8601 UTC with milliseconds. */
    readonly quoted_at: string
    readonly sources: readonly {
      readonly name: string
      readonly usd_per_unit: string
      /** ISO 8601 UTC with milliseconds. */
      readonly at: string
    }[]
  } | null
  /** Of an invoice in `USD`, at what each token counts. `amount_detected`, `amount_confirmed` and `amount_remaining` are then what came in all tokens, as worth in `asset`. Else empty. */
  readonly token_rates: readonly {
    readonly usd_per_unit: string
    /** ISO 8601 UTC with milliseconds. */
    readonly quoted_at: string
    readonly sources: readonly {
      readonly name: string
      readonly usd_per_unit: string
      /** ISO 8601 UTC with milliseconds. */
      readonly at: string
    }[]
    readonly symbol: string
  }[]
  readonly allow_asset_selection: boolean
  readonly customer_email: string | null
  readonly external_reference: string | null
  readonly order_reference: string | null
  /** What the buyer pays for, as you said. */
  readonly description: string | null
  readonly expected_usd_amount: string | null
  readonly checkout_session_id: string | null
  readonly payment_link_id: string | null
  /** As it is now. Events leave it out. */
  readonly payment_link_name: string | null
  readonly metadata: {
    readonly [field: string]: unknown
  } | null
  readonly return_url: string | null
  /** Where to send the buyer. Events leave it out. */
  readonly checkout_url: string
  /** ISO 8601 UTC with milliseconds. */
  readonly expires_at: string
  /** ISO 8601 UTC with milliseconds. */
  readonly created_at: string
  readonly paid_at: string | null
  /** Why it expired: every block up to this tip, and the mempool at it, were read, and nothing paid. Null before it expires. */
  readonly expiry_reading: {
    readonly network: string
    readonly tip_height: number
    readonly tip_hash: string
    /** ISO 8601 UTC with milliseconds. */
    readonly read_at: string
    /** Host names of the nodes or servers that were read. */
    readonly providers: readonly string[]
    /** How far the networks of `also_accepts` had been read. */
    readonly others: readonly {
      readonly network: string
      readonly tip_height: number
      readonly tip_hash: string
      /** ISO 8601 UTC with milliseconds. */
      readonly read_at: string
    }[]
  } | null
  readonly cancelled_at: string | null
  readonly reopened_from: string | null
  /** The 20 that matter most, oldest first: the newest, then those that count towards the amount before those that wait for your decision, the largest first. All are at `/invoices/:id/payments`. */
  readonly payments: readonly Payment[]
  /** How many payments there are in all. */
  readonly payments_count: number
  /** What came in amounts too small to be a payment: recorded, and otherwise ignored. */
  readonly dust: readonly {
    /** The asset; or what no invoice asks for and no payout is made in, and waits for you (`wrong_asset`): `WSOL`, wrapped SOL. */
    readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA' | 'WSOL'
    readonly transfers_count: number
    /** Canonical decimal in coin units. */
    readonly amount: string
  }[]
}

export type PayTestDeposit = {
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA'
  /** In coins, at most 1000. */
  readonly amount: string
}

export type PayTestInvoice = {
  /**
   * What happens on chain:
   *
   * - `exact` pays what remains. `under` pays 40% of it, `over` 160%.
   * - `two_parts` pays half, and the rest once the first part is confirmed.
   * - `late` moves the invoice's deadline into the past, lets it expire, then pays what remains.
   * - `double_spend` pays unconfirmed; then another transaction, which pays you nothing, takes the coin.
   * - `reorg` pays; once confirmed, the block leaves the chain, and some seconds later the payment is in a block again.
   */
  readonly scenario: 'exact' | 'under' | 'over' | 'two_parts' | 'late' | 'double_spend' | 'reorg'
}

export type Payment = {
  readonly id: string
  /** The asset; or what no invoice asks for and no payout is made in, and waits for you (`wrong_asset`): `WSOL`, wrapped SOL. */
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA' | 'WSOL'
  readonly txid: string
  readonly output_index: number
  /** Canonical decimal in coin units. */
  readonly amount: string
  /** How many outputs or transfers the amount sums: those of one transaction; or, beyond the first 50 payments of an invoice, those of one block, whose hash `txid` then is, with an `output_index` below zero. */
  readonly transfers_count: number
  readonly status: 'detected' | 'confirming' | 'confirmed' | 'replaced' | 'reorged'
  readonly confirmations: number
  /** Blocks that make the payment final; null where `finality` is a word of the chain. */
  readonly confirmations_required: number | null
  /** What makes the payment final: a count of blocks (`confirmations_required`), or that the chain itself calls its block `safe` or `finalized`. */
  readonly finality: 'blocks' | 'safe' | 'finalized'
  /** Seen within ten minutes after the deadline. */
  readonly late: boolean
  readonly review_reason: 'wrong_asset' | 'wrong_network' | 'late' | 'cancelled' | 'after_settlement' | 'too_many_payments' | null
  /** ISO 8601 UTC with milliseconds. */
  readonly detected_at: string
  readonly confirmed_at: string | null
}

export type PaymentLink = {
  readonly id: string
  readonly object: 'payment_link'
  readonly livemode: boolean
  readonly name: string
  readonly slug: string
  /** What buyers open. Opening it makes nothing. */
  readonly url: string
  /** Null also where the link has a `price`. */
  readonly usd_amount: string | null
  /** What it charges in your own currency. */
  readonly price: {
    readonly amount: string
    readonly currency: string
  } | null
  /** Null: your default coin of the moment. */
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA' | null
  readonly allow_dynamic_amount: boolean
  /** For tips, donations and top-ups: what buyers may pay where they say how much. */
  readonly buyer_amount: {
    readonly currency: string
    readonly minimum: string | null
    readonly maximum: string | null
    readonly suggested: readonly string[]
  } | null
  /** What staff sell at it; null for a page that buyers open. */
  readonly till: {
    readonly currency: string
    readonly items: readonly {
      readonly name: string
      readonly amount: string
      readonly picture?: string
    }[]
    readonly tips: readonly number[]
  } | null
  /** Null: your default of the moment. */
  readonly duration_minutes: number | null
  readonly active: boolean
  /** ISO 8601 UTC with milliseconds. */
  readonly created_at: string
}

export type Payout = {
  readonly id: string
  readonly object: 'payout'
  readonly livemode: boolean
  readonly status: 'requested' | 'approved' | 'submitted' | 'confirmed' | 'rejected' | 'failed'
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA'
  /** What left the available balance. */
  readonly amount: string
  /** Taken from the amount: an estimate until the payout is submitted, then what it is. */
  readonly network_fee: string
  /** What reaches the destination. */
  readonly net_amount: string
  readonly destination_id: string
  /** The whole address. */
  readonly destination: string
  /** The API key or the person. */
  readonly requested_by: string
  readonly approved_by: string | null
  /** May change while the payout is submitted: a higher fee makes a new one. */
  readonly txid: string | null
  /** Why it failed; see the guide. */
  readonly failure_code: string | null
  /** ISO 8601 UTC with milliseconds. */
  readonly created_at: string
  readonly approved_at: string | null
  readonly submitted_at: string | null
  readonly confirmed_at: string | null
}

export type PayoutDestination = {
  readonly id: string
  readonly object: 'payout_destination'
  readonly livemode: boolean
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA'
  readonly address: string
  readonly name: string
  /** From then on payouts may go there: a day after it was added in live mode. */
  readonly usable_at: string
  /** SHA-256 of asset, mode and address, to compare with what you wrote down. */
  readonly digest: string
  /** ISO 8601 UTC with milliseconds. */
  readonly created_at: string
}

export type PayoutQuote = {
  readonly object: 'payout_quote'
  readonly livemode: boolean
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA'
  /** What would leave the available balance. */
  readonly amount: string
  /** Taken from the amount: an estimate of this moment. */
  readonly network_fee: string
  /** What the fee may become at most. */
  readonly network_fee_max: string
  /** What would reach the destination. */
  readonly net_amount: string
  readonly destination_id: string
  /** The whole address. */
  readonly destination: string
}

export type QueueEvent = {
  /** A verified, enabled endpoint of the same mode. */
  readonly endpoint_id: string
}

export type QueuedDelivery = {
  readonly id: string
  readonly object: 'delivery'
  readonly event_id: string
  readonly endpoint_id: string
  readonly livemode: boolean
  /** ISO 8601 UTC with milliseconds. */
  readonly created_at: string
}

export type Rate = {
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA'
  readonly object: 'rate'
  readonly livemode: boolean
  readonly available: boolean
  /** US dollars per coin. */
  readonly usd_per_unit: string | null
  readonly quoted_at: string | null
  readonly sources: readonly {
    readonly name: string
    readonly usd_per_unit: string
    /** ISO 8601 UTC with milliseconds. */
    readonly at: string
  }[]
  readonly unavailable_reason: string | null
}

export type RecoverEvents = {
  /** A verified, enabled endpoint of the same mode. */
  readonly endpoint_id: string
  /** Events made at this time or later. */
  readonly since: string
}

export type ResolveInvoice = {
  readonly resolution: 'accept' | 'dismiss'
  /** For your own records. */
  readonly note?: string | undefined
  /** For `dismiss`: the payments that you have looked at. Only their reviews close, and one that came since stays open. Without it all reviews close. */
  readonly payment_ids?: readonly string[] | undefined
}

export type RotateSecret = {
  /** How long the secret before signs beside the new one; a day unless given. 0 ends every older secret at once. */
  readonly grace_seconds?: number | undefined
  /** A secret that the receiver has already, in place of a new one; for the formats `btcpay` and `coinbase_commerce` alone. */
  readonly secret?: string | undefined
}

export type RotatedSecret = {
  readonly id: string
  /** The new secret, shown here only. */
  readonly secret: string
  /** ISO 8601 UTC with milliseconds. */
  readonly previous_secret_valid_until: string
}

export type StaffCode = {
  readonly id: string
  readonly staff_code: string
}

export type TestDeposit = {
  readonly object: 'test_deposit'
  readonly deposit_address_id: string
  readonly asset: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA'
  /** Canonical decimal in coin units. */
  readonly amount: string
  /** Where it was sent: the customer’s address for this asset. */
  readonly address: string
}

export type TestPayment = {
  readonly object: 'test_payment'
  readonly invoice_id: string
  readonly scenario: 'exact' | 'under' | 'over' | 'two_parts' | 'late' | 'double_spend' | 'reorg'
  /** The transactions, in the order in which they are sent; all are signed, and later ones may not be sent yet. */
  readonly txids: readonly string[]
}

export type TillPicture = {
  readonly digest: string
}

export type UpdatePaymentLink = {
  /** An inactive link opens no new checkout; those under way are still paid. */
  readonly active?: boolean | undefined
  /** What the buyer pays for. */
  readonly name?: string | undefined
  /** Null: your default of the moment. */
  readonly duration_minutes?: 15 | 30 | 60 | 180 | 720 | 1440 | null | undefined
  /** Null takes it away, where the link has dynamic amounts. An amount takes the place of a `price`. */
  readonly usd_amount?: string | null | undefined
  /** Takes the place of `usd_amount`. Null takes the price away. */
  readonly price?: {
    readonly amount: string
    readonly currency: 'AUD' | 'BRL' | 'CAD' | 'CHF' | 'CNY' | 'CZK' | 'DKK' | 'EUR' | 'GBP' | 'HKD' | 'HUF' | 'IDR' | 'ILS' | 'INR' | 'ISK' | 'JPY' | 'KRW' | 'MXN' | 'MYR' | 'NOK' | 'NZD' | 'PHP' | 'PLN' | 'RON' | 'SEK' | 'SGD' | 'THB' | 'TRY' | 'ZAR'
  } | null | undefined
  /** For tips, donations and top-ups: what buyers may pay where they say how much. Replaces all of it; null takes it away. */
  readonly buyer_amount?: {
    /** What the page asks in; that of the link’s own amount. Default: USD. */
    readonly currency?: 'USD' | 'AUD' | 'BRL' | 'CAD' | 'CHF' | 'CNY' | 'CZK' | 'DKK' | 'EUR' | 'GBP' | 'HKD' | 'HUF' | 'IDR' | 'ILS' | 'INR' | 'ISK' | 'JPY' | 'KRW' | 'MXN' | 'MYR' | 'NOK' | 'NZD' | 'PHP' | 'PLN' | 'RON' | 'SEK' | 'SGD' | 'THB' | 'TRY' | 'ZAR' | undefined
    /** The least that a buyer may enter. */
    readonly minimum?: string | undefined
    /** The most that a buyer may enter. */
    readonly maximum?: string | undefined
    /** Amounts that the page offers with one press. */
    readonly suggested?: readonly string[] | undefined
  } | null | undefined
  /** Makes the link’s page a till, at which staff take payments. Only with `allow_dynamic_amount`, and without an amount or `buyer_amount`. Replaces all of it. */
  readonly till?: {
    /** What the till counts in. */
    readonly currency: 'USD' | 'AUD' | 'BRL' | 'CAD' | 'CHF' | 'CNY' | 'CZK' | 'DKK' | 'EUR' | 'GBP' | 'HKD' | 'HUF' | 'IDR' | 'ILS' | 'INR' | 'ISK' | 'JPY' | 'KRW' | 'MXN' | 'MYR' | 'NOK' | 'NZD' | 'PHP' | 'PLN' | 'RON' | 'SEK' | 'SGD' | 'THB' | 'TRY' | 'ZAR'
    /** What is sold with one press. */
    readonly items?: readonly {
      readonly name: string
      readonly amount: string
      /** The digest that `POST /till-pictures` answered. */
      readonly picture?: string | undefined
    }[] | undefined
    /** Percentages to choose a tip from. None: the till asks for no tip. */
    readonly tips?: readonly number[] | undefined
  } | undefined
}

export type UpdateWebhookEndpoint = {
  /** A new URL has to be verified before events are sent to it. */
  readonly url?: string | undefined
  /** Exact event types, or `["*"]` for all. */
  readonly subscribed_events?: readonly ('*' | 'invoice.created' | 'invoice.payment_detected' | 'invoice.confirming' | 'invoice.paid' | 'invoice.partially_paid' | 'invoice.overpaid' | 'invoice.expired' | 'invoice.manual_review' | 'payout.requested' | 'payout.approved' | 'payout.rejected' | 'payout.submitted' | 'payout.confirmed' | 'payout.failed' | 'deposit.detected' | 'deposit.confirmed' | 'deposit.reversed')[] | undefined
}

export type UploadTillPicture = {
  /** In base64; with the request at most 64 KiB. The square in its middle is shown. */
  readonly picture: string
}

export type WebhookEndpoint = {
  readonly id: string
  readonly object: 'webhook_endpoint'
  readonly url: string
  readonly subscribed_events: readonly string[]
  readonly format: 'paylink' | 'btcpay' | 'coinbase_commerce'
  readonly status: 'pending_verification' | 'enabled' | 'disabled'
  /** `merchant`: disabled on request. `receiver_gone`: the receiver answered 410. */
  readonly status_reason: string | null
  /** The API key that asked for it in live mode. Verify it only if its URL is yours. `null`: a person or a test key added it. */
  readonly requested_by: string | null
  readonly livemode: boolean
  readonly verified_at: string | null
  /** Since when all deliveries to it have failed, ten or more in a row: it is throttled, and each is retried at least every 12 hours until one succeeds. `null`: it is not throttled. */
  readonly failing_since: string | null
  readonly secret_rotation: {
    /** Whether an older secret still signs beside the current one. */
    readonly active: boolean
    readonly ends_at: string | null
  }
  /** ISO 8601 UTC with milliseconds. */
  readonly created_at: string
}

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'conflict_error'
  | 'idempotency_error'
  | 'rate_limit_error'
  | 'api_error'

/** From the catalogue of docs/errors.md; a code is added, never renamed. */
export type ErrorCode =
  | 'body_invalid'
  | 'parameter_missing'
  | 'parameter_invalid'
  | 'parameter_unknown'
  | 'parameter_duplicate'
  | 'idempotency_key_invalid'
  | 'amount_too_small'
  | 'amount_too_large'
  | 'asset_not_accepted'
  | 'payout_too_small'
  | 'destination_address_invalid'
  | 'destination_lookalike'
  | 'endpoint_url_refused'
  | 'event_type_unknown'
  | 'event_type_not_selectable'
  | 'dynamic_amount_not_allowed'
  | 'api_key_missing'
  | 'api_key_invalid'
  | 'scope_missing'
  | 'dashboard_session_required'
  | 'approver_is_requester'
  | 'role_insufficient'
  | 'approval_evidence_required'
  | 'approval_evidence_invalid'
  | 'approver_not_ready'
  | 'second_factor_required'
  | 'cross_origin_refused'
  | 'test_mode_only'
  | 'not_found'
  | 'path_not_found'
  | 'method_not_allowed'
  | 'invoice_not_cancellable'
  | 'invoice_not_resolvable'
  | 'order_reference_conflict'
  | 'payment_link_inactive'
  | 'checkout_session_not_cancellable'
  | 'sandbox_not_available'
  | 'endpoint_limit_reached'
  | 'endpoint_not_eligible'
  | 'rotation_loses_events'
  | 'rotation_in_progress'
  | 'open_invoice_limit_reached'
  | 'deposit_address_limit_reached'
  | 'api_key_limit_reached'
  | 'destination_exists'
  | 'destination_limit_reached'
  | 'destination_not_usable'
  | 'balance_insufficient'
  | 'payout_limit_exceeded'
  | 'payout_not_open'
  | 'idempotency_key_in_use'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'idempotency_key_reused'
  | 'endpoint_verification_failed'
  | 'cell_wrong'
  | 'rate_limited'
  | 'internal_error'
  | 'rate_unavailable'
  | 'asset_unavailable'
  | 'address_unverified'
  | 'payout_unavailable'
  | 'service_unavailable'

export type EventType =
  | 'invoice.created'
  | 'invoice.payment_detected'
  | 'invoice.confirming'
  | 'invoice.paid'
  | 'invoice.partially_paid'
  | 'invoice.overpaid'
  | 'invoice.expired'
  | 'invoice.manual_review'
  | 'payout.requested'
  | 'payout.approved'
  | 'payout.rejected'
  | 'payout.submitted'
  | 'payout.confirmed'
  | 'payout.failed'
  | 'deposit.detected'
  | 'deposit.confirmed'
  | 'deposit.reversed'

/** What each operation of the API takes and gives. */
export type Operations = {
  /** Approve a payout */
  readonly approvePayout: {
    readonly id: string
    readonly query: undefined
    readonly body: ApprovePayout
    readonly answer: Payout
    readonly item: undefined
  }
  /** Cancel a checkout session */
  readonly cancelCheckoutSession: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: CheckoutSession
    readonly item: undefined
  }
  /** Cancel an invoice */
  readonly cancelInvoice: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: Invoice
    readonly item: undefined
  }
  /** Create a checkout session */
  readonly createCheckoutSession: {
    readonly id: string
    readonly query: undefined
    readonly body: CreateCheckoutSession
    readonly answer: CheckoutSession
    readonly item: undefined
  }
  /** Get a customer’s permanent addresses */
  readonly createDepositAddress: {
    readonly id: undefined
    readonly query: undefined
    readonly body: CreateDepositAddress
    readonly answer: DepositAddress
    readonly item: undefined
  }
  /** Create an invoice */
  readonly createInvoice: {
    readonly id: undefined
    readonly query: undefined
    readonly body: CreateInvoice
    readonly answer: Invoice
    readonly item: undefined
  }
  /** Create a payment link */
  readonly createPaymentLink: {
    readonly id: undefined
    readonly query: undefined
    readonly body: CreatePaymentLink
    readonly answer: PaymentLink
    readonly item: undefined
  }
  /** Request a payout */
  readonly createPayout: {
    readonly id: undefined
    readonly query: undefined
    readonly body: CreatePayout
    readonly answer: Payout
    readonly item: undefined
  }
  /** Allow a payout destination */
  readonly createPayoutDestination: {
    readonly id: undefined
    readonly query: undefined
    readonly body: CreatePayoutDestination
    readonly answer: PayoutDestination
    readonly item: undefined
  }
  /** Create a webhook endpoint */
  readonly createWebhookEndpoint: {
    readonly id: undefined
    readonly query: undefined
    readonly body: CreateWebhookEndpoint
    readonly answer: CreatedWebhookEndpoint
    readonly item: undefined
  }
  /** Remove a payout destination */
  readonly deletePayoutDestination: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: undefined
    readonly item: undefined
  }
  /** Remove a webhook endpoint */
  readonly deleteWebhookEndpoint: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: undefined
    readonly item: undefined
  }
  /** Disable a webhook endpoint */
  readonly disableWebhookEndpoint: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: WebhookEndpoint
    readonly item: undefined
  }
  /** Get a checkout session */
  readonly getCheckoutSession: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: CheckoutSession
    readonly item: undefined
  }
  /** Get a deposit */
  readonly getDeposit: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: Deposit
    readonly item: undefined
  }
  /** Get permanent addresses */
  readonly getDepositAddress: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: DepositAddress
    readonly item: undefined
  }
  /** Get an event */
  readonly getEvent: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: Event
    readonly item: undefined
  }
  /** Get an invoice */
  readonly getInvoice: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: Invoice
    readonly item: undefined
  }
  /** Get a payment link */
  readonly getPaymentLink: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: PaymentLink
    readonly item: undefined
  }
  /** Get a payout */
  readonly getPayout: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: Payout
    readonly item: undefined
  }
  /** Get a webhook endpoint */
  readonly getWebhookEndpoint: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: WebhookEndpoint
    readonly item: undefined
  }
  /** List accepted assets */
  readonly listAssets: {
    readonly id: undefined
    readonly query: undefined
    readonly body: undefined
    readonly answer: undefined
    readonly item: Asset
  }
  /** List balance entries */
  readonly listBalanceEntries: {
    readonly id: undefined
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
      /** Only entries in this asset. */
      readonly asset?: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA' | 'WSOL' | undefined
      /** Only entries of this balance. */
      readonly account?: 'available' | 'pending' | 'suspense' | 'reserved' | 'shortfall' | undefined
      /** Only what moved `GET /balances?at=` this time to what it is now. */
      readonly created_after?: string | undefined
      /** Only what made `GET /balances?at=` this time. */
      readonly created_before?: string | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: BalanceEntry
  }
  /** List balances */
  readonly listBalances: {
    readonly id: undefined
    readonly query: {
      /** The balances as they stood then, without `frozen`. Default: now. */
      readonly at?: string | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: Balance
  }
  /** List the checkout sessions of a payment link */
  readonly listCheckoutSessions: {
    readonly id: string
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
      readonly order_reference?: string | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: CheckoutSession
  }
  /** List permanent addresses */
  readonly listDepositAddresses: {
    readonly id: undefined
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
      /** Only those of this customer. */
      readonly customer_reference?: string | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: DepositAddress
  }
  /** List deposits */
  readonly listDeposits: {
    readonly id: undefined
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
      /** Only those to these addresses. */
      readonly deposit_address_id?: string | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: Deposit
  }
  /** List an endpoint’s delivery attempts */
  readonly listEndpointAttempts: {
    readonly id: string
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
      /** Only those that failed. */
      readonly outcome?: 'failed' | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: Attempt
  }
  /** List an event’s delivery attempts */
  readonly listEventAttempts: {
    readonly id: string
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: Attempt
  }
  /** List events */
  readonly listEvents: {
    readonly id: undefined
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
      /** Only events of this type. */
      readonly event_type?: string | undefined
      /** Only events of this resource. */
      readonly resource_id?: string | undefined
      /** Only events that await recovery: no endpoint was eligible, or it was disabled, removed or given up. Those that no endpoint subscribed to are not among them. */
      readonly delivery?: 'awaiting' | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: Event
  }
  /** List invoices of the past */
  readonly listImportedInvoices: {
    readonly id: undefined
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
      /** Only those of this order. */
      readonly order_reference?: string | undefined
      /** A whole order, id at the source or email address, in any case of letters. */
      readonly q?: string | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: ImportedInvoice
  }
  /** List an invoice’s payments */
  readonly listInvoicePayments: {
    readonly id: string
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: Payment
  }
  /** List invoices */
  readonly listInvoices: {
    readonly id: undefined
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
      readonly status?: 'awaiting_payment' | 'payment_detected' | 'confirming' | 'partially_paid' | 'paid' | 'overpaid' | 'expired' | 'cancelled' | 'manual_review' | undefined
      readonly asset?: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA' | undefined
      /** Only invoices that wait for your decision: under review, overpaid, or still paid in part after the deadline, and not dismissed since the last payment. Of each kind the newest 1,000. */
      readonly attention?: 'open' | undefined
      readonly external_reference?: string | undefined
      readonly order_reference?: string | undefined
      /** Only invoices of this payment link. */
      readonly payment_link_id?: string | undefined
      readonly created_after?: string | undefined
      readonly created_before?: string | undefined
      /** The beginning of an id, reference or email address, letters as written; a whole deposit address or transaction id. */
      readonly q?: string | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: Invoice
  }
  /** List payment links */
  readonly listPaymentLinks: {
    readonly id: undefined
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
      /** Part of a name or an id, in any case of letters; among the newest 10,000. */
      readonly q?: string | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: PaymentLink
  }
  /** List payout destinations */
  readonly listPayoutDestinations: {
    readonly id: undefined
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
      /** Only destinations of this asset. */
      readonly asset?: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA' | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: PayoutDestination
  }
  /** List payouts */
  readonly listPayouts: {
    readonly id: undefined
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
      readonly status?: 'requested' | 'approved' | 'submitted' | 'confirmed' | 'rejected' | 'failed' | undefined
      /** Only payouts in this asset. */
      readonly asset?: 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL' | 'USDC_ETHEREUM' | 'ETH_ARBITRUM' | 'USDC_ARBITRUM' | 'USDT_ETHEREUM' | 'USDT_ARBITRUM' | 'POL_POLYGON' | 'USDC_POLYGON' | 'USDT_POLYGON' | 'USDC_SOLANA' | 'USDT_SOLANA' | 'PYUSD_SOLANA' | undefined
      /** Part of an id, address, transaction id or name of a destination, in any case of letters; among the newest 10,000. */
      readonly q?: string | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: Payout
  }
  /** List prices */
  readonly listRates: {
    readonly id: undefined
    readonly query: undefined
    readonly body: undefined
    readonly answer: undefined
    readonly item: Rate
  }
  /** List webhook endpoints */
  readonly listWebhookEndpoints: {
    readonly id: undefined
    readonly query: {
      /** Maximum items to return, from 1 to 100. Default: 10. */
      readonly limit?: number | undefined
      /** Return items older than this one. */
      readonly starting_after?: string | undefined
      /** Return items newer than this one. */
      readonly ending_before?: string | undefined
    }
    readonly body: undefined
    readonly answer: undefined
    readonly item: WebhookEndpoint
  }
  /** Pay to a customer’s test address */
  readonly payTestDeposit: {
    readonly id: string
    readonly query: undefined
    readonly body: PayTestDeposit
    readonly answer: TestDeposit
    readonly item: undefined
  }
  /** Pay a test invoice on its sandbox chain */
  readonly payTestInvoice: {
    readonly id: string
    readonly query: undefined
    readonly body: PayTestInvoice
    readonly answer: TestPayment
    readonly item: undefined
  }
  /** Send an event to an endpoint */
  readonly queueEvent: {
    readonly id: string
    readonly query: undefined
    readonly body: QueueEvent
    readonly answer: QueuedDelivery
    readonly item: undefined
  }
  /** Quote a payout */
  readonly quotePayout: {
    readonly id: string
    readonly query: {
      /** What would leave your balance, in coins. Absent: all that is available. */
      readonly amount?: string | undefined
    }
    readonly body: undefined
    readonly answer: PayoutQuote
    readonly item: undefined
  }
  /** Recover undelivered events */
  readonly recoverEvents: {
    readonly id: undefined
    readonly query: undefined
    readonly body: RecoverEvents
    readonly answer: EventRecovery
    readonly item: undefined
  }
  /** Reject a payout */
  readonly rejectPayout: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: Payout
    readonly item: undefined
  }
  /** Renew a till’s staff code */
  readonly renewStaffCode: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: StaffCode
    readonly item: undefined
  }
  /** Request a webhook endpoint */
  readonly requestWebhookEndpoint: {
    readonly id: undefined
    readonly query: undefined
    readonly body: CreateWebhookEndpoint
    readonly answer: CreatedWebhookEndpoint
    readonly item: undefined
  }
  /** Resolve an invoice that waits for you */
  readonly resolveInvoice: {
    readonly id: string
    readonly query: undefined
    readonly body: ResolveInvoice
    readonly answer: Invoice
    readonly item: undefined
  }
  /** Rotate a signing secret */
  readonly rotateWebhookSecret: {
    readonly id: string
    readonly query: undefined
    readonly body: RotateSecret
    readonly answer: RotatedSecret
    readonly item: undefined
  }
  /** Change a payment link */
  readonly updatePaymentLink: {
    readonly id: string
    readonly query: undefined
    readonly body: UpdatePaymentLink
    readonly answer: PaymentLink
    readonly item: undefined
  }
  /** Update a webhook endpoint */
  readonly updateWebhookEndpoint: {
    readonly id: string
    readonly query: undefined
    readonly body: UpdateWebhookEndpoint
    readonly answer: WebhookEndpoint
    readonly item: undefined
  }
  /** Upload a picture for a till */
  readonly uploadTillPicture: {
    readonly id: undefined
    readonly query: undefined
    readonly body: UploadTillPicture
    readonly answer: TillPicture
    readonly item: undefined
  }
  /** Verify a webhook endpoint */
  readonly verifyWebhookEndpoint: {
    readonly id: string
    readonly query: undefined
    readonly body: undefined
    readonly answer: WebhookEndpoint
    readonly item: undefined
  }
}
