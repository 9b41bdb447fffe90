/**
 * A signer and a tracker in a process of their own, out of the build that `npm test` makes first. The one argument is
 * JSON: `{ network, asset, rpcUrl, signerUrl, watcherUrl, folder, seed, now }`, the seed in hex, and where there are tokens
 * `tokenContracts`. Says when it begins, then writes a line at each moment at which a death would leave
 * something half done, and goes on until it is killed.
 */
const order = JSON.parse(process.argv[2])
const load = (path) => import(new URL(`../../dist/${path}`, import.meta.url))
const [
  derive,
  { FirstSeen },
  { PayoutJournal },
  { signPayouts },
  { readValueLimits },
  { openPool },
  { createLogger },
  { DeduplicatedLog },
] = await Promise.all([
  load('signer/derive.js'),
  load('payouts/sign/first-seen.js'),
  load('payouts/sign/payout-journal.js'),
  load('payouts/sign/sign-payouts.js'),
  load('payouts/sign/signing-limits.js'),
  load('postgres/pool.js'),
  load('runtime/log.js'),
  load('runtime/deduplicated-log.js'),
])
const { PayoutTracker } = await load('payouts/broadcast/payout-tracker.js')
const { OutcomeSealer } = await load('payouts/broadcast/outcome-sealer.js')
const { openOutcomeKey } = await load('secrets/outcome-key.js')
const { PayoutProviders } = await load('payouts/broadcast/payout-providers.js')
const poolOf = (connectionString) =>
  openPool({ connectionString, applicationName: 'paylink-killed', max: 3, onError: () => {} })
// It begins where the test stands, and goes on: what was confirmed before a reading must be older than it.
const beganMs = performance.now()
const clock = () => new Date(Date.parse(order.now) + performance.now() - beganMs)
const log = createLogger('silent')
const accounts = await derive.openAccountsOf(derive.wordsOf(Buffer.from(order.seed, 'hex')))
const signer = {
  pool: poolOf(order.signerUrl),
  clock,
  log,
  folder: order.folder,
  approvalKeyFile: `${order.folder}/published-approval-key`,
  journal: await PayoutJournal.open(order.folder),
  seen: await FirstSeen.open(order.folder),
  limits: await readValueLimits(order.folder),
  accounts: accounts.spenders,
  solana: accounts.solana,
  alerts: new DeduplicatedLog(),
  reached: async (point) => tell(point),
}
const at = { network: order.network, pool: poolOf(order.watcherUrl), clock, log }
const key = openOutcomeKey(Buffer.from(order.watcherKey, 'hex'))
const sealer = new OutcomeSealer({ ...at, key })
const openBroadcaster = order.network.startsWith('solana-')
  ? openVault
  : order.tokenContracts === undefined
    ? openCoins
    : openAccounts
const tracker = new PayoutTracker({
  ...at,
  sealer,
  broadcaster: await openBroadcaster(),
  notifier: { deliveriesWaiting: () => {}, activity: () => {} },
})

function tell(moment) {
  process.stdout.write(`${moment}\n`)
}

/** The one provider there is, of which every question is a moment, and every answer. */
function only(chain) {
  const telling = new Proxy(chain, {
    get(target, name) {
      const value = target[name]
      if (typeof value !== 'function') return value
      return async (...args) => {
        tell(`${String(name)} is asked`)
        const answer = await value.apply(target, args)
        tell(`${String(name)} is answered`)
        return answer
      }
    },
  })
  return new PayoutProviders(at, [{ name: 'the node', chain: telling }])
}

async function openCoins() {
  const [{ RpcClient }, { UtxoPayoutClient }, { UtxoBroadcaster }] = await Promise.all([
    load('chain/utxo/rpc-client.js'),
    load('payouts/broadcast/utxo/utxo-payout-client.js'),
    load('payouts/broadcast/utxo/utxo-broadcaster.js'),
  ])
  const chain = new UtxoPayoutClient(new RpcClient(order.rpcUrl, 'the test'), 'test')
  return new UtxoBroadcaster({ ...at, asset: order.asset, providers: only(chain) })
}

async function openAccounts() {
  const [{ EvmPayoutClient }, { EvmBroadcaster }] = await Promise.all([
    load('payouts/broadcast/evm/evm-payout-client.js'),
    load('payouts/broadcast/evm/evm-broadcaster.js'),
  ])
  const { evmTokensOf } = await load('core/chain/evm-parameters.js')
  const tokens = evmTokensOf(order.network, 'test', order.tokenContracts)
  const node = { url: order.rpcUrl, setting: 'the test', chain: order.network.split('-')[0], realm: 'test' }
  const chain = new EvmPayoutClient({ ...node, tokens })
  return new EvmBroadcaster({ ...at, sealer, providers: only(chain), tokens, lookEveryMs: 0, topUp: null })
}

async function openVault() {
  const [{ SolanaRpc }, { SolanaBroadcaster }] = await Promise.all([
    load('chain/solana/solana-rpc.js'),
    load('payouts/broadcast/solana/solana-broadcaster.js'),
  ])
  const providers = only(new SolanaRpc(order.rpcUrl, 'the test'))
  const [{ solanaMintsOf }, { isPayoutToken }] = await Promise.all([
    load('core/chain/solana-mints.js'),
    load('payouts/broadcast/solana/vault-tokens.js'),
  ])
  const tokens = solanaMintsOf(order.network, 'test', order.tokenContracts ?? {}).filter(isPayoutToken)
  return new SolanaBroadcaster({ ...at, sealer, providers, tokens, givesCoins: false, busyIntervalMs: 0 })
}

tell('begins')
for (;;) {
  await signPayouts(signer)
  await tracker.pass()
}
