/** An EVM network's current fees, in wei. */
type GasMarket = {
  /** Of the newest block (EIP-1559). */
  readonly baseFee: bigint
  /** The priority fee that block producers expect. */
  readonly tip: bigint
  /** Base: the most a transaction pays for its data on Ethereum and to the chain's operator; 0 elsewhere. */
  readonly l1Fee: bigint
  /** Wei per gas: no price above this is believed or paid. */
  readonly gasPriceMax: bigint
  /** Where gas pays for it: what the data of a plain transfer takes on Ethereum, in gas; 0 elsewhere. */
  readonly dataGas: bigint
}

type DataGas = Pick<GasMarket, 'dataGas'>
type Fees = Pick<GasMarket, 'baseFee' | 'tip' | 'gasPriceMax'>

/** The two fee fields of an EIP-1559 transaction, in wei per unit of gas. */
export type GasPrice = { readonly maxFee: bigint; readonly tip: bigint }

/** A plain transfer of the native coin to an address without code (Yellow Paper, G_transaction). */
export const TRANSFER_GAS = 21_000n
/**
 * The most that a transfer of USDC may use, which takes 65,000 to a new holder. Each slot of storage that is new may cost
 * 78,000 more one day (EIP-8037). What is left over is not paid.
 */
export const TOKEN_TRANSFER_GAS = 250_000n
/** The same by signature, which takes some 100,000 and fills two new slots at most. */
export const TOKEN_SWEEP_GAS = 400_000n
/** What a delegation takes beside (EIP-7702), with room for the state that it fills. */
const DELEGATION_GAS = 100_000n
/** The most that the sweeper's creation may use, which takes 130,000, and may take 760,000 one day (EIP-8037). */
const SWEEPER_GAS = 1_000_000n
const TOKEN_TRANSFER_GAS_USUAL = 65_000n
const DELEGATED_SWEEP_GAS_USUAL = 130_000n
const TOKEN_SWEEP_GAS_USUAL = 100_000n
/**
 * What transactions have in data, in plain transfers: these are a hundred bytes that no compression shortens. A token's
 * transfer has 50 more, and one by signature 150 (EIP-3009: two addresses, an amount, a nonce, a signature).
 */
const TOKEN_TRANSFER_DATA = 2n
const TOKEN_SWEEP_DATA = 3n
const DELEGATED_SWEEP_DATA = 3n
const SWEEPER_DATA = 7n
/**
 * Until it is in a block the price of data may grow by half, or the price of gas fall, by which it is divided. What is left
 * over is not paid; what was too little is signed again.
 */
const DATA_GAS_ROOM = { times: 3n, parts: 2n }
/**
 * Wei: more than the data of a plain transfer costs while Ethereum's own gas is at 300 gwei. Gas is bought for no more of it
 * than that, whoever says that it takes more: what a destination's code finds it may burn.
 */
export const DATA_COST_MAX = 10n ** 15n
/** The most gas that a payment of native coin may use: at an address with code, or for an account that is new. */
export const DESTINATION_GAS_MAX = 400_000n
/** Nodes replace a pending transaction for a tenth more in both fields; we add an eighth, a tenth with room. */
const BUMP_PARTS = 8n

const lower = (one: bigint, other: bigint): bigint => (one < other ? one : other)
const higher = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** A price that stays good while the base fee grows by half, which takes four full blocks at least (EIP-1559: an eighth each). */
export function gasPriceOf({ baseFee, tip, gasPriceMax }: Fees): GasPrice {
  const maxFee = lower((baseFee * 3n) / 2n + tip, gasPriceMax)
  return { maxFee, tip: lower(tip, maxFee) }
}

/** The most a transaction can cost. */
export const gasCostOf = (gas: bigint, price: GasPrice, { l1Fee }: Pick<GasMarket, 'l1Fee'>): bigint =>
  gas * price.maxFee + l1Fee

/** Gas to buy for what takes this much, and data as much as so many plain transfers, at a price. */
function withData(
  gas: bigint,
  transfers: bigint,
  { maxFee }: Pick<GasPrice, 'maxFee'>,
  { dataGas }: DataGas,
): bigint {
  if (dataGas === 0n) return gas
  const wanted = (dataGas * DATA_GAS_ROOM.times) / DATA_GAS_ROOM.parts
  return gas + transfers * (maxFee === 0n ? wanted : lower(wanted, DATA_COST_MAX / maxFee))
}

/** Gas to buy for a payment of native coin that takes `gas` to execute, a plain transfer's unless it is said. */
export const transferGasAt = (price: GasPrice, market: DataGas, gas = TRANSFER_GAS): bigint =>
  withData(gas, 1n, price, market)
/** The same for a token's transfer. */
export const tokenTransferGasAt = (price: GasPrice, market: DataGas): bigint =>
  withData(TOKEN_TRANSFER_GAS, TOKEN_TRANSFER_DATA, price, market)
/** The same for a token's transfer by signature. */
export const tokenSweepGasAt = (price: GasPrice, market: DataGas): bigint =>
  withData(TOKEN_SWEEP_GAS, TOKEN_SWEEP_DATA, price, market)

/** The same for a token's transfer out of an address that is delegated, or is by the same transaction (EIP-7702). */
export const delegatedSweepGasAt = (price: GasPrice, market: DataGas): bigint =>
  withData(TOKEN_SWEEP_GAS + DELEGATION_GAS, DELEGATED_SWEEP_DATA, price, market)
/** The same for what puts the sweeper on a chain. */
export const sweeperGasAt = (price: GasPrice, market: DataGas): bigint =>
  withData(SWEEPER_GAS, SWEEPER_DATA, price, market)

/** The most that a payment of native coin costs at the price of now, in wei. */
export function transferCostOf(market: GasMarket, gas = TRANSFER_GAS): bigint {
  const price = gasPriceOf(market)
  return gasCostOf(transferGasAt(price, market, gas), price, market)
}

/** What the sweep of a token is likely to take of the hot wallet's ether, in wei. */
export function tokenSweepCostOf(
  { baseFee, tip, l1Fee, dataGas }: GasMarket,
  { isDelegated }: { readonly isDelegated: boolean },
): bigint {
  const [gas, data] = isDelegated
    ? [DELEGATED_SWEEP_GAS_USUAL, DELEGATED_SWEEP_DATA]
    : [TOKEN_SWEEP_GAS_USUAL, TOKEN_SWEEP_DATA]
  return (gas + data * dataGas) * (baseFee + tip) + l1Fee
}

/** A kind of money: its price in 10⁻¹² US dollar per coin, and its decimals. */
type Priced = { readonly price: bigint; readonly decimals: number }

/** An amount of native coin in units of a token of the same worth, rounded up. The token's price is above zero. */
export function inToken(amount: bigint, { native, token }: { native: Priced; token: Priced }): bigint {
  const worth = amount * native.price * 10n ** BigInt(token.decimals)
  const unit = token.price * 10n ** BigInt(native.decimals)
  return (worth + unit - 1n) / unit
}

/** The lowest price that replaces a transaction at `last`; more if the market asks for more. */
export function replacingPrice(last: GasPrice, market: Fees): GasPrice {
  const wanted = gasPriceOf(market)
  const grown = (fee: bigint): bigint => fee + (fee + BUMP_PARTS - 1n) / BUMP_PARTS
  return { maxFee: higher(grown(last.maxFee), wanted.maxFee), tip: higher(grown(last.tip), wanted.tip) }
}

/** The price, or as much of it as `costMax` pays for; null if that is less than `least`, in wei per unit of gas. */
export function affordablePrice(
  price: GasPrice,
  gas: bigint,
  terms: { readonly costMax: bigint; readonly l1Fee: bigint; readonly least: bigint },
): GasPrice | null {
  const affordable = terms.costMax > terms.l1Fee ? (terms.costMax - terms.l1Fee) / gas : 0n
  const maxFee = lower(price.maxFee, affordable)
  return maxFee < terms.least ? null : { maxFee, tip: lower(price.tip, maxFee) }
}

/** The usual sweeps and payouts of a token that a hot wallet should be able to pay for. */
const RESERVE_PAIRS = 40n
const PAIR_GAS_USUAL = TOKEN_SWEEP_GAS_USUAL + TOKEN_TRANSFER_GAS_USUAL

/** Whether a hot wallet's own ether, wei, is nearly used up. */
export function isLowOnGas(own: bigint, market: GasMarket): boolean {
  const gas = PAIR_GAS_USUAL + (TOKEN_SWEEP_DATA + TOKEN_TRANSFER_DATA) * market.dataGas
  return own < gasCostOf(RESERVE_PAIRS * gas, gasPriceOf(market), market)
}
