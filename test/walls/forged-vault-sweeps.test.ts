import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { SolanaRpc } from '../../src/chain/solana/solana-rpc.ts'
import type { AssetId } from '../../src/core/assets.ts'
import { solanaMintsOf } from '../../src/core/chain/solana-mints.ts'
import { UnreadableLine } from '../../src/payouts/sign/journal-lines.ts'
import { PayoutJournal } from '../../src/payouts/sign/payout-journal.ts'
import { readTokenTerms } from '../../src/payouts/sign/solana/token-instructions.ts'
import { insertMaintenance, type SweepSource } from '../../src/payouts/store/solana-maintenance.ts'
import { insertTokenSweep, type TokenSource } from '../../src/payouts/store/solana-token-sweeps.ts'
import type { Pool } from '../../src/postgres/pool.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { sandboxMintOf } from '../../src/sandbox/solana/sandbox-mints.ts'
import { forgeBalance } from '../support/forge-balance.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'

const SOL = 1_000_000_000n
const USD = 1_000_000n
const USDC = 'USDC_SOLANA'
const NETWORK = 'solana-test'

let world: SolanaPayoutWorld
let watcher: Pool
beforeAll(async () => {
  world = await SolanaPayoutWorld.open()
  watcher = world.database.pools.watcher
  await world.fund()
})
afterAll(() => world?.close())

async function indexesOf(tenant: Tenant): Promise<number[]> {
  const { rows } = await world.database.owner.query<{ idx: number }>(
    'select idx from deposit_address where merchant_id = $1 order by idx',
    [tenant.merchantId],
  )
  return rows.map(({ idx }) => idx)
}

/** Asks for a sweep of these addresses; its id. */
async function forgeSweep(
  sources: readonly SweepSource[],
  id = newId('maintenance', world.now),
): Promise<string> {
  await insertMaintenance(watcher, NETWORK, { kind: 'sweep', id, sources }, world.now)
  return id
}

async function forgeFund(index: number): Promise<string> {
  const id = newId('maintenance', world.now)
  await insertMaintenance(
    watcher,
    NETWORK,
    { kind: 'fund', id, sources: [{ index, lamports: 1n }] },
    world.now,
  )
  return id
}

async function signedTxidOf(id: string): Promise<string | null> {
  const { rows } = await world.database.owner.query<{ txid: string | null }>(
    'select txid from solana_chore where id = $1',
    [id],
  )
  return rows[0]?.txid ?? null
}

async function endAll(): Promise<void> {
  await watcher.query('update solana_chore set ended_at = now(), landed = false where ended_at is null')
}

test('a sweep is signed of one merchant’s deposits alone, and of no more than was paid to each', async () => {
  const [first, second] = [await world.openShop([SOL, SOL]), await world.openShop([SOL])]
  const [a = 0, b = 0] = await indexesOf(first)
  const [other = 0] = await indexesOf(second)
  const refused = [
    await forgeSweep([
      { index: a, lamports: SOL },
      { index: other, lamports: SOL },
    ]),
    await forgeSweep([{ index: a, lamports: SOL + 1n }]),
    await forgeSweep([
      { index: a, lamports: SOL },
      { index: a, lamports: SOL },
    ]),
    await forgeSweep([{ index: 9_999, lamports: SOL }]),
    await forgeSweep([{ index: a, lamports: SOL }], newId('payout', world.now)),
    await forgeSweep([{ index: 2 ** 31, lamports: SOL }]),
    await forgeSweep([{ index: -1, lamports: SOL }]),
    await forgeFund(2 ** 31),
  ]
  await world.sign()
  for (const id of refused) expect(await signedTxidOf(id)).toBeNull()
  await endAll()
  const both = await forgeSweep([
    { index: a, lamports: SOL },
    { index: b, lamports: SOL },
  ])
  await world.sign()
  expect(await signedTxidOf(both)).not.toBeNull()
  const again = await forgeSweep([{ index: a, lamports: SOL }])
  await world.sign()
  expect(await signedTxidOf(again)).toBeNull()
  await endAll()
})

test('a sweep of tokens is signed of one merchant’s deposits of that token alone, and counts once sealed', async () => {
  const { owner } = world.database
  const [first, second] = [
    await world.openShop([USD, USD], 0, USDC),
    await world.openShop([USD, USD], 0, 'PYUSD_SOLANA'),
  ]
  await world.tracker().pass()
  const [a = 0, b = 0] = await indexesOf(first)
  const [other = 0] = await indexesOf(second)
  const forge = async (
    sources: readonly TokenSource[],
    asset: string = USDC,
    id = newId('maintenance', world.now),
  ) => {
    await insertTokenSweep(watcher, NETWORK, { id, asset: asset as AssetId, sources }, world.now)
    return id
  }
  const txidOf = async (id: string): Promise<string | null> =>
    (await owner.query('select txid from solana_token_sweep where id = $1', [id])).rows[0].txid
  const whole = { index: a, amount: USD }
  const refused = [
    await forge([whole, { index: other, amount: USD }]),
    await forge([{ index: a, amount: USD + 1n }]),
    await forge([whole, whole]),
    await forge([{ index: other, amount: USD }]),
    await forge([{ index: 9_999, amount: USD }]),
    await forge([{ index: 2 ** 31, amount: USD }]),
    await forge([{ index: -1, amount: USD }]),
    await forge([whole], USDC, newId('payout', world.now)),
    await forge([whole], 'PYUSD_SOLANA'),
    await forge([whole], 'SOL'),
    await forge([whole], 'USDC_BASE'),
    await forge([whole], 'nothing'),
  ]
  await world.sign()
  for (const id of refused) expect(await txidOf(id)).toBeNull()
  await watcher.query('update solana_token_sweep set ended_at = now(), landed = false where ended_at is null')
  const both = await forge([whole, { index: b, amount: USD }])
  await world.sign()
  expect(await txidOf(both)).not.toBeNull()
  // Called landed, it counts for nothing until the watcher has sealed it.
  await watcher.query('update solana_token_sweep set ended_at = now(), landed = true where ended_at is null')
  const payout = await world.payout(first, '2', undefined, USDC)
  const proxied = await startRpcProxy(world.solana.url)
  try {
    proxied.lie('getSignatureStatuses', (told) => ({ ...(told as object), value: [null] }))
    const rpc = new SolanaRpc(proxied.url, 'the test')
    for (let turn = 0; turn < 3; turn++) {
      await world.tracker(world.broadcaster(rpc)).pass()
      await world.sign()
    }
    await rpc.close()
  } finally {
    await proxied.close()
  }
  expect(await world.signedOf(payout.id)).toEqual([])
  expect(world.logged.join('')).toContain('the watcher has not sealed it')
})

test('for live money the signer takes the mint that it knows, and no other that a row names', async () => {
  const { owner } = world.database
  const live = 'solana-live'
  const { mint } = solanaMintsOf(live, 'live', {}).find(({ asset }) => asset === USDC) ?? {}
  const other = sandboxMintOf('USDT_SOLANA')?.mint
  const termsWith = async (named: string | undefined, refusal: string | null = null) => {
    await owner.query('delete from solana_vault_token where network = $1', [live])
    await owner.query(
      `insert into solana_vault_token (network, asset, mint, amount, refusal, read_at) values ($1, $2, $3, 0, $4, now())`,
      [live, USDC, named, refusal],
    )
    return readTokenTerms(await world.signer(), live, USDC)
  }
  expect(await termsWith(mint)).toMatchObject({ mint })
  expect(await termsWith(mint, 'its issuer has paused it')).toBeNull()
  expect(await termsWith(other)).toBeNull()
  await owner.query('delete from solana_vault_token where network = $1', [live])
})

test("with the watcher's login nobody is paid with what a forged row says was swept for them", async () => {
  const victim = await world.openShop([3n * SOL])
  const own = await world.payout(victim, '0.5')
  await world.until(victim, own.id, 'confirmed')
  const { vault } = await world.signerAccounts()
  const held = await world.holds(vault)
  const thief = await world.openShop([])
  await world.deposit(thief, 1_000n, { isPaid: false })
  await forgeBalance(watcher, thief, { asset: 'SOL', amount: SOL, now: world.now })
  const [index = 0] = await indexesOf(thief)
  const payout = await world.payout(thief, '0.5')
  const id = newId('maintenance', world.now)
  await watcher.query(
    `insert into solana_chore (network, id, kind, indexes, lamports, txid, created_at, ended_at, landed)
     values ($1, $2, 'sweep', array[$3::bigint], array[$4::numeric], 'forged', now(), now(), true)`,
    [NETWORK, id, index, SOL],
  )
  const found = (await runAudit(world.database.owner, [])).flatMap(({ name, findings }) =>
    findings.map(({ subject }) => `${name} ${subject}`),
  )
  expect(found).toContain(`swept_was_paid ${id}`)
  for (let turn = 0; turn < 6; turn++) await world.turn()
  expect(await world.holds(payout.destination)).toBe(0n)
  expect(await world.holds(vault)).toBe(held)
  expect(await world.signedOf(payout.id)).toEqual([])
  expect(world.logged.join('')).toContain('more was swept for the merchant than was signed')
})

test('a sweep that the signer wrote down and did not publish is published as it was signed', async () => {
  const tenant = await world.openShop([SOL])
  const payout = await world.payout(tenant, '0.5')
  await world.tracker().pass()
  await expect(
    world.sign({
      reached: async (point) => {
        if (point === 'after_journal') throw new Error('the power is cut')
      },
    }),
  ).rejects.toThrow('the power is cut')
  await world.until(tenant, payout.id, 'confirmed')
  const alerts = world.logged.filter((line) => line.includes(payout.id) && line.includes('was signed'))
  expect(alerts).toEqual([])
})

test('a sweep from before the journal kept sweeps counts by its own signature, and by nothing else', async () => {
  const tenant = await world.openShop([SOL])
  await world.until(tenant, (await world.payout(tenant, '0.3')).id, 'confirmed')
  const path = join(world.folder, 'payouts.jsonl')
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '')
  const older = lines.map((line) => JSON.parse(line)).filter(({ intent }) => intent.kind !== 'vault_sweep')
  await writeFile(path, older.map((line) => `${JSON.stringify({ ...line, at: undefined })}\n`).join(''))
  // Whatever its row says, or another row with its bytes.
  await world.database.owner.query(
    `insert into solana_chore select (jsonb_populate_record(c, jsonb_build_object('id', 'cho_zzz'))).*
     from solana_chore c where kind = 'sweep' and landed and raw is not null limit 1`,
  )
  const payout = await world.payout(tenant, '0.6')
  await world.until(tenant, payout.id, 'confirmed')
  const kept = (await readFile(path, 'utf8')).split('\n').filter((line) => line.includes('vault_sweep'))
  expect(kept).toHaveLength(lines.length - older.length)
})

test.each([
  { asset: 'SOL', whole: SOL, amounts: ['0.3', '0.6'], table: `solana_chore where kind = 'sweep' and` },
  { asset: 'PYUSD_SOLANA', whole: 9n * USD, amounts: ['3', '6'], table: 'solana_token_sweep where' },
] as const)(
  'a sweep of $asset unknown to database and journal is found on the chain, by its signature alone',
  async ({ asset, whole, amounts: [first, second], table }) => {
    const tenant = await world.openShop([whole], 0, asset)
    await world.until(tenant, (await world.payout(tenant, first, undefined, asset)).id, 'confirmed')
    const [index = 0] = await indexesOf(tenant)
    const path = join(world.folder, 'payouts.jsonl')
    const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '')
    const isOwn = (line: string) => line.includes('vault_sweep') && line.includes(`"key_index":${index},`)
    const older = lines.filter((line) => !isOwn(line)).map((line) => JSON.parse(line))
    await writeFile(path, older.map((line) => `${JSON.stringify({ ...line, at: undefined })}\n`).join(''))
    const { rows } = await world.database.owner.query<{ txid: string }>(
      `delete from ${table} landed and indexes @> array[$1::bigint] returning txid`,
      [index],
    )
    expect(rows).toHaveLength(1)
    // What a watcher's login writes beside counts for nothing, and stops nothing.
    await watcher.query(
      `insert into solana_found_sweep (network, txid, raw, found_at)
     select $1, name || $2, bytes, now() from (values ('!', ''::bytea), ('"', '\\x01ff'::bytea)) as forged (name, bytes)`,
      [NETWORK, asset],
    )
    await watcher.query(
      `insert into solana_found_sweep (network, txid, raw, found_at)
     select $1, '#' || $2, set_byte(raw, 10, (get_byte(raw, 10) + 1) % 256), now() from ${table} raw is not null limit 1`,
      [NETWORK, asset],
    )
    const payout = await world.payout(tenant, second, undefined, asset)
    await world.until(tenant, payout.id, 'confirmed')
    const kept = (await readFile(path, 'utf8')).split('\n').filter(isOwn)
    expect(kept.map((line) => JSON.parse(line).txid)).toEqual(rows.map(({ txid }) => txid))
  },
)

test("with the watcher's login no reading stops the signer, and what is true again is signed by", async () => {
  const [sol, usdc] = [await world.openShop([SOL]), await world.openShop([USD], 0, USDC)]
  await world.tracker().pass()
  const [[a = 0], [b = 0]] = [await indexesOf(sol), await indexesOf(usdc)]
  const swept = await forgeSweep([{ index: a, lamports: SOL }])
  const funded = await forgeFund(a)
  const id = newId('maintenance', world.now)
  await insertTokenSweep(
    watcher,
    NETWORK,
    { id, asset: USDC, sources: [{ index: b, amount: USD }] },
    world.now,
  )
  const signed = async () => {
    await world.sign()
    const { rows } = await world.database.owner.query<{ id: string }>(
      `select id from solana_chore where txid is not null and id = any ($1)
       union select id from solana_token_sweep where txid is not null and id = any ($1)`,
      [[swept, funded, id]],
    )
    return rows.map((row) => row.id).toSorted()
  }
  await watcher.query('update solana_house set blockhash = $1 where network = $2', ['0'.repeat(44), NETWORK])
  expect(await signed()).toEqual([])
  // The signer's own file would be damaged for whoever reads it next.
  for (const height of [-1n, 2n ** 62n]) {
    await world.tracker().pass()
    await watcher.query('update solana_house set last_valid_height = $1 where network = $2', [
      height,
      NETWORK,
    ])
    expect(await signed()).toEqual([])
  }
  await world.tracker().pass()
  await watcher.query('update solana_vault_token set mint = $1 where network = $2', ['0'.repeat(32), NETWORK])
  expect(await signed()).toEqual([swept, funded].toSorted())
  await world.tracker().pass()
  expect(await signed()).toEqual([swept, funded, id].toSorted())
  await endAll()
})

test('no line is written that nobody could read the journal with again, on whatever network', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'paylink-journal-'))
  try {
    const journal = await PayoutJournal.open(folder)
    const common = { number: 1, digest: 'aa', raw: 'aa', network_fee: '0', signed_at: 0 }
    const at = (network: string, from_height: number) => ({
      ...common,
      payout_id: network,
      network,
      from_height,
    })
    const onBitcoin = { txid: 'aa', inputs: [{ txid: 'aa', output_index: 0 }], change: null }
    const onBase = { sender: 'aa'.repeat(20), nonce: 1, gas: '1', max_fee: '1', tip: '1' }
    for (const height of [-1, 2 ** 62])
      for (const entry of [
        { ...at('bitcoin-live', height), ...onBitcoin },
        { ...at('base-live', height), ...onBase, txid: `0x${'aa'.repeat(32)}` },
      ])
        await expect(journal.append(entry)).rejects.toThrow(UnreadableLine)
    await journal.append({ ...at('bitcoin-live', 0), ...onBitcoin })
    expect((await PayoutJournal.open(folder)).entriesOf('bitcoin-live')).toHaveLength(1)
  } finally {
    await rm(folder, { recursive: true })
  }
})
