import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { type Mode, type Query, requestApi } from '../api/request.ts'
import type { List } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { useToast } from '../app/toasts.tsx'
import { Button } from './button.tsx'
import { type CsvColumn, csvHead, csvRows } from './csv.ts'
import { messageOf } from './note.tsx'
import { saveFile } from './save-file.ts'

const PAGE_SIZE = '100'
/** A hundred thousand rows; whoever needs more asks for a shorter time. */
const PAGES_MAX = 1_000
/** A page takes so long at least: the shop's own servers have the same budget of requests (docs/errors.md). */
const PAGE_MS_MIN = 50

type Export<Item> = {
  readonly name: string
  readonly path: string
  readonly query: Query
  readonly columns: readonly CsvColumn<Item>[]
  /** Of a list without pages. */
  readonly isOnePage?: boolean
}

/** Saves what the filter shows, all pages of it, as a file for a spreadsheet. */
export function CsvButton<Item extends { readonly id: string }>(wanted: Export<Item>) {
  const mode = useMode()
  const toast = useToast()
  const [rows, setRows] = useState(0)
  const running = useRef<AbortController | null>(null)
  // Nobody waits for it any more.
  useEffect(() => () => running.current?.abort(), [])
  const save = useMutation({
    mutationFn: () => {
      running.current = new AbortController()
      setRows(0)
      return readAll(mode, wanted, running.current.signal, setRows)
    },
    onSuccess: ({ file, rows: found, isWhole }) => {
      saveFile(`${wanted.name}-${mode}-${new Date().toISOString().slice(0, 10)}.csv`, file)
      const count = found.toLocaleString('en')
      toast(
        isWhole
          ? `${count} ${found === 1 ? 'row' : 'rows'} exported.`
          : `The newest ${count} rows exported. Filter for the rest.`,
      )
    },
    onError: (error) => {
      if (running.current?.signal.aborted !== true) toast(messageOf(error))
    },
  })
  if (save.isPending && rows > 0) {
    return (
      <Button onClick={() => running.current?.abort()}>Stop export ({rows.toLocaleString('en')} rows)</Button>
    )
  }
  return (
    <Button busy={save.isPending} onClick={() => save.mutate()}>
      Export CSV
    </Button>
  )
}

/** Page after page into the file; none of them is kept beside it. */
async function readAll<Item extends { readonly id: string }>(
  mode: Mode,
  { path, query, columns, isOnePage = false }: Export<Item>,
  signal: AbortSignal,
  onRows: (rows: number) => void,
): Promise<{ file: Blob; rows: number; isWhole: boolean }> {
  const parts = [new Blob([csvHead(columns)])]
  let rows = 0
  let last: string | undefined
  for (let page = 0; page < (isOnePage ? 1 : PAGES_MAX); page++) {
    const rested = new Promise((resolve) => setTimeout(resolve, PAGE_MS_MIN))
    const position = { limit: PAGE_SIZE, starting_after: last }
    const list = await requestApi<List<Item>>(mode, 'GET', path, { query: { ...query, ...position }, signal })
    parts.push(new Blob([csvRows(columns, list.data)]))
    rows += list.data.length
    last = list.data.at(-1)?.id
    if (!list.has_more) return { file: fileOf(parts), rows, isWhole: true }
    onRows(rows)
    await rested
    signal.throwIfAborted()
  }
  return { file: fileOf(parts), rows, isWhole: false }
}

const fileOf = (parts: readonly Blob[]): Blob => new Blob([...parts], { type: 'text/csv' })
