import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { z } from 'zod'
import type { Log } from '../../runtime/log.ts'
import { Journal, type PlacedRecord } from '../journal.ts'
import { AnvilProcess } from './anvil-process.ts'
import { anvilArguments, type EvmGenesis } from './evm-genesis.ts'

const blockRecordSchema = z.object({ timestamp: z.int().positive(), hash: z.string() })
const disconnectRecordSchema = z.object({ depth: z.int().positive() })
const blockSchema = z.object({
  number: z.string(),
  hash: z.string(),
  timestamp: z.string(),
  transactions: z.array(z.string()),
})

export type EvmBlockSummary = {
  readonly height: number
  readonly hash: string
  readonly timestamp: number
  readonly txids: readonly string[]
}

/** An anvil rebuilt from a state and its journal. */
export type OpenGeneration = {
  readonly anvil: AnvilProcess
  readonly journal: Journal
  readonly records: number
  readonly blocks: EvmBlockSummary[]
  readonly tip: EvmBlockSummary
  readonly raws: Map<string, string>
}

export const statePath = (folder: string, generation: number) => join(folder, `state-${generation}.json`)
export const journalPath = (folder: string, generation: number) => join(folder, `chain-${generation}.log`)

/** Anvil gives its state as hexadecimal of gzip, and reads it as JSON. */
export const unpackState = (state: string): string =>
  gunzipSync(Buffer.from(state.slice(2), 'hex')).toString()

/** Starts anvil on a generation's state and replays its journal. */
export async function openGeneration(
  options: { readonly folder: string; readonly program: string; readonly log: Log },
  genesis: EvmGenesis,
  generation: number,
): Promise<OpenGeneration> {
  const { folder, program, log } = options
  const records: PlacedRecord[] = []
  const journal = Journal.open(journalPath(folder, generation), {
    replay: (record) => records.push(record),
    onSyncError: (error) => log.error({ err: error, folder }, 'the sandbox chain could not write'),
  })
  const state = generation === 0 ? null : statePath(folder, generation)
  let anvil: AnvilProcess | null = null
  try {
    anvil = await AnvilProcess.start(program, anvilArguments(genesis, state), folder)
    const blocks: EvmBlockSummary[] = []
    const raws = new Map<string, string>()
    for (const record of records) await replay(anvil, record, { blocks, raws, log })
    return { anvil, journal, records: records.length, blocks, raws, tip: await readTip(anvil) }
  } catch (error) {
    journal.close()
    await anvil?.stop()
    throw error
  }
}

async function replay(
  anvil: AnvilProcess,
  { kind, payload }: PlacedRecord,
  into: { blocks: EvmBlockSummary[]; raws: Map<string, string>; log: Log },
): Promise<void> {
  const text = payload.toString()
  switch (kind) {
    case 'transaction': {
      const txid = z.string().parse(await anvil.call('eth_sendRawTransaction', [text]))
      into.raws.set(txid, text)
      return
    }
    case 'block': {
      const { timestamp, hash } = blockRecordSchema.parse(JSON.parse(text))
      await anvil.call('evm_mine', [timestamp])
      const block = await readTip(anvil)
      // Another anvil than the one that made it: to the watcher it is a reorganisation.
      if (block.hash !== hash) into.log.warn({ height: block.height }, 'a replayed sandbox block differs')
      into.blocks.push(block)
      return
    }
    case 'disconnect': {
      const { depth } = disconnectRecordSchema.parse(JSON.parse(text))
      await anvil.call('anvil_rollback', [depth])
      into.blocks.splice(-depth)
      return
    }
    default:
      throw new Error(`no ${kind} belongs in the journal of an EVM chain`)
  }
}

export async function readTip(anvil: AnvilProcess): Promise<EvmBlockSummary> {
  const block = blockSchema.parse(await anvil.call('eth_getBlockByNumber', ['latest', false]))
  return {
    height: Number(block.number),
    hash: block.hash,
    timestamp: Number(block.timestamp),
    txids: block.transactions,
  }
}
