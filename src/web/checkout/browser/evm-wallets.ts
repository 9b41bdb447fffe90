import { addWallet, WalletFault } from './wallets.ts'

/** Wallets for Ether and USDC, which announce themselves by EIP-6963. */

type Announced = {
  readonly info: { readonly uuid: string; readonly name: string; readonly icon: string }
  readonly provider: { request(call: { method: string; params?: unknown[] }): Promise<unknown> }
}

export function watchEvmWallets(): void {
  addEventListener('eip6963:announceProvider', (event) => {
    const { info, provider } = (event as CustomEvent<Announced>).detail
    const { uuid: id, name, icon } = info
    const ask: Ask = (method, ...params) => provider.request({ method, params })
    addWallet({ kind: 'evm', id, name, icon, pay: (words, mayGoOn) => pay(ask, words, mayGoOn) })
  })
  dispatchEvent(new Event('eip6963:requestProvider'))
}

type Ask = (method: string, ...params: unknown[]) => Promise<unknown>

/** EIP-1193's code of what a wallet threw; some wrap it. */
function codeOf(error: unknown): number | undefined {
  const { code, data } = error as { code?: number; data?: { originalError?: { code?: number } } }
  return data?.originalError?.code ?? code
}

/** Takes the wallet to the chain, and adds the chain first where the wallet has it not (EIP-3326, EIP-3085). */
async function switchTo(ask: Ask, chainId: string | undefined, add: string | undefined): Promise<void> {
  try {
    await ask('wallet_switchEthereumChain', { chainId })
  } catch (error) {
    if (codeOf(error) !== 4902 || !add) throw error
    await ask('wallet_addEthereumChain', JSON.parse(add))
    // Some wallets go there by themselves, and some do not.
    await ask('wallet_switchEthereumChain', { chainId })
  }
}

async function pay(ask: Ask, words: DOMStringMap, mayGoOn: () => boolean): Promise<'sent' | 'stale'> {
  const { chain: chainId, to, value, data, add } = words
  let isSending = false
  try {
    const accounts = (await ask('eth_requestAccounts')) as string[]
    // A wallet may refuse to switch to the network that it is on already.
    if (Number(await ask('eth_chainId')) !== Number(chainId)) {
      await switchTo(ask, chainId, add)
      if (Number(await ask('eth_chainId')) !== Number(chainId)) throw { code: 4902 }
    }
    if (!mayGoOn()) return 'stale'
    isSending = true
    await ask('eth_sendTransaction', { from: accounts[0], to, value, ...(data && { data }) })
    return 'sent'
  } catch (error) {
    const code = codeOf(error)
    if (code === 4001) throw new WalletFault('rejected')
    if (code === 4902 && !isSending) throw new WalletFault('unknown')
    throw error
  }
}
