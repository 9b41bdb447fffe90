const TYPED_DIGITS_MAX = 8
const COUNT_MAX = 99
const LINES_MAX = 20
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const VISIT_LENGTH = 22

type Kept = {
  readonly prices: readonly number[]
  readonly typed: string
  readonly amounts: readonly number[]
  readonly counts: readonly number[]
  readonly tip: number
}

/** What is being sold, in the smallest units of the till's currency. The server counts it again by its own prices. */
export class Cart {
  /** Digits of the amount that is being typed; the last ones are cents. */
  #typed = ''
  readonly amounts: number[] = []
  readonly counts: number[]
  readonly #prices: readonly number[]
  readonly #decimals: number

  constructor(prices: readonly number[], decimals: number) {
    this.#prices = prices
    this.#decimals = decimals
    this.counts = prices.map(() => 0)
  }

  press(key: string): void {
    if (key === 'back') this.#typed = this.#typed.slice(0, -1)
    else if (key === 'add') this.#push()
    else if (key === 'clear') this.#clear()
    else if (`${this.#typed}${key}`.length <= TYPED_DIGITS_MAX)
      this.#typed = String(Number(`${this.#typed}${key}`) || '')
  }

  add(at: number): void {
    const count = this.counts[at]
    if (count !== undefined && count < COUNT_MAX) this.counts[at] = count + 1
  }

  priceOf(at: number): number {
    return (this.counts[at] ?? 0) * (this.#prices[at] ?? 0)
  }

  /** Rounded as the server rounds it. */
  total(tip: number): number {
    const subtotal = this.#prices.reduce((sum, _price, at) => sum + this.priceOf(at), this.#other())
    return subtotal + Math.floor((subtotal * tip + 50) / 100)
  }

  /** All that is in it and the tip, to be restored after another page. */
  kept(tip: number): string {
    const [prices, typed] = [this.#prices, this.#typed]
    const kept: Kept = { prices, typed, amounts: this.amounts, counts: this.counts, tip }
    return JSON.stringify(kept)
  }

  /** Takes what was kept, unless the till's prices are others by now. Returns the tip. */
  restore(kept: string): number {
    const { prices, typed, amounts, counts, tip } = JSON.parse(kept) as Kept
    if (prices.join() !== this.#prices.join()) return 0
    this.#typed = typed
    this.amounts.push(...amounts)
    for (const [at, count] of counts.entries()) this.counts[at] = count
    return tip
  }

  /** The sale under a name of its own: sent again, it is the same one. */
  sale(tip: number): URLSearchParams {
    const random = crypto.getRandomValues(new Uint8Array(VISIT_LENGTH))
    const other = this.#other()
    return new URLSearchParams({
      visit: [...random].map((byte) => BASE62[byte % BASE62.length]).join(''),
      items: this.counts.flatMap((count, at) => (count > 0 ? [`${at}x${count}`] : [])).join(),
      amount: other > 0 ? this.#decimal(other) : '',
      tip: tip > 0 ? String(tip) : '',
      total: this.#decimal(this.total(tip)),
    })
  }

  #push(): void {
    if (this.#typed === '' || this.amounts.length >= LINES_MAX) return
    this.amounts.push(Number(this.#typed))
    this.#typed = ''
  }

  /** First what is being typed, which is what went wrong most often. */
  #clear(): void {
    if (this.#typed !== '') {
      this.#typed = ''
      return
    }
    this.amounts.length = 0
    this.counts.fill(0)
  }

  #other(): number {
    return this.amounts.reduce((sum, units) => sum + units, Number(this.#typed))
  }

  #decimal(units: number): string {
    const decimals = this.#decimals
    if (decimals === 0) return String(units)
    const digits = String(units).padStart(decimals + 1, '0')
    return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
  }
}
