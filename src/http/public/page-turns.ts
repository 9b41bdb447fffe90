import { createSlots, type InTurn } from '../../runtime/slots.ts'

/** Pages read at a time: well below a process's 20 connections, so that whoever floods a page leaves the API the others. */
const READS_RUNNING_MAX = 8
const READS_WAITING_MAX = 2_000
/** As long as a connection is waited for; then the page says so, and tries again. */
const READ_WAIT_MS_MAX = 5_000

/** The turns of what anybody may have read: buyers' pages, receipts, x402 offers and translated invoices. One of a process. */
export function createPageTurns(): InTurn {
  const slots = createSlots({
    runningMax: READS_RUNNING_MAX,
    waitingMax: READS_WAITING_MAX,
    waitMsMax: READ_WAIT_MS_MAX,
  })
  return (read) => slots.run('pages', read)
}
