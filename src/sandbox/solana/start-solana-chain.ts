import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit'
import type { Clock } from '../../runtime/clock.ts'
import { readOrMakeSecretFile } from '../../runtime/data-dir.ts'
import type { Log } from '../../runtime/log.ts'
import { type SandboxPlace, serveOnOwnPort, THIS_MACHINE } from '../own-port.ts'
import { loadSvm } from './load-svm.ts'
import { SolanaChain } from './solana-chain.ts'
import { type CommitmentLag, SolanaNode } from './solana-node.ts'
import { createSolanaRpcServer, WARMING_UP } from './solana-rpc-server.ts'
import { SolanaSandboxClient } from './solana-sandbox-client.ts'

const KEY_BYTES = 32
/** Short, so that a test payment is seen and final soon; real ones are 400 ms. */
const SANDBOX_SLOT_MS = 100
/** A slot without a block now and then, as on the real chain. */
const SKIP_EVERY = 20
/** Confirmed with the next block, finalized a second later. */
const LAG: CommitmentLag = { confirmed: 1, finalized: 12 }

type SolanaSandboxOptions = {
  readonly dataDir: string
  readonly clock: Clock
  readonly log: Log
  readonly lag?: CommitmentLag
  /** 0: blocks come only when asked for. */
  readonly slotMs?: number
  readonly skipEvery?: number
  readonly place?: SandboxPlace
  /** Whether a virtual machine that is not here may be fetched. */
  readonly mayFetch?: boolean
}

/**
 * Serves the Solana chain that lives in `<dataDir>/sandbox/solana`, see `serveOnOwnPort`. Throws `SvmMissing`,
 * `SlotJournalDamaged` and the system's errors.
 */
export async function startSolanaChain(options: SolanaSandboxOptions): Promise<{
  readonly rpcUrl: string
  readonly client: SolanaSandboxClient
  stop(): Promise<void>
}> {
  const { clock, log, lag = LAG, slotMs = SANDBOX_SLOT_MS, skipEvery = SKIP_EVERY } = options
  const { place = THIS_MACHINE } = options
  const folder = join(options.dataDir, 'sandbox', 'solana')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const module = await loadSvm(options)
  const secret = await readOrMakeSecretFile(join(folder, 'bank.key'), () =>
    randomBytes(KEY_BYTES).toString('hex'),
  )
  const bank = await createKeyPairSignerFromPrivateKeyBytes(Buffer.from(secret.trim(), 'hex'))
  const onError = (error: unknown) =>
    log.error({ err: error, chain: 'solana' }, 'the sandbox chain could not write')
  let node: SolanaNode | null = null
  const port = await serveOnOwnPort({
    folder,
    place,
    chain: 'solana',
    log,
    probe: { method: 'getHealth', warming: WARMING_UP },
    createServer: (password) =>
      createSolanaRpcServer({
        password,
        node: () => node,
        onError: (error, method) => log.error({ err: error, chain: 'solana', method }, 'sandbox RPC failed'),
      }),
    open: async () => {
      const chain = SolanaChain.open({
        module,
        path: join(folder, 'chain.log'),
        bank: bank.address,
        nowMs: clock().getTime(),
      })
      const served = new SolanaNode({ chain, bank, clock, lag, slotMs, skipEvery, onError })
      served.start()
      node = served
      return () => {
        served.stop()
        node = null
        chain.close()
      }
    },
  })
  const client = new SolanaSandboxClient(port.rpcUrl)
  return {
    rpcUrl: port.rpcUrl,
    client,
    stop: async () => {
      await client.close()
      await port.stop()
    },
  }
}
