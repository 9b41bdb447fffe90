import { ChainHalted, ChainUnavailable } from '../chain/adapter.ts'
import { encodeEvmAddress } from '../chain/evm/address.ts'
import { EvmPayoutCarrier } from '../chain/evm/payout-carrier.ts'
import type { EvmChainNode } from '../chain-nodes.ts'
import { evmTokensOf } from '../core/chain/evm-parameters.ts'
import type { Finding, HeldDeposits } from '../db/queries/audit.ts'
import type { ChainAudit } from './audit-chain.ts'

/**
 * Deposit addresses against what they hold on the chain: at least what stands in balances and was not swept. More may lie
 * there: what is not final yet, or too small to mean anything. `stillHeld` gives what the books say now: what was swept,
 * or taken back by the chain, meanwhile is no discrepancy.
 */
export async function auditBalances(
  node: EvmChainNode,
  held: readonly HeldDeposits[],
  stillHeld: () => Promise<readonly HeldDeposits[]>,
): Promise<ChainAudit> {
  const { network, chain, livemode, rpcUrl: url, rpcSetting: setting } = node
  const token = evmTokensOf(network, node.usdcContract).find(({ asset }) => asset === 'USDC_BASE') ?? null
  const carrier = new EvmPayoutCarrier({ url, setting, chain, livemode, token })
  try {
    await carrier.parameters()
    const short = new Map<string, Finding>()
    for (const deposits of held) {
      const { merchantId, asset, program, amount } = deposits
      const balance = await (asset === 'USDC_BASE'
        ? carrier.tokenBalanceOf(program)
        : carrier.balanceOf(program))
      if (balance >= amount) continue
      const detail = `holds ${balance} and ${amount} of its deposits stand in the books`
      const subject = `${network} ${asset} ${encodeEvmAddress(program)}`
      short.set(nameOf(deposits), { merchantId, subject, detail })
    }
    const booked = short.size === 0 ? [] : await stillHeld()
    const findings = booked.flatMap((deposits) => short.get(nameOf(deposits)) ?? [])
    return { kind: 'checked', blocksRead: 0, findings }
  } catch (error) {
    if (!(error instanceof ChainUnavailable || error instanceof ChainHalted)) throw error
    return { kind: 'not_checked', reason: error.message }
  } finally {
    await carrier.close()
  }
}

const nameOf = ({ asset, program, amount }: HeldDeposits): string =>
  `${asset} ${program.toString('hex')} ${amount}`
