/**
 * The addresses of what belongs to the chain itself (native programs, their loaders, sysvars, the incinerator) are readable
 * words filled up with ones (Solana SDK, reserved-account-keys); nobody finds a key to one that ends so by chance.
 */
const FILLED_UP = /1{12}$/

/** It owns every account that a key alone disposes of. */
const SYSTEM_PROGRAM = '11111111111111111111111111111111'

/**
 * Whether a key can send on what is paid to an account; null: nobody was paid there yet. What lies on a program, a mint or a
 * token account obeys the program that owns it, and is lost where that has no instruction for it.
 */
export const isKeysAccount = (account: { readonly owner: string } | null): boolean =>
  account === null || account.owner === SYSTEM_PROGRAM

/** Whether a valid base58 address is the chain's own: most take no money, so that a transaction to one is never executed. */
export const isChainsOwnAddress = (address: string): boolean => FILLED_UP.test(address)
