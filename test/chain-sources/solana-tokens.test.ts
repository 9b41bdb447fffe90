import {
  type Address,
  address,
  generateKeyPairSigner,
  getAddressEncoder,
  getBase64EncodedWireTransaction,
  getTransactionDecoder,
  type KeyPairSigner,
  signTransaction,
} from '@solana/kit'
import {
  AuthorityType,
  findAssociatedTokenPda,
  getApproveCheckedInstruction,
  getCloseAccountInstruction,
  getFreezeAccountInstruction,
  getSetAuthorityInstruction,
  getTransferCheckedInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SolanaAdapter, type WayOfWatching } from '../../src/chain/solana/solana-adapter.ts'
import { walletTransfer } from '../../src/chain/solana/wallet-transfer.ts'
import type { BlockRef } from '../../src/core/invoice/types.ts'
import { inspectMints } from '../../src/doctor/inspect-mints.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { sandboxMintOf } from '../../src/sandbox/solana/sandbox-mints.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'
import {
  accountOf,
  makeMint,
  makeTokens,
  move,
  TOKEN_EXTENSIONS_PROGRAM,
} from '../support/token-extensions.ts'

/** More than one of several accounts that hold something needs until its list is read. */
const ROUNDS = 8
const WAYS: readonly WayOfWatching[] = ['blocks', 'accounts']

const { start, amount } = solanaDriver('accounts', 'USDC_SOLANA')
let chain: DrivenSolana
beforeAll(async () => {
  chain = await start()
})
afterAll(() => chain.remove())

/** Both ways of watching one deposit address, which must find the same; `mint` stands in the place of PYUSD's. */
async function watch(mint?: Address) {
  const deposit = await generateKeyPairSigner()
  const addressBytes = Uint8Array.from(getAddressEncoder().encode(deposit.address))
  const options = chain.recipe.options as ConstructorParameters<typeof SolanaAdapter>[0]
  const tokenContracts = { ...options.tokenContracts, ...(mint === undefined ? {} : { PYUSD: mint }) }
  const watching: { adapter: SolanaAdapter; at: BlockRef }[] = []
  for (const way of WAYS) {
    const adapter = new SolanaAdapter({
      ...{ ...options, tokenContracts, way, clock: systemClock },
      openAddresses: async () => [addressBytes],
    })
    adapter.watched.add([addressBytes])
    await adapter.connect()
    watching.push({ adapter, at: await adapter.tip() })
  }
  /** What came since the last look. */
  const found = async (): Promise<string[]> => {
    const told: string[][] = watching.map(() => [])
    for (let round = 0; round < ROUNDS; round++) {
      await chain.mine(1)
      for (const [place, each] of watching.entries()) {
        const update = await each.adapter.nextUpdate(each.at, 100)
        each.at = update?.blocks.at(-1)?.block ?? each.at
        const transfers = update?.blocks.flatMap((block) => block.transfers) ?? []
        told[place]?.push(...transfers.map((one) => `${one.amount} ${one.asset} at ${one.outputIndex}`))
      }
    }
    const [byBlocks = [], byAccounts = []] = told.map((each) => each.toSorted())
    expect(byAccounts).toEqual(byBlocks)
    return byBlocks.map((each) => each.replace(/ at .*/, ''))
  }
  const close = () => Promise.all(watching.map(({ adapter }) => adapter.close()))
  return { deposit, found, close }
}

const refused = (sent: Promise<unknown>) => expect(sent).rejects.toThrow('simulation failed')

const usdcOf = async (owner: Address): Promise<Address> => {
  const mint = address(sandboxMintOf('USDC_SOLANA')?.mint ?? '')
  const [ata] = await findAssociatedTokenPda({ owner, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS })
  return ata
}

test('what a mint keeps of a transfer as its fee is not credited', async () => {
  const { payer } = chain
  const mint = await makeMint(payer, [{ kind: 'fee', basisPoints: 100 }])
  const { deposit, found, close } = await watch(mint)
  const [own, theirs] = [
    await accountOf(payer, mint, payer.signer.address),
    await accountOf(payer, mint, deposit.address),
  ]
  await payer.send(await makeTokens(payer, mint, amount))
  await chain.mine(1)
  await payer.send([theirs.create, move(mint, [own.ata, theirs.ata], payer.signer, amount)])
  expect(await found()).toEqual([`${(amount * 99n) / 100n} PYUSD_SOLANA`])
  await close()
})

test('nothing is credited of a transfer that a hook, or an account frozen from its start, refuses', async () => {
  const { payer } = chain
  const nobody = (await generateKeyPairSigner()).address
  const mint = await makeMint(payer, [{ kind: 'hook', program: nobody }])
  const { deposit, found, close } = await watch(mint)
  const [own, theirs] = [
    await accountOf(payer, mint, payer.signer.address),
    await accountOf(payer, mint, deposit.address),
  ]
  await payer.send([...(await makeTokens(payer, mint, amount)), theirs.create])
  await chain.mine(1)
  const sent = [move(mint, [own.ata, theirs.ata], payer.signer, amount)]
  await refused(payer.send(sent))
  await payer.send(sent, { skipPreflight: true })
  expect(await found()).toEqual([])
  await close()
  const cold = await makeMint(payer, [{ kind: 'frozen' }])
  await refused(makeTokens(payer, cold, amount).then((made) => payer.send(made)))
})

test('what the issuer takes back is no transfer, and as much that is paid again is another payment', async () => {
  const { payer } = chain
  const delegate = payer.signer.address
  const mint = await makeMint(payer, [{ kind: 'delegate', delegate }])
  const { deposit, found, close } = await watch(mint)
  const [own, theirs] = [
    await accountOf(payer, mint, payer.signer.address),
    await accountOf(payer, mint, deposit.address),
  ]
  const paid = [theirs.create, move(mint, [own.ata, theirs.ata], payer.signer, amount)]
  await payer.send(await makeTokens(payer, mint, 2n * amount))
  await chain.mine(1)
  await payer.send(paid)
  expect(await found()).toEqual([`${amount} PYUSD_SOLANA`])
  await payer.send([move(mint, [theirs.ata, own.ata], payer.signer, amount)])
  await chain.mine(1)
  await payer.send(paid)
  expect(await found()).toEqual([`${amount} PYUSD_SOLANA`])
  const freeze = { account: theirs.ata, mint, owner: payer.signer }
  await payer.send([getFreezeAccountInstruction(freeze, { programAddress: TOKEN_EXTENSIONS_PROGRAM })])
  await chain.mine(1)
  await refused(payer.send(paid))
  expect(await found()).toEqual([])
  await close()
})

test('an account that is closed and made again, or that others may move from, is credited all the same', async () => {
  const { payer } = chain
  const { deposit, found, close } = await watch()
  const own = await usdcOf(payer.signer.address)
  const account = await usdcOf(deposit.address)
  const mint = address(sandboxMintOf('USDC_SOLANA')?.mint ?? '')
  await payer.send(await payer.tokens('USDC_SOLANA', deposit.address, amount))
  expect(await found()).toEqual([`${amount} USDC_SOLANA`])
  const back = { source: account, mint, destination: own, authority: deposit, amount, decimals: 6 }
  const closing = { account, destination: payer.signer.address, owner: deposit }
  await payer.send([getTransferCheckedInstruction(back), getCloseAccountInstruction(closing)])
  await chain.mine(1)
  await payer.send(await payer.tokens('USDC_SOLANA', deposit.address, amount))
  await chain.mine(1)
  const allowed = { source: account, mint, delegate: payer.signer.address, owner: deposit }
  await payer.send([getApproveCheckedInstruction({ ...allowed, amount, decimals: 6 })])
  await payer.send(await payer.tokens('USDC_SOLANA', deposit.address, amount + 1n))
  expect(await found()).toEqual([`${amount} USDC_SOLANA`, `${amount + 1n} USDC_SOLANA`].toSorted())
  await close()
})

test('what comes to an account that was given to somebody else is not ours', async () => {
  const { payer } = chain
  const { deposit, found, close } = await watch()
  const account = await usdcOf(deposit.address)
  await payer.send(await payer.tokens('USDC_SOLANA', deposit.address, amount))
  expect(await found()).toEqual([`${amount} USDC_SOLANA`])
  await payer.send([
    getSetAuthorityInstruction({
      owned: account,
      owner: deposit,
      authorityType: AuthorityType.AccountOwner,
      newAuthority: payer.signer.address,
    }),
  ])
  await chain.mine(1)
  const [, sent] = await payer.tokens('USDC_SOLANA', deposit.address, amount)
  if (sent !== undefined) await payer.send([sent])
  expect(await found()).toEqual([])
  await close()
})

test('what a wallet of the browser is given to sign pays, and makes the account where it is missing', async () => {
  const { payer } = chain
  const { deposit, found, close } = await watch()
  const { hash, height } = await (async () => {
    const adapter = chain.adapter()
    return adapter.tip().finally(() => adapter.close())
  })()
  const transfer = {
    from: payer.signer.address,
    to: deposit.address,
    amount,
    mint: sandboxMintOf('USDC_SOLANA'),
  }
  const given = walletTransfer(transfer, { hash, height })
  const wire = await signedBy(payer.signer, given ?? '')
  await payer.client.sendTransaction(wire, { encoding: 'base64' }).send()
  expect(await found()).toEqual([`${amount} USDC_SOLANA`])
  await close()
})

test('a token is looked for in every round where it is asked for, and elsewhere in turns', async () => {
  const { payer } = chain
  const deposits = await Promise.all(Array.from({ length: 300 }, () => generateKeyPairSigner()))
  const addresses = deposits.map(({ address: each }) => Uint8Array.from(getAddressEncoder().encode(each)))
  const [first, last] = [deposits[0], deposits.at(-1)]
  if (first === undefined || last === undefined) throw new Error('none was made')
  const asked = { addressBytes: addresses.at(-1) ?? new Uint8Array(), asset: 'USDC_SOLANA' as const }
  const adapter = new SolanaAdapter({
    ...(chain.recipe.options as ConstructorParameters<typeof SolanaAdapter>[0]),
    clock: systemClock,
    openAddresses: async () => addresses,
    askedTokens: async () => [asked],
  })
  adapter.watched.add(addresses)
  await adapter.connect()
  let at = await adapter.tip()
  const round = async (): Promise<string[]> => {
    await chain.mine(1)
    const update = await adapter.nextUpdate(at, 100)
    at = update?.blocks.at(-1)?.block ?? at
    return update?.blocks.flatMap((block) => block.transfers.map((one) => `${one.amount} ${one.asset}`)) ?? []
  }
  // One in which everything is new, and the turns of all others.
  await round()
  const before = adapter.rpc.cost.calls
  await round()
  const calls = adapter.rpc.cost.calls - before
  await payer.send(await payer.tokens('USDC_SOLANA', last.address, amount))
  expect(await round()).toEqual([`${amount} USDC_SOLANA`])
  await payer.giveTokens('PYUSD_SOLANA', first.address, amount)
  const found: string[] = []
  for (let turn = 0; turn < 4; turn++) found.push(...(await round()))
  expect(found).toEqual([`${amount} PYUSD_SOLANA`])
  // Three for the addresses and the token account, four for those of a hundred in their turn, and what each round asks for.
  expect(calls).toBeLessThan(16)
  await adapter.close()
})

test('the doctor names what each mint is, and what its issuer may do that stands in the way', async () => {
  const { payer } = chain
  const nobody = (await generateKeyPairSigner()).address
  const delegate = { kind: 'delegate', delegate: nobody } as const
  const own: [Address, RegExp][] = [
    [
      await makeMint(payer, [delegate, { kind: 'fee', basisPoints: 100 }]),
      new RegExp(`notice: .* taken from any account by ${nobody}; its issuer keeps 1 % of each transfer`),
    ],
    [
      await makeMint(payer, [{ kind: 'hook', program: nobody }]),
      new RegExp(`fault: .* the program ${nobody} decide of each transfer`),
    ],
    [await makeMint(payer, [{ kind: 'frozen' }]), /fault: .* new accounts frozen, so no invoice can be paid/],
    [nobody, /notice: .*: no mint there, so it cannot be paid or paid out$/],
    [address(sandboxMintOf('USDC_SOLANA')?.mint ?? ''), /fault: .* belongs to the program Tokenkeg/],
  ]
  await chain.mine(4)
  const adapter = chain.adapter()
  const find = async (tokenContracts: Readonly<Record<string, string>>) => {
    const node = {
      ...({ network: 'solana-test', chain: 'solana', livemode: false, rpcUrl: chain.url } as const),
      ...{ furtherUrls: [], rpcSetting: 'IT', zmqUrl: null, sandbox: null, tokenContracts },
    }
    return (await inspectMints(node, adapter.rpc)).map(({ kind, text }) => `${kind}: ${text}`)
  }
  const [usdc, pyusd] = await find({})
  expect(usdc).toMatch(/^ok: solana-test: USDC_SOLANA at \w+ has 6 decimals and a supply of \d+, made by \w+/)
  expect(pyusd).toMatch(/^ok: solana-test: PYUSD_SOLANA at .* frozen by \w+, taken from any account by \w+$/)
  for (const [PYUSD, words] of own) expect((await find({ PYUSD })).at(-1)).toMatch(words)
  await adapter.close()
})

async function signedBy(signer: KeyPairSigner, base64: string) {
  const given = getTransactionDecoder().decode(Buffer.from(base64, 'base64'))
  const signed = await signTransaction([signer.keyPair], given as Parameters<typeof signTransaction>[1])
  return getBase64EncodedWireTransaction(signed)
}
