import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { savedViewsOf } from '../api/reads.ts'
import type { SavedViews as Saved, UpdateSavedViews } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { useToast } from '../app/toasts.tsx'
import { Button } from './button.tsx'
import { DialogForm } from './dialog-form.tsx'
import { Field } from './field.tsx'
import { faultOf } from './note.tsx'

type List = Saved['views'][number]['list']
/** What of a page's address is no filter. */
const NO_FILTERS = new Set(['mode', 'after', 'before'])

/** The filters of a list that somebody kept, and what keeps those of the moment. */
export function SavedViews({
  list,
  search,
}: {
  list: List
  search: { readonly [filter: string]: string | undefined }
}) {
  const mode = useMode()
  const toast = useToast()
  const read = useQuery(savedViewsOf(mode))
  const [isNaming, setIsNaming] = useState(false)
  const change = useChange<UpdateSavedViews, Saved>((body) => ({
    method: 'PATCH',
    path: '/saved-views',
    body,
  }))
  const query: { [filter: string]: string } = {}
  for (const [filter, value] of Object.entries(search))
    if (value !== undefined && !NO_FILTERS.has(filter)) query[filter] = value
  const views = read.data?.views.filter((view) => view.list === list) ?? []
  const shown = views.find((view) => isSame(view.query, query))
  const isFiltered = Object.keys(query).length > 0
  if (views.length === 0 && !isFiltered) return null
  const remove = (view: UpdateSavedViews) =>
    change.mutate(
      { ...view, query: null },
      {
        onSuccess: () => toast('View removed', { label: 'Undo', run: () => change.mutate(view) }),
      },
    )
  return (
    <nav className="saved-views" aria-label="Saved views">
      {views.map(({ name, query: kept }) => (
        <Link
          key={name}
          className="button plain small"
          to="."
          search={(old) => ({ ...kept, mode: old.mode })}
          activeOptions={{ exact: true }}
        >
          {name}
        </Link>
      ))}
      {isFiltered && shown === undefined ? (
        <Button small icon="plus" onClick={() => setIsNaming(true)}>
          Save view
        </Button>
      ) : null}
      {shown === undefined ? null : (
        <Button small onClick={() => remove(shown)}>
          Remove view
        </Button>
      )}
      {isNaming ? <NameDialog list={list} query={query} onClose={() => setIsNaming(false)} /> : null}
    </nav>
  )
}

function NameDialog({
  list,
  query,
  onClose,
}: {
  list: List
  query: { readonly [filter: string]: string }
  onClose: () => void
}) {
  const [name, setName] = useState('')
  const save = useChange<UpdateSavedViews, Saved>(
    (body) => ({ method: 'PATCH', path: '/saved-views', body }),
    {
      done: 'View saved',
      onDone: onClose,
    },
  )
  return (
    <DialogForm
      title="Save this view"
      action="Save"
      change={save}
      faults={['name']}
      onSubmit={() => save.mutate({ list, name: name.trim(), query })}
      onClose={onClose}
    >
      <p className="quiet">It keeps the search and the filters of this list. Only you see it.</p>
      <Field
        label="Name"
        required
        maxLength={60}
        value={name}
        onChange={(event) => setName(event.target.value)}
        fault={faultOf(save.error, 'name')}
      />
    </DialogForm>
  )
}

const isSame = (
  one: { readonly [filter: string]: string },
  other: { readonly [filter: string]: string },
): boolean => {
  const filters = Object.entries(one)
  return (
    filters.length === Object.keys(other).length &&
    filters.every(([filter, value]) => other[filter] === value)
  )
}
