import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { invoiceNoteOf } from '../api/reads.ts'
import type { InvoiceNote } from '../api/types.ts'
import { useActorNames } from '../app/actors.ts'
import { useChange } from '../app/changes.ts'
import { useAccount, useMode } from '../app/session.ts'
import { Button } from '../parts/button.tsx'
import { TextArea } from '../parts/field.tsx'
import { faultOf, ProblemNote } from '../parts/note.tsx'
import { Card } from '../parts/page.tsx'
import { Read } from '../parts/read.tsx'
import { Time } from '../parts/time.tsx'

/** What the shop's people note of an invoice for themselves. */
export function InvoiceNoteCard({ invoiceId }: { invoiceId: string }) {
  const mode = useMode()
  const { mayWrite } = useAccount()
  const read = useQuery(invoiceNoteOf(mode, invoiceId))
  return (
    <Card title="Note">
      <Read read={read} lines={2}>
        {(note) => (mayWrite ? <NoteForm invoiceId={invoiceId} note={note} /> : <NoteText note={note} />)}
      </Read>
    </Card>
  )
}

const NoteText = ({ note }: { note: InvoiceNote }) => (
  <>
    <p className="written">{note.text ?? 'No note.'}</p>
    <LastChange note={note} />
  </>
)

function NoteForm({ invoiceId, note }: { invoiceId: string; note: InvoiceNote }) {
  // Null: nothing was typed since it was read.
  const [typed, setTyped] = useState<string | null>(null)
  const save = useChange<string, InvoiceNote>(
    (text) => ({ method: 'PATCH', path: `/invoices/${invoiceId}/note`, body: { text } }),
    { done: 'Note saved', onDone: () => setTyped(null) },
  )
  const isChanged = typed !== null && typed.trim() !== (note.text ?? '')
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (typed !== null) save.mutate(typed)
      }}
    >
      <TextArea
        label="Only your team sees it"
        rows={3}
        maxLength={2_000}
        value={typed ?? note.text ?? ''}
        onChange={(event) => setTyped(event.target.value)}
        fault={faultOf(save.error, 'text')}
      />
      <LastChange note={note} />
      {faultOf(save.error, 'text') === null ? <ProblemNote error={save.error} /> : null}
      {isChanged ? (
        <div className="actions">
          <Button type="submit" look="primary" busy={save.isPending}>
            Save note
          </Button>
          <Button onClick={() => setTyped(null)}>Cancel</Button>
        </div>
      ) : null}
    </form>
  )
}

function LastChange({ note }: { note: InvoiceNote }) {
  const nameOf = useActorNames()
  if (note.updated_at === null || note.updated_by === null) return null
  return (
    <p className="quiet small-text">
      {nameOf(note.updated_by)}, <Time at={note.updated_at} />
    </p>
  )
}
