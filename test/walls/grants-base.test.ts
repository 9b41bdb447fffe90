import { decodeFunctionData, parseTransaction } from 'viem'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { loadHotWallet } from '../../src/db/addresses/hot-wallets.ts'
import { submitX402Authorization } from '../../src/flows/x402-payments.ts'
import { signX402 } from '../../src/payouts/sign/sign-x402.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { newEvmAddress } from '../support/anvil.ts'
import { EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { forgeBalance } from '../support/forge-balance.ts'
import { TEST_USDC_ABI } from '../support/test-usdc-abi.ts'
import { decoded, newPayer, signPayment } from '../support/x402-payer.ts'
import { describeGrants, type Installation, type Paid, type Signed } from './grants-suite.ts'

const ETHER = 10n ** 18n
const USDC = 10n ** 6n
const HOUR_MS = 3_600_000

describeGrants('Base', open)

async function open(): Promise<Installation> {
  const world = await EvmPayoutWorld.open('base')
  const { network, token } = world
  world.now = new Date()
  await world.tracker().pass()
  await world.fuelHotWallet()
  const victim = await world.openShop('ETH_BASE', [ETHER, ETHER])
  const other = await world.openShop('USDC_BASE', [50n * USDC, 50n * USDC])
  const thief = await world.openShop('ETH_BASE', [])
  await world.openInvoice(victim, { asset: 'ETH_BASE', amount: ETHER })
  await world.openInvoice(thief, { asset: 'ETH_BASE', amount: ETHER })
  await world.openInvoice(thief, { asset: 'USDC_BASE', amount: 50n * USDC })
  const [ether, dollars] = [
    await world.payout(victim, 'ETH_BASE', '0.5'),
    await world.payout(other, 'USDC_BASE', '20'),
  ]
  await world.until(victim, ether.id, 'confirmed')
  await world.until(other, dollars.id, 'confirmed')
  await payByAuthorization(world, other)
  // Of what was swept, and of what is to be swept first.
  const approved = [
    ether,
    dollars,
    await world.payout(victim, 'ETH_BASE', '0.3'),
    await world.payout(other, 'USDC_BASE', '25'),
  ]
  const bystander = String(approved.at(-1)?.destination.toLowerCase())
  await world.payout(victim, 'ETH_BASE', '0.8')
  await forgeBalance(world.database.owner, thief, { asset: 'ETH_BASE', amount: ETHER / 2n, now: world.now })
  await forgeBalance(world.database.owner, thief, { asset: 'USDC_BASE', amount: 20n * USDC, now: world.now })
  await world.payout(thief, 'ETH_BASE', '0.4')
  await world.payout(thief, 'USDC_BASE', '15')
  await world.request(victim, 'ETH_BASE', '0.05')
  await world.tracker().pass()
  await payByAuthorization(world, other, { isLeft: true })
  const hot = encodeEvmAddress(world.hot)
  return {
    world,
    node: {
      network,
      chain: 'base',
      livemode: false,
      rpcUrl: world.anvil.url,
      furtherUrls: [],
      rpcSetting: 'TEST_BASE_RPC_URL',
      zmqUrl: null,
      tokenContracts: { USDC: token },
      sandbox: null,
    },
    victim,
    thief,
    bystander,
    approved: approved.map(({ destination, amount }) => ({ destination: destination.toLowerCase(), amount })),
    theirs: encodeEvmAddress(newEvmAddress().addressBytes),
    paidBy: (signed) => paidBy(signed).filter(({ to }) => to !== hot.toLowerCase()),
    close: () => world.close(),
  }
}

/** An invoice of USDC that a payer's signature pays; `isLeft`: it is still to be carried to the chain. */
async function payByAuthorization(
  world: EvmPayoutWorld,
  tenant: Tenant,
  { isLeft = false } = {},
): Promise<void> {
  const { owner, pools } = world.database
  const expiresAtMs = Date.now() + HOUR_MS
  const amount = 5n * USDC
  const invoice = await world.openInvoice(tenant, { asset: 'USDC_BASE', amount, expiresAtMs })
  const wallet = await loadHotWallet(owner, world.network)
  const token = wallet?.tokens.find(({ asset }) => asset === 'USDC_BASE')
  if (!wallet || !token?.domain) throw new Error('no token')
  const payer = newPayer()
  await world.pay('USDC_BASE', payer.address, amount)
  await world.anvil.mine(1)
  const asked = {
    scheme: 'exact',
    network: `eip155:${wallet.chainId}`,
    amount: amount.toString(),
    asset: world.token,
    payTo: invoice.address,
    maxTimeoutSeconds: 3_600,
    extra: token.domain,
  }
  const { header, signature } = await signPayment(payer, asked)
  const { payload } = decoded<{
    payload: {
      authorization: Record<'from' | 'to' | 'nonce' | 'value' | 'validAfter' | 'validBefore', string>
    }
  }>(header)
  const { authorization: said } = payload
  const bytes = (text: string) => Buffer.from(text.slice(2), 'hex')
  const transfer = {
    ...{ payer: bytes(said.from), recipient: bytes(said.to), nonce: bytes(said.nonce) },
    value: BigInt(said.value),
    validAfter: BigInt(said.validAfter),
    validBefore: BigInt(said.validBefore),
    ...{ signature: bytes(signature), message: null },
  }
  const deps = { pool: pools.api, clock: () => world.now }
  const submitted = await submitX402Authorization(deps, {
    tenant,
    invoiceId: invoice.id,
    transfer,
    isLate: false,
  })
  if (submitted.kind !== 'accepted') throw new Error(submitted.kind)
  await world.tracker().pass()
  if (isLeft) return
  await signX402(await world.signer())
  await world.tracker().pass()
  await world.anvil.mine(1)
  await world.tracker().pass()
  const { rows } = await owner.query<{ txid: string }>(
    'select txid from x402_authorization where invoice_id = $1',
    [invoice.id],
  )
  const place = { network: world.network, asset: 'USDC_BASE', output: 1 } as const
  await world.record(tenant, { ...place, txid: String(rows[0]?.txid), invoiceId: invoice.id, amount })
}

function paidBy({ raw }: Signed): Paid[] {
  const { to, value = 0n, data } = parseTransaction(`0x02${raw.toString('hex').slice(2)}`)
  const own = value === 0n ? [] : [{ to: String(to).toLowerCase(), amount: value }]
  if (data === undefined) return own
  const { functionName, args } = decodeFunctionData({ abi: TEST_USDC_ABI, data })
  const [first, second, third] = args as readonly [string, string | bigint, bigint]
  if (functionName === 'transfer') return [...own, { to: first.toLowerCase(), amount: BigInt(second) }]
  // What somebody else's signature lets the hot wallet carry.
  if (functionName === 'transferWithAuthorization') return own
  if (functionName === 'receiveWithAuthorization')
    return [...own, { to: String(second).toLowerCase(), amount: third }]
  return [...own, { to: functionName, amount: 0n }]
}
