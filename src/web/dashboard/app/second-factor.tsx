import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { canUsePasskeys, provePasskey } from '../api/passkeys.ts'
import { people } from '../api/people.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { ProblemNote } from '../parts/note.tsx'

/** Asks for a code of the authenticator app, a backup code, or a passkey. */
export function SecondFactorForm({ hasTotp, onProved }: { hasTotp: boolean; onProved: () => void }) {
  const [kind, setKind] = useState<'totp' | 'backup'>('totp')
  const [code, setCode] = useState('')
  const byCode = useMutation({
    mutationFn: () =>
      kind === 'totp' ? people.verifyTotp(code.replaceAll(' ', '')) : people.verifyBackupCode(code.trim()),
    onSuccess: onProved,
  })
  const byPasskey = useMutation({ mutationFn: provePasskey, onSuccess: onProved })
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        byCode.mutate()
      }}
    >
      {hasTotp ? (
        <>
          <Field
            label={kind === 'totp' ? 'Code from your authenticator app' : 'One of your backup codes'}
            name="code"
            value={code}
            onChange={(event) => setCode(event.target.value)}
            inputMode={kind === 'totp' ? 'numeric' : 'text'}
            autoComplete="one-time-code"
            required
            autoFocus
          />
          <Button type="submit" look="primary" busy={byCode.isPending}>
            Confirm
          </Button>
          <Button
            look="quiet"
            onClick={() => {
              setCode('')
              setKind(kind === 'totp' ? 'backup' : 'totp')
            }}
          >
            {kind === 'totp' ? 'Use a backup code' : 'Use the authenticator app'}
          </Button>
        </>
      ) : null}
      {canUsePasskeys() ? (
        <Button
          look={hasTotp ? 'plain' : 'primary'}
          icon="key"
          busy={byPasskey.isPending}
          onClick={() => byPasskey.mutate()}
        >
          Use a passkey
        </Button>
      ) : null}
      <ProblemNote error={byPasskey.isPending ? null : (byCode.error ?? byPasskey.error)} />
    </form>
  )
}
