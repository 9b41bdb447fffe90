/**
 * The addresses of what belongs to the chain itself (native programs, their loaders, sysvars, the incinerator) are readable
 * words filled up with ones (Solana SDK, reserved-account-keys); nobody finds a key to one that ends so by chance.
 */
const FILLED_UP = /1{12}$/

/** Whether a valid base58 address is the chain's own: most take no money, so that a transaction to one is never executed. */
export const isChainsOwnAddress = (address: string): boolean => FILLED_UP.test(address)
