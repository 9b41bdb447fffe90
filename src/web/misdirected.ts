import { CELL_HEADER, cellTag } from '../core/cells.ts'

/** A buyers' page that is in another cell (RFC 9110 §15.5.20). */
export const misdirected = (cell: number): Response =>
  new Response('This page is on another server of the same service. Open its link again in a minute.\n', {
    status: 421,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      [CELL_HEADER]: cellTag(cell),
    },
  })
