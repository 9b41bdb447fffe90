import type { Fault } from './invoice-request.ts'

/** Several mistakes in one body, answered in Greenfield's own form. */
export class Invalid extends Error {
  override name = 'Invalid'
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[]) {
    super('the request is not valid')
    this.faults = faults
  }
}
