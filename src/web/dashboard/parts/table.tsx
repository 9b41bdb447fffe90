import type { MouseEvent, ReactNode } from 'react'
import type { List } from '../api/types.ts'
import { ProblemNote } from './note.tsx'

export type Column<Item> = {
  readonly title: string
  readonly cell: (item: Item) => ReactNode
  readonly align?: 'end'
  /** Left out on a phone, where the row's page shows it. */
  readonly wide?: boolean
  /** Left out beside the menu of a tablet, too. */
  readonly roomy?: boolean
  /** Of text that can break anywhere: on a phone it still gets room to be read. */
  readonly long?: boolean
}

type Read<Item> = { data: List<Item> | undefined; error: unknown; isPending: boolean }

const SKELETON_ROWS = [1, 2, 3, 4, 5]

/** A live table: grey bars while it loads for the first time, one action where there is nothing. */
export function DataTable<Item extends { readonly id: string }>({
  caption,
  columns,
  read,
  empty,
}: {
  caption: string
  columns: readonly Column<Item>[]
  read: Read<Item>
  empty: ReactNode
}) {
  if (read.data === undefined && read.error !== null) return <ProblemNote error={read.error} />
  if (read.data?.data.length === 0) return empty
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1).
    <section className="table-frame" aria-label={caption} aria-busy={read.isPending} tabIndex={0}>
      {read.error === null || read.data === undefined ? null : <ProblemNote error={read.error} />}
      <table>
        <caption className="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" className={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {read.data === undefined
            ? SKELETON_ROWS.map((row) => (
                <tr key={row}>
                  {columns.map((column) => (
                    <td key={column.title} className={classOf(column)}>
                      <span className="skeleton" />
                    </td>
                  ))}
                </tr>
              ))
            : read.data.data.map((item) => (
                <tr key={item.id} onClick={followRow}>
                  {columns.map((column) => (
                    <td key={column.title} className={classOf(column)}>
                      {column.cell(item)}
                    </td>
                  ))}
                </tr>
              ))}
        </tbody>
      </table>
    </section>
  )
}

/** A click anywhere in a row follows its link, unless it is on something else to press or selects text. */
function followRow({ target, currentTarget }: MouseEvent<HTMLTableRowElement>): void {
  if (target instanceof Element && target.closest('a, button, input, select, label, dialog') !== null) return
  if (window.getSelection()?.isCollapsed === false) return
  currentTarget.querySelector<HTMLAnchorElement>('a.row-link')?.click()
}

const classOf = <Item,>({ align, wide, roomy, long }: Column<Item>): string | undefined =>
  [
    align === 'end' ? 'number' : '',
    wide === true ? 'wide' : '',
    roomy === true ? 'roomy' : '',
    long === true ? 'long' : '',
  ]
    .filter(Boolean)
    .join(' ') || undefined

/** What a column shows on a wide screen, under another one's text on a phone. */
export const Narrow = ({ children }: { children: ReactNode }) => (
  <span className="phone-only quiet small-text">{children}</span>
)

/** Where nothing is yet: what would be here, and the one thing to do. */
export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="empty">
      <h2>{title}</h2>
      {children}
    </section>
  )
}

/** Where a search or filter finds nothing. */
export const NothingFound = ({ children }: { children: ReactNode }) => (
  <Empty title="Nothing matches">{children}</Empty>
)

/** Bars in place of what is still loading. */
export function Skeleton({ lines = 4 }: { lines?: number }) {
  return (
    <div className="stack" aria-busy="true">
      <span className="unseen">Loading</span>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bars have no other name.
        <span key={line} className="skeleton tall" />
      ))}
    </div>
  )
}
