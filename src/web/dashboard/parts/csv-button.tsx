import { useMutation } from '@tanstack/react-query'
import { askApi, type Query } from '../api/ask.ts'
import type { List } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { useToast } from '../app/toasts.tsx'
import { Button } from './button.tsx'
import { type CsvColumn, csvOf } from './csv.ts'
import { messageOf } from './note.tsx'

const PAGE_SIZE = '100'
/** Ten thousand rows; whoever needs more asks for a shorter time. */
const PAGES_MAX = 100

/** Saves what the filter shows, all pages of it, as a file for a spreadsheet. */
export function CsvButton<Item extends { readonly id: string }>({
  name,
  path,
  query,
  columns,
  isOnePage = false,
}: {
  name: string
  path: string
  query: Query
  columns: readonly CsvColumn<Item>[]
  /** Of a list without pages. */
  isOnePage?: boolean
}) {
  const mode = useMode()
  const toast = useToast()
  const save = useMutation({
    mutationFn: async () => {
      const items: Item[] = []
      for (let page = 0; page < (isOnePage ? 1 : PAGES_MAX); page++) {
        const position = { limit: PAGE_SIZE, starting_after: items.at(-1)?.id }
        const list = await askApi<List<Item>>(mode, 'GET', path, { query: { ...query, ...position } })
        items.push(...list.data)
        if (!list.has_more) return { items, isWhole: true }
      }
      return { items, isWhole: false }
    },
    onSuccess: ({ items, isWhole }) => {
      saveFile(`${name}-${mode}-${new Date().toISOString().slice(0, 10)}.csv`, csvOf(columns, items))
      toast(
        isWhole
          ? `${items.length} ${items.length === 1 ? 'row' : 'rows'} exported.`
          : `The newest ${items.length} rows exported. Filter for the rest.`,
      )
    },
    onError: (error) => toast(messageOf(error)),
  })
  return (
    <Button busy={save.isPending} onClick={() => save.mutate()}>
      Export CSV
    </Button>
  )
}

function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
