import type { AssetId, Network } from '../../core/assets.ts'
import { EVM_CHAINS, evmNetworkOf } from '../../core/chain/evm-networks.ts'
import { DESTINATION_GAS_MAX, TRANSFER_GAS } from '../../core/payout/gas.ts'
import type { Queryable } from '../../postgres/pool.ts'

/** How a network's hot wallet stands at the newest block, and what the network takes. Wei, but for the token's units. */
export type HotWallet = {
  readonly network: Network
  /** 20 bytes. */
  readonly address: Buffer
  readonly chainId: number
  readonly height: number
  /** Transactions that it has in blocks. */
  readonly nonce: number
  readonly balance: bigint
  readonly baseFee: bigint
  readonly tip: bigint
  readonly l1Fee: bigint
  /** Of the network: no price above it is believed. */
  readonly gasPriceMax: bigint
  /** Gas of a plain transfer's data, where gas pays for it (`in_gas` of the registry). */
  readonly dataGas: bigint
  /** Gas of a plain payment that creates an account. */
  readonly newAccountGas: bigint
  /** Of each token of the network that is there. */
  readonly tokens: readonly HotToken[]
}

/** A token as the network has it. */
export type HotToken = {
  readonly asset: AssetId
  /** 20 bytes. */
  readonly contract: Buffer
  /** The words of its EIP-712 domain; null where it has none. */
  readonly domain: { readonly name: string; readonly version: string } | null
  readonly balance: bigint
}

/** What the watcher's process seals of a reading, and the signer verifies: all of it, and when it was made. */
export function textOfHotWallet(wallet: HotWallet, readAt: Date): string {
  const { network, address, chainId, height, nonce, tokens } = wallet
  const { balance, baseFee, tip, l1Fee, dataGas, newAccountGas } = wallet
  const amounts = [balance, baseFee, tip, l1Fee, dataGas, newAccountGas].map(String)
  const held = tokens
    .map((token) => {
      const { name = null, version = null } = token.domain ?? {}
      return [token.asset, token.contract.toString('hex'), name, version, String(token.balance)]
    })
    .sort(([one = ''], [other = '']) => ((one ?? '') < (other ?? '') ? -1 : 1))
  const at = readAt.getTime()
  return JSON.stringify([network, address.toString('hex'), chainId, height, nonce, ...amounts, at, ...held])
}

/** As it is kept. */
type KeptHotWallet = HotWallet & {
  readonly updatedAt: Date
  /** What its seal is over, and the seal; null where nobody sealed it. */
  readonly sealed: { readonly text: string; readonly seal: Buffer | null }
}

/** A token of the hot wallet; null where the network has none. */
export const hotTokenOf = ({ tokens }: Pick<HotWallet, 'tokens'>, asset: AssetId): HotToken | null =>
  tokens.find((token) => token.asset === asset) ?? null

type Row = {
  network: Network
  address: Buffer
  chain_id: number
  height: number
  nonce: number
  balance: bigint
  base_fee: bigint
  tip: bigint
  l1_fee: bigint
  new_account_gas: bigint | null
  data_gas: bigint | null
  updated_at: Date
  seal: Buffer | null
  asset: AssetId | null
  contract: Buffer
  name: string | null
  version: string | null
  held: bigint
}

/** A network's hot wallet and when it was read, with the tokens that were read with it; null where it never was. By primary keys. */
export async function loadHotWallet(db: Queryable, network: Network): Promise<KeptHotWallet | null> {
  const { rows } = await db.query<Row>(
    `select w.*, t.asset, t.contract, t.name, t.version, t.balance as held from hot_wallet w
     left join hot_wallet_token t on t.network = w.network and t.updated_at = w.updated_at
     where w.network = $1 order by t.asset`,
    [network],
  )
  const row = rows[0]
  if (row === undefined) return null
  const wallet = {
    network: row.network,
    address: row.address,
    chainId: row.chain_id,
    height: row.height,
    nonce: row.nonce,
    balance: row.balance,
    baseFee: row.base_fee,
    tip: row.tip,
    l1Fee: row.l1_fee,
    gasPriceMax: networkFactsOf(row.network)?.gasPriceMax ?? 0n,
    dataGas: row.data_gas ?? 0n,
    newAccountGas: row.new_account_gas ?? TRANSFER_GAS,
    tokens: rows.flatMap(tokenOf),
  }
  const { updated_at: updatedAt, seal } = row
  return {
    ...wallet,
    tip: believedTip(wallet),
    dataGas: believedDataGas(wallet),
    newAccountGas: within(wallet.newAccountGas),
    updatedAt,
    sealed: { text: textOfHotWallet(wallet, updatedAt), seal },
  }
}

/** The networks whose hot wallet was read since a time. Reads hot_wallet, of a row a network. */
export async function listHotWalletNetworks(db: Queryable, since: Date): Promise<Network[]> {
  const { rows } = await db.query<{ network: Network }>(
    'select network from hot_wallet where updated_at > $1 order by network',
    [since],
  )
  return rows.map(({ network }) => network)
}

const networkFactsOf = (network: Network) => {
  const chain = EVM_CHAINS.find((each) => network.startsWith(`${each}-`))
  return chain === undefined ? null : evmNetworkOf(chain)
}

/** As the watcher's reading is bounded: nobody approves what the hot wallet pays for a token's transactions. */
function believedTip({ network, tip }: Pick<HotWallet, 'network' | 'tip'>): bigint {
  const max = networkFactsOf(network)?.tip.max ?? 0n
  return tip < max ? tip : max
}

/** None where the network takes none, whatever the row says; how much of it is bought, `core/payout/gas.ts` bounds. */
const believedDataGas = ({ network, dataGas }: Pick<HotWallet, 'network' | 'dataGas'>): bigint =>
  networkFactsOf(network)?.dataFee === 'in_gas' ? dataGas : 0n

/** As far as it can be true: a payout's fee goes by it. */
const within = (gas: bigint): bigint =>
  gas < TRANSFER_GAS ? TRANSFER_GAS : gas > DESTINATION_GAS_MAX ? DESTINATION_GAS_MAX : gas

function tokenOf({ asset, contract, name, version, held: balance }: Row): readonly HotToken[] {
  if (asset === null) return []
  return [{ asset, contract, domain: name === null || version === null ? null : { name, version }, balance }]
}

/** Keeps how a hot wallet stands now, with its tokens. By primary keys. */
export async function saveHotWallet(
  db: Queryable,
  wallet: HotWallet,
  { readAt, seal }: { readonly readAt: Date; readonly seal: Buffer | null },
): Promise<void> {
  const { tokens } = wallet
  // The release before reads one token, in the wallet's own row.
  const [first] = tokens
  await db.query(
    `with kept as (
       insert into hot_wallet_token (network, asset, contract, name, version, balance, updated_at)
       select $1, t.*, $14 from unnest($17::text[], $18::bytea[], $19::text[], $20::text[], $21::numeric[]) t
       on conflict (network, asset) do update set contract = excluded.contract, name = excluded.name,
         version = excluded.version, balance = excluded.balance, updated_at = excluded.updated_at)
     insert into hot_wallet (network, address, chain_id, height, nonce, balance, base_fee, tip, l1_fee, token_contract,
       token_name, token_version, token_balance, updated_at, new_account_gas, data_gas, seal)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $22)
     on conflict (network) do update set address = excluded.address, chain_id = excluded.chain_id,
       height = excluded.height, nonce = excluded.nonce, balance = excluded.balance, base_fee = excluded.base_fee,
       tip = excluded.tip, l1_fee = excluded.l1_fee, token_contract = excluded.token_contract,
       token_name = excluded.token_name, token_version = excluded.token_version,
       token_balance = excluded.token_balance, updated_at = excluded.updated_at,
       new_account_gas = excluded.new_account_gas, data_gas = excluded.data_gas, seal = excluded.seal`,
    [
      wallet.network,
      wallet.address,
      wallet.chainId,
      wallet.height,
      wallet.nonce,
      wallet.balance,
      wallet.baseFee,
      wallet.tip,
      wallet.l1Fee,
      first?.contract ?? null,
      first?.domain?.name ?? null,
      first?.domain?.version ?? null,
      first?.balance ?? null,
      readAt,
      wallet.newAccountGas,
      wallet.dataGas,
      tokens.map(({ asset }) => asset),
      tokens.map(({ contract }) => contract),
      tokens.map(({ domain }) => domain?.name ?? null),
      tokens.map(({ domain }) => domain?.version ?? null),
      tokens.map(({ balance }) => balance),
      seal,
    ],
  )
}

/**
 * What of an asset in a hot wallet is merchants' money, of all of them: what was swept in and not confirmed as paid out,
 * without the open payouts that left by a nonce below `headNonce`, and without what the sweeps of the others took. Costs
 * as much as merchants have money there and payouts are open: hot_credit_by_asset, payout_under_way, sweep_by_payout.
 */
export async function sumHotObligations(
  db: Queryable,
  of: { readonly network: Network; readonly asset: AssetId; readonly headNonce: number },
): Promise<bigint> {
  const { rows } = await db.query<{ owed: bigint }>(
    `select (select coalesce(sum(amount), 0) from hot_credit where network = $1 and asset = $2 and amount <> 0)
       - (select coalesce(sum(case when n.nonce < $3 then p.amount else
            (select coalesce(sum(s.cost), 0) from sweep s
             where s.merchant_id = p.merchant_id and s.payout_id = p.id and s.status = 'done') end), 0)
          from payout p left join account_nonce n on n.merchant_id = p.merchant_id and n.intent_id = p.id
          where p.network = $1 and p.asset = $2 and p.status in ('approved', 'submitted')) as owed`,
    [of.network, of.asset, of.headNonce],
  )
  const owed = rows[0]?.owed ?? 0n
  return owed > 0n ? owed : 0n
}

/** Whether there is money in one of these assets, a merchant's or the operator's, that could be paid out, or is on its way. By ledger_balance's key. */
export async function hasTokenMoney(
  db: Queryable,
  assets: readonly AssetId[],
  livemode: boolean,
): Promise<boolean> {
  const { rows } = await db.query<{ has: boolean }>(
    `select exists (select from ledger_balance where asset = any ($1) and livemode = $2 and balance > 0
       and account in ('available', 'reserved', 'fees', 'fees_reserved')) as has`,
    [assets, livemode],
  )
  return rows[0]?.has === true
}
