/** The field and the constant of Edwards25519 (RFC 8032, 5.1). */
const P = 2n ** 255n - 19n
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n
const SIGN_BIT = 0x80

/**
 * Whether 32 bytes name a point of Ed25519's curve, as an address that a key can sign for does: x² = (y² − 1) / (dy² + 1)
 * has a root. By the Jacobi symbol, in a sixth of the time of a power: accounts are derived by the hundred thousand.
 */
export function isOnCurve(bytes: Uint8Array): boolean {
  const big = Buffer.from(bytes).reverse()
  const sign = (big[0] ?? 0) & SIGN_BIT
  big[0] = (big[0] ?? 0) & ~SIGN_BIT
  const y = BigInt(`0x${big.toString('hex')}`) % P
  const square = (y * y) % P
  const [over, under] = [(square + P - 1n) % P, (D * square + 1n) % P]
  // The root is zero, which has no sign.
  if (over === 0n) return sign === 0
  return jacobi((over * under) % P, P) === 1
}

/** The Jacobi symbol (a/n) of an odd n (Cohen, A Course in Computational Algebraic Number Theory, 1.4.10). */
function jacobi(of: bigint, over: bigint): number {
  let [a, n, symbol] = [of, over, 1]
  while (a !== 0n) {
    while ((a & 1n) === 0n) {
      a >>= 1n
      const rest = n & 7n
      if (rest === 3n || rest === 5n) symbol = -symbol
    }
    if ((a & 3n) === 3n && (n & 3n) === 3n) symbol = -symbol
    ;[a, n] = [n % a, a]
  }
  return n === 1n ? symbol : 0
}
