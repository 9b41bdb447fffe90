import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { passkeysQuery, people } from '../api/people.ts'
import { usePeopleChange } from '../app/changes.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { CopyButton, CopyField } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { Note, ProblemNote } from '../parts/note.tsx'
import { Card } from '../parts/page.tsx'
import { QrCode } from '../parts/qr.tsx'

type OpenDialog = 'enable' | 'disable' | 'codes' | null

/** Codes by an authenticator app (TOTP), with backup codes for the day the phone is gone. */
export function AuthenticatorCard({ isOn }: { isOn: boolean }) {
  const [dialog, setDialog] = useState<OpenDialog>(null)
  const passkeys = useQuery(passkeysQuery)
  const close = () => setDialog(null)
  return (
    <Card title="Authenticator app">
      <div className="stack">
        <p>
          {isOn ? <Badge tone="good">On</Badge> : <Badge tone="warn">Off</Badge>}{' '}
          <span className="quiet">
            Live keys, webhooks and rules ask for a code from your phone, so that a stolen password is not
            enough.
          </span>
        </p>
        {isOn && passkeys.data?.length === 0 ? <PasskeyAdvice /> : null}
        <div className="actions">
          {isOn ? (
            <>
              <Button onClick={() => setDialog('codes')}>New backup codes</Button>
              <Button look="danger" onClick={() => setDialog('disable')}>
                Turn off
              </Button>
            </>
          ) : (
            <Button look="primary" onClick={() => setDialog('enable')}>
              Set it up
            </Button>
          )}
        </div>
      </div>
      {dialog === 'enable' ? <EnableDialog onClose={close} /> : null}
      {dialog === 'disable' ? <DisableDialog onClose={close} /> : null}
      {dialog === 'codes' ? <CodesDialog onClose={close} /> : null}
    </Card>
  )
}

/** A server that was taken over sees the codes typed into it; what a passkey signs is worth nothing elsewhere. */
const PasskeyAdvice = () => (
  <Note kind="info">
    <p>
      Add a passkey too. It approves one payout and no other; a code could be used for another payout by
      someone who has taken over this server.
    </p>
  </Note>
)

function PasswordForm({
  action,
  look = 'primary',
  busy,
  error,
  onPassword,
}: {
  action: string
  look?: 'primary' | 'danger'
  busy: boolean
  error: unknown
  onPassword: (password: string) => void
}) {
  const [password, setPassword] = useState('')
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        onPassword(password)
      }}
    >
      <Field
        label="Your password"
        type="password"
        autoComplete="current-password"
        required
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      <ProblemNote error={error} />
      <Button type="submit" look={look} busy={busy}>
        {action}
      </Button>
    </form>
  )
}

function EnableDialog({ onClose }: { onClose: () => void }) {
  const [code, setCode] = useState('')
  const [isProved, setIsProved] = useState(false)
  const enable = usePeopleChange(people.enableTotp)
  const verify = usePeopleChange(people.verifyTotp, {
    done: 'The second factor is on.',
    onDone: () => setIsProved(true),
  })
  if (enable.data === undefined) {
    return (
      <Dialog title="Set up your authenticator app" onClose={onClose}>
        <PasswordForm
          action="Continue"
          busy={enable.isPending}
          error={enable.error}
          onPassword={enable.mutate}
        />
      </Dialog>
    )
  }
  if (isProved) {
    return (
      <Dialog title="Keep your backup codes" onClose={null}>
        <BackupCodes codes={enable.data.backupCodes} onClose={onClose} />
      </Dialog>
    )
  }
  const { totpURI } = enable.data
  return (
    <Dialog title="Scan this with your app" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          verify.mutate(code.replaceAll(' ', ''))
        }}
      >
        <QrCode text={totpURI} label="QR code for the authenticator app" />
        <CopyField label="Or type this key" text={new URL(totpURI).searchParams.get('secret') ?? ''} />
        <Field
          label="6-digit code"
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
        <ProblemNote error={verify.error} />
        <Button type="submit" look="primary" busy={verify.isPending}>
          Turn it on
        </Button>
      </form>
    </Dialog>
  )
}

function DisableDialog({ onClose }: { onClose: () => void }) {
  const disable = usePeopleChange(people.disableTotp, { done: 'The second factor is off.', onDone: onClose })
  return (
    <Dialog title="Turn the authenticator app off?" onClose={onClose}>
      <div className="stack">
        <p>Without a second factor you cannot change anything in live mode that touches money or keys.</p>
        <PasswordForm
          action="Turn it off"
          look="danger"
          busy={disable.isPending}
          error={disable.error}
          onPassword={disable.mutate}
        />
      </div>
    </Dialog>
  )
}

function CodesDialog({ onClose }: { onClose: () => void }) {
  const make = usePeopleChange(people.newBackupCodes)
  return (
    <Dialog title="New backup codes" onClose={make.data === undefined ? onClose : null}>
      {make.data === undefined ? (
        <div className="stack">
          <p>The old ones stop working.</p>
          <PasswordForm
            action="Make new codes"
            busy={make.isPending}
            error={make.error}
            onPassword={make.mutate}
          />
        </div>
      ) : (
        <BackupCodes codes={make.data.backupCodes} onClose={onClose} />
      )}
    </Dialog>
  )
}

function BackupCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  return (
    <div className="stack">
      <p>
        Each opens your account once, should your phone be gone. Print them, or keep them in a password
        manager.
      </p>
      <ul className="codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div className="actions end">
        <CopyButton text={codes.join('\n')} label="Copy all" />
        <Button look="primary" onClick={onClose}>
          I have kept them
        </Button>
      </div>
    </div>
  )
}
