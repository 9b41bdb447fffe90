import {
  decompileTransactionMessage,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type Instruction,
} from '@solana/kit'
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system'
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token'
import { associatedTokenAccount } from '../../src/chain/solana/token-accounts.ts'
import { ownerOf } from '../../src/chain/solana/watched-owners.ts'
import { SANDBOX_MINTS, sandboxMintOf } from '../../src/sandbox/solana/sandbox-mints.ts'
import { forgeBalance } from '../support/forge-balance.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'
import { describeGrants, type Installation, type Paid, type Signed } from './grants-suite.ts'

const SOL = 1_000_000_000n
const USD = 1_000_000n
const USDC = 'USDC_SOLANA'
const NETWORK = 'solana-test'

describeGrants('Solana', open)

async function open(): Promise<Installation> {
  const world = await SolanaPayoutWorld.open()
  await world.fund()
  const victim = await world.openShop([SOL, SOL])
  const other = await world.openShop([SOL])
  const thief = await world.openShop([])
  await world.invoice(victim, SOL)
  await world.invoice(thief, SOL)
  const paid = await world.payout(victim, '0.5')
  await world.until(victim, paid.id, 'confirmed')
  const ofOther = await world.payout(other, '0.4')
  await world.until(other, ofOther.id, 'confirmed')
  const left = await world.payout(other, '0.3')
  await world.deposit(victim, 3n * USD, { asset: USDC })
  const token = await world.payout(victim, '1', undefined, USDC)
  await world.until(victim, token.id, 'confirmed')
  const ofToken = await world.payout(victim, '1.5', undefined, USDC)
  const approved = [paid, ofOther, await world.payout(victim, '0.3'), left, token, ofToken]
  // Of what is to be swept first.
  await world.payout(victim, '0.9')
  await forgeBalance(world.database.owner, thief, { asset: 'SOL', amount: SOL / 2n, now: world.now })
  await world.payout(thief, '0.2')
  await world.request(victim, '0.05')
  await world.tracker().pass()
  const { feePayer, vault, nonceAccounts } = await world.signerAccounts()
  const deposits = Array.from({ length: 32 }, (_, index) =>
    ownerOf(world.accounts.solana.ownerAt(NETWORK, index)),
  )
  const own = new Set<string>([feePayer, vault, ...nonceAccounts, ...deposits])
  const mint = sandboxMintOf(USDC)
  const known = [...own, ...approved.map(({ destination }) => destination)]
  const owners = new Map(
    mint === null ? [] : known.map((owner) => [associatedTokenAccount(owner, mint), owner]),
  )
  return {
    world,
    node: {
      network: NETWORK,
      chain: 'solana',
      livemode: false,
      rpcUrl: world.solana.url,
      furtherUrls: [],
      rpcSetting: 'TEST_SOLANA_RPC_URL',
      zmqUrl: null,
      tokenContracts: SANDBOX_MINTS,
      sandbox: null,
    },
    victim,
    thief,
    bystander: left.destination,
    approved: approved.map(({ destination, amount }) => ({ destination, amount })),
    theirs: world.newAddress(),
    paidBy: (signed) =>
      paidBy(signed)
        .map(({ to, amount }) => ({ to: owners.get(to) ?? to, amount }))
        .filter(({ to }) => !own.has(to)),
    close: () => world.close(),
  }
}

/** System program: Transfer is 2, and CreateAccountWithSeed 3 (SystemInstruction of the SDK). */
const TRANSFER = 2
/** Of the token program. */
const TRANSFER_CHECKED = 12
const CREATE_WITH_SEED = 3

function paidBy({ raw }: Signed): Paid[] {
  const messageBytes = messageOf(raw)
  if (messageBytes === null) return []
  const compiled = getCompiledTransactionMessageDecoder().decode(messageBytes)
  const { instructions } = decompileTransactionMessage(compiled)
  return (instructions as readonly Instruction[]).flatMap(({ programAddress, accounts = [], data = [] }) => {
    const bytes = Buffer.from(data)
    // TransferChecked: from, mint, to, authority.
    if (programAddress === TOKEN_PROGRAM_ADDRESS && bytes[0] === TRANSFER_CHECKED)
      return [{ to: String(accounts[2]?.address), amount: bytes.readBigUInt64LE(1) }]
    if (
      programAddress !== SYSTEM_PROGRAM_ADDRESS ||
      ![TRANSFER, CREATE_WITH_SEED].includes(bytes.readUInt32LE(0))
    )
      return []
    const amount = bytes.readUInt32LE(0) === TRANSFER ? bytes.readBigUInt64LE(4) : 0n
    return [{ to: String(accounts[1]?.address), amount }]
  })
}

/** Null where it is no transaction: the signer's login writes bytes of its own over those of maintenance, and they pay nobody. */
function messageOf(raw: Buffer) {
  try {
    return getTransactionDecoder().decode(raw).messageBytes
  } catch {
    return null
  }
}
