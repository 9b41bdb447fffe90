/** A request that no node is asked about; the message names the fix. */
export class Refused extends Error {
  override name = 'Refused'
  /** Of HTTP. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}
