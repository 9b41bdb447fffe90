import { type Config, givenSettings, loadProcessConfig } from '../config/config.ts'
import { type Finding, fault } from '../doctor/finding.ts'
import { inspectBackup } from '../doctor/inspect-backup.ts'
import { inspectDatabase } from '../doctor/inspect-database.ts'
import { inspectDirectory } from '../doctor/inspect-directory.ts'
import { inspectLive } from '../doctor/inspect-live.ts'
import { inspectMoves } from '../doctor/inspect-moves.ts'
import { inspectNetworks } from '../doctor/inspect-networks.ts'
import { inspectCards, inspectPrices, inspectSetup } from '../doctor/inspect-setup.ts'
import {
  inspectAddresses,
  inspectApprovalKey,
  inspectFeePayers,
  inspectFrozenDeposits,
  inspectHotWallets,
  inspectLongWaits,
  inspectLostPayouts,
  inspectOutcomes,
  inspectStoppedPayouts,
  inspectX402FeePayers,
} from '../doctor/inspect-signer.ts'
import { redactorOf } from '../doctor/redact.ts'
import { type ChainNode, configuredNodes } from '../nodes/chain-nodes.ts'
import { openSandboxNodes } from '../nodes/open-sandbox-nodes.ts'
import { openAsOwner } from '../postgres/open-database.ts'
import { openPool } from '../postgres/pool.ts'
import { systemClock } from '../runtime/clock.ts'
import { createLogger, describeError, withoutSecrets } from '../runtime/log.ts'
import type { Output } from './command-context.ts'

const MARKS: { readonly [kind in Finding['kind']]: string } = { ok: '✓', notice: '·', fault: '✗' }

/** Prints findings as they come, and says at the end whether there was a fault. */
function reportTo(output: Output, clean: (text: string) => string) {
  let faults = 0
  return {
    print: (findings: readonly Finding[]) => {
      for (const { kind, text } of findings) {
        if (kind === 'fault') faults += 1
        output.line(`${MARKS[kind]} ${clean(text)}`)
      }
    },
    /** The command's exit code. */
    end: (): number => {
      output.line(faults === 0 ? 'All is well.' : `${faults} ${faults === 1 ? 'fault' : 'faults'} to fix.`)
      return faults === 0 ? 0 : 1
    },
  }
}

/** `paylink doctor --live`: asks every configured service of the outside, and prints a report fit for a bug report. */
export async function doctorLiveCommand(output: Output, version: string): Promise<number> {
  const config = loadProcessConfig()
  const { print, end } = reportTo(output, redactorOf(givenSettings()))
  const { version: node, platform, arch } = process
  output.line(`Paylink ${version}, Node.js ${node}, ${platform} ${arch}, ${systemClock().toISOString()}`)
  print(await inspectLive(config, systemClock))
  return end()
}

/** `paylink doctor`: says how everything stands; exit code 1 where there is a fault. */
export async function doctorCommand(output: Output): Promise<number> {
  const config = loadProcessConfig()
  const { print, end } = reportTo(output, withoutSecrets)
  print(await inspectSetup(config))
  print(await inspectStored(config))
  print(await inspectPrices(config, systemClock))
  print(await inspectCards(config.onramps, systemClock))
  return end()
}

async function inspectStored(config: Config): Promise<Finding[]> {
  let database: Awaited<ReturnType<typeof openAsOwner>>
  try {
    database = await openAsOwner(config)
  } catch (error) {
    return [fault(describeError(error))]
  }
  const options = { applicationName: 'paylink-doctor', max: 2, onError: () => {} }
  const pool = openPool({ ...options, connectionString: database.ownerUrl })
  const sandboxes: ChainNode[] = []
  try {
    const log = createLogger('error', 'stderr')
    sandboxes.push(...(await openSandboxNodes(config, { clock: systemClock, log })))
    const nodes = [...configuredNodes(config), ...sandboxes]
    const sandboxNetworks = sandboxes.map(({ network }) => network)
    return [
      ...(await inspectDatabase(config, pool)),
      ...(await inspectAddresses(config, pool)),
      ...(await inspectNetworks(pool, nodes, systemClock)),
      ...(await inspectHotWallets(pool, sandboxNetworks)),
      ...(await inspectFeePayers(pool, sandboxNetworks)),
      ...(config.x402 ? await inspectX402FeePayers(pool, sandboxNetworks) : []),
      ...(await inspectLostPayouts(pool)),
      ...(await inspectApprovalKey(config, pool)),
      ...(await inspectOutcomes(config, pool, systemClock)),
      ...(await inspectStoppedPayouts(pool, systemClock)),
      ...(await inspectFrozenDeposits(pool)),
      ...(await inspectLongWaits(pool, systemClock)),
      ...(await inspectMoves(pool)),
      ...(await inspectDirectory(config, pool)),
      ...(await inspectBackup(config.backup, pool, systemClock)),
    ]
  } catch (error) {
    return [
      fault(`The database could not be read: ${describeError(error)}; run paylink migrate, or see its log`),
    ]
  } finally {
    for (const { sandbox } of sandboxes) await sandbox?.stop()
    await pool.end()
    await database.close()
  }
}
