import {
  AccountRole,
  type Address,
  type AddressesByLookupTableAddress,
  address,
  appendTransactionMessageInstructions,
  assertIsSendableTransaction,
  compressTransactionMessageUsingAddressLookupTables,
  createSolanaRpc,
  createTransactionMessage,
  generateKeyPairSigner,
  getAddressEncoder,
  getBase64EncodedWireTransaction,
  getProgramDerivedAddress,
  type Instruction,
  type KeyPairSigner,
  lamports,
  type Nonce,
  pipe,
  type Signature,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  setTransactionMessageLifetimeUsingDurableNonce,
  setTransactionMessageLoadedAccountsDataSizeLimit,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import {
  fetchNonce,
  getCreateAccountInstruction,
  getInitializeNonceAccountInstruction,
  getNonceSize,
  getTransferSolInstruction,
  SYSTEM_PROGRAM_ADDRESS,
} from '@solana-program/system'
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstruction,
  getInitializeAccount3Instruction,
  getInitializeMint2Instruction,
  getMintSize,
  getMintToInstruction,
  getSyncNativeInstruction,
  getTokenSize,
  getTransferCheckedInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token'
import type { AssetId } from '../../src/core/assets.ts'
import { NATIVE_MINT } from '../../src/core/chain/solana-mints.ts'
import { sandboxMintOf } from '../../src/sandbox/solana/sandbox-mints.ts'

const TABLE_PROGRAM = address('AddressLookupTab1e1111111111111111111111111')

const V1_UNITS = 10_000
const V1_LOADED_BYTES = 1_000_000

/** The stock client of a node whose URL holds credentials. */
export function stockClient(rpcUrl: string) {
  const url = new URL(rpcUrl)
  const authorization = `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`
  return createSolanaRpc(`http://${url.host}`, { headers: { authorization } })
}

export type StockClient = ReturnType<typeof stockClient>

/** Calls a lever that only the sandbox has. */
export async function lever(rpcUrl: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const url = new URL(rpcUrl)
  const response = await fetch(`http://${url.host}`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const answer = (await response.json()) as { result?: unknown; error?: { message: string } }
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}

/** Test tokens from the sandbox's bank, which makes as many as anybody asks for. */
export async function giveTokens(
  rpcUrl: string,
  asset: AssetId,
  owner: Address,
  amount: bigint,
): Promise<string> {
  const params = [owner, amount.toString(), sandboxMintOf(asset)?.mint ?? null]
  const { txid, hex } = (await lever(rpcUrl, 'sandbox_signpayment', params)) as { txid: string; hex: string }
  await lever(rpcUrl, 'sendTransaction', [hex, { encoding: 'base64', skipPreflight: true }])
  return txid
}

/** A payer with coins, on a chain whose blocks come when `mine` asks for them. */
export class SolanaPayer {
  readonly client: StockClient
  readonly signer: KeyPairSigner
  /** So many slots below the tip lies the block whose hash transactions carry: they outlive a fork above it. */
  lifetimeDepth = 0
  readonly #rpcUrl: string

  private constructor(rpcUrl: string, signer: KeyPairSigner) {
    this.#rpcUrl = rpcUrl
    this.client = stockClient(rpcUrl)
    this.signer = signer
  }

  static async fund(rpcUrl: string, amount = 1_000_000_000_000n): Promise<SolanaPayer> {
    const payer = new SolanaPayer(rpcUrl, await generateKeyPairSigner())
    await payer.client.requestAirdrop(payer.signer.address, lamports(amount)).send()
    await payer.mine(1)
    return payer
  }

  async mine(count: number, skipped = 0): Promise<void> {
    await lever(this.#rpcUrl, 'sandbox_mine', [count, skipped])
  }

  /** What puts wrapped SOL into the token account that wallets use for this owner. */
  async wrap(owner: Address, amount: bigint): Promise<Instruction[]> {
    const mint = address(NATIVE_MINT)
    const [ata] = await findAssociatedTokenPda({ owner, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS })
    return [
      getCreateAssociatedTokenIdempotentInstruction({ payer: this.signer, ata, owner, mint }),
      this.transfer(ata, amount),
      getSyncNativeInstruction({ account: ata }),
    ]
  }

  giveTokens(asset: AssetId, owner: Address, amount: bigint): Promise<string> {
    return giveTokens(this.#rpcUrl, asset, owner, amount)
  }

  /** What wallets send: the account where the owner's tokens go, made where it is missing, and the payer's own tokens. */
  async tokens(asset: AssetId, owner: Address, amount: bigint): Promise<Instruction[]> {
    const of = sandboxMintOf(asset)
    if (of === null) throw new Error(`${asset} has no mint`)
    const [mint, tokenProgram] = [address(of.mint), address(of.program)]
    const [source] = await findAssociatedTokenPda({ owner: this.signer.address, mint, tokenProgram })
    const [ata] = await findAssociatedTokenPda({ owner, mint, tokenProgram })
    const sent = { source, mint, destination: ata, authority: this.signer, amount, decimals: 6 }
    return [
      getCreateAssociatedTokenIdempotentInstruction({ payer: this.signer, ata, owner, mint, tokenProgram }),
      getTransferCheckedInstruction(sent, { programAddress: tokenProgram }),
    ]
  }

  /** Tokens of a mint that anybody may make, for an owner. */
  async otherMint(owner: Address, amount: bigint): Promise<Instruction[]> {
    const mint = await generateKeyPairSigner()
    const space = BigInt(getMintSize())
    const rent = await this.client.getMinimumBalanceForRentExemption(space).send()
    const [ata] = await findAssociatedTokenPda({
      owner,
      mint: mint.address,
      tokenProgram: TOKEN_PROGRAM_ADDRESS,
    })
    const account = { payer: this.signer, ata, owner, mint: mint.address }
    const made = { mint: mint.address, token: ata, mintAuthority: this.signer, amount }
    return [
      getCreateAccountInstruction({
        payer: this.signer,
        newAccount: mint,
        lamports: rent,
        space,
        programAddress: TOKEN_PROGRAM_ADDRESS,
      }),
      getInitializeMint2Instruction({
        mint: mint.address,
        decimals: 6,
        mintAuthority: this.signer.address,
      }),
      getCreateAssociatedTokenIdempotentInstruction(account),
      getMintToInstruction(made),
    ]
  }

  /** The payer's own tokens, into another account of the owner than wallets would take. */
  async elsewhere(asset: AssetId, owner: Address, amount: bigint): Promise<Instruction[]> {
    const [, sent] = await this.tokens(asset, owner, amount)
    const of = sandboxMintOf(asset)
    if (of === null || sent?.accounts === undefined) throw new Error(`${asset} has no mint`)
    const account = await generateKeyPairSigner()
    const space = BigInt(getTokenSize())
    const rent = await this.client.getMinimumBalanceForRentExemption(space).send()
    const accounts = sent.accounts.map((each, place) =>
      place === 2 ? { ...each, address: account.address } : each,
    )
    return [
      getCreateAccountInstruction({
        payer: this.signer,
        newAccount: account,
        lamports: rent,
        space,
        programAddress: TOKEN_PROGRAM_ADDRESS,
      }),
      getInitializeAccount3Instruction({ account: account.address, mint: address(of.mint), owner }),
      { ...sent, accounts },
    ]
  }

  transfer(to: Address, amount: bigint): Instruction {
    return getTransferSolInstruction({ source: this.signer, destination: to, amount: lamports(amount) })
  }

  /** Signs; `version` 0 may use lookup tables, and a nonce's value takes the blockhash's place. */
  async sign(
    instructions: readonly Instruction[],
    options: {
      readonly version?: 'legacy' | 0 | 1
      readonly tables?: AddressesByLookupTableAddress
      readonly nonce?: { readonly account: Address; readonly value: string }
    } = {},
  ) {
    const latest = await this.#lifetime()
    const begun = pipe(createTransactionMessage({ version: (options.version ?? 0) as 0 }), (message) =>
      setTransactionMessageFeePayerSigner(this.signer, message),
    )
    const { nonce } = options
    const timed =
      nonce === undefined
        ? setTransactionMessageLifetimeUsingBlockhash(latest, begun)
        : setTransactionMessageLifetimeUsingDurableNonce(
            {
              nonce: nonce.value as Nonce,
              nonceAccountAddress: nonce.account,
              nonceAuthorityAddress: this.signer.address,
            },
            begun,
          )
    // A transaction of version 1 may load nothing and compute nothing unless it says so.
    const limited =
      options.version === 1
        ? setTransactionMessageComputeUnitLimit(
            V1_UNITS,
            setTransactionMessageLoadedAccountsDataSizeLimit(V1_LOADED_BYTES, timed as never),
          )
        : timed
    const filled = appendTransactionMessageInstructions(instructions, limited as typeof timed)
    const message =
      options.tables === undefined
        ? filled
        : compressTransactionMessageUsingAddressLookupTables(filled as never, options.tables)
    const signed = await signTransactionMessageWithSigners(message as typeof filled)
    return signed
  }

  async #lifetime() {
    const { value: latest } = await this.client.getLatestBlockhash({ commitment: 'processed' }).send()
    if (this.lifetimeDepth === 0) return latest
    const slot = (await this.client.getSlot({ commitment: 'processed' }).send()) - BigInt(this.lifetimeDepth)
    const block = await this.client.getBlock(slot, { transactionDetails: 'none', rewards: false }).send()
    if (block === null) throw new Error(`there is no block in slot ${slot}`)
    return { ...latest, blockhash: block.blockhash }
  }

  /** Sends with the stock client's preflight; the signature. */
  async send(
    instructions: readonly Instruction[],
    options: Parameters<this['sign']>[1] & { readonly skipPreflight?: boolean } = {},
  ): Promise<Signature> {
    const signed = await this.sign(instructions, options)
    const wire = getBase64EncodedWireTransaction(signed)
    assertIsSendableTransaction(signed as never)
    return this.client
      .sendTransaction(wire, {
        encoding: 'base64',
        skipPreflight: options.skipPreflight ?? false,
        preflightCommitment: 'processed',
      })
      .send()
  }

  pay(to: Address, amount: bigint): Promise<Signature> {
    return this.send([this.transfer(to, amount)])
  }

  /** A lookup table that holds these addresses and may be used in the next block. */
  async makeTable(addresses: readonly Address[]): Promise<AddressesByLookupTableAddress> {
    const recentSlot = await this.client.getSlot({ commitment: 'processed' }).send()
    await this.mine(1)
    const slotBytes = new Uint8Array(8)
    new DataView(slotBytes.buffer).setBigUint64(0, recentSlot, true)
    const [table, bump] = await getProgramDerivedAddress({
      programAddress: TABLE_PROGRAM,
      seeds: [getAddressEncoder().encode(this.signer.address), slotBytes],
    })
    const accounts = [
      { address: table, role: AccountRole.WRITABLE },
      { address: this.signer.address, role: AccountRole.READONLY_SIGNER, signer: this.signer },
      { address: this.signer.address, role: AccountRole.WRITABLE_SIGNER, signer: this.signer },
      { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY },
    ]
    // CreateLookupTable { recent_slot, bump }, then ExtendLookupTable { new_addresses }.
    const create = Uint8Array.from([0, 0, 0, 0, ...slotBytes, bump])
    await this.send([{ programAddress: TABLE_PROGRAM, accounts, data: create }])
    await this.mine(1)
    const count = [addresses.length, 0, 0, 0, 0, 0, 0, 0]
    const keys = addresses.flatMap((each) => [...getAddressEncoder().encode(each)])
    const extend = Uint8Array.from([2, 0, 0, 0, ...count, ...keys])
    await this.send([{ programAddress: TABLE_PROGRAM, accounts, data: extend }])
    await this.mine(2)
    return { [table]: [...addresses] }
  }

  async makeNonce(): Promise<Address> {
    const account = await generateKeyPairSigner()
    const space = BigInt(getNonceSize())
    const rent = await this.client.getMinimumBalanceForRentExemption(space).send()
    await this.send([
      getCreateAccountInstruction({
        payer: this.signer,
        newAccount: account,
        lamports: rent,
        space,
        programAddress: SYSTEM_PROGRAM_ADDRESS,
      }),
      getInitializeNonceAccountInstruction({
        nonceAccount: account.address,
        nonceAuthority: this.signer.address,
      }),
    ])
    await this.mine(2)
    return account.address
  }

  async nonceValue(account: Address): Promise<string> {
    const { data } = await fetchNonce(this.client, account, { commitment: 'processed' })
    return data.blockhash
  }
}
