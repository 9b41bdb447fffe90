import { addWallet, WalletFault } from './wallets.ts'

/** Wallets for SOL, which announce themselves by the Wallet Standard. */

type Account = { readonly address: string; readonly chains: readonly string[] }
type StandardWallet = {
  readonly name: string
  readonly icon: string
  readonly chains: readonly string[]
  readonly features: {
    readonly 'standard:connect'?: { connect(): Promise<{ accounts: readonly Account[] }> }
    readonly 'solana:signAndSendTransaction'?: {
      signAndSendTransaction(input: {
        account: Account
        transaction: Uint8Array
        chain: string
      }): Promise<unknown>
    }
  }
}
type Api = { register(...wallets: StandardWallet[]): () => void }

export function watchSolanaWallets(): void {
  const api: Api = {
    register: (...wallets) => {
      for (const wallet of wallets) add(wallet)
      return () => {}
    },
  }
  addEventListener('wallet-standard:register-wallet', (event) =>
    (event as CustomEvent<(api: Api) => void>).detail(api),
  )
  dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: api }))
}

function add(wallet: StandardWallet): void {
  const { name, icon, features } = wallet
  if (!features['standard:connect'] || !features['solana:signAndSendTransaction']) return
  addWallet({
    kind: 'solana',
    id: `solana ${name}`,
    name,
    icon,
    pay: (words, mayGoOn) => pay(wallet, words, mayGoOn),
  })
}

async function pay(
  { chains, features }: StandardWallet,
  words: DOMStringMap,
  mayGoOn: () => boolean,
): Promise<'sent' | 'stale'> {
  try {
    const connected = await features['standard:connect']?.connect()
    const account = connected?.accounts[0]
    if (!account) throw new WalletFault('silent')
    // The server knows the block after which the transfer is valid.
    const answer = await fetch(`${words.from}?from=${account.address}`, { cache: 'no-store' })
    if (!answer.ok) throw new WalletFault('silent')
    const { chain, transaction } = await answer.json()
    if (!chains.includes(chain) || !account.chains.includes(chain)) throw new WalletFault('unknown')
    if (!mayGoOn()) return 'stale'
    await features['solana:signAndSendTransaction']?.signAndSendTransaction({
      account,
      transaction: Uint8Array.from(atob(transaction), (byte) => byte.charCodeAt(0)),
      chain,
    })
    return 'sent'
  } catch (error) {
    // The standard has no code for it: 4001 is what most wallets give, and the others say it.
    const { code, message } = error as { code?: number; message?: string }
    const isRefused = code === 4001 || /reject|den(y|ied)|cancel/i.test(message ?? '')
    throw isRefused && !(error instanceof WalletFault) ? new WalletFault('rejected') : error
  }
}
