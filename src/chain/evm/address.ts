import { addr, ethHex } from 'micro-eth-signer'

const EVM_ADDRESS_BYTES = 20

/** The text of a 20-byte address, with the checksum that its letters' case carries (EIP-55). */
export function encodeEvmAddress(addressBytes: Uint8Array): string {
  if (addressBytes.length !== EVM_ADDRESS_BYTES)
    throw new Error(`${addressBytes.length} bytes are no EVM address`)
  return addr.addChecksum(ethHex.encode(addressBytes))
}

/**
 * The 20 bytes of an address, or null if the text is none. All lower or all upper case carries no checksum; mixed
 * case must carry the right one (EIP-55).
 */
export function parseEvmAddress(text: string): Uint8Array | null {
  // The library also takes a prefix of 0X, which no wallet writes.
  return text.startsWith('0x') && addr.isValid(text) ? ethHex.decode(text) : null
}

/** The address of a public key, 20 bytes. */
export const evmAddressOf = (publicKey: Uint8Array): Uint8Array =>
  ethHex.decode(addr.fromPublicKey(publicKey))
