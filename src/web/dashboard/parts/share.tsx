import { lazy, Suspense, useState } from 'react'
import { Button } from './button.tsx'
import { CopyField } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { Skeleton } from './table.tsx'

const QrCode = lazy(() => import('./qr.tsx').then(({ QrCode }) => ({ default: QrCode })))

/** The ways a link gets to a buyer that need no copy of it: scanned from the screen, or by the shopkeeper's mail program. */
export function Share({ url, subject, to = '' }: { url: string; subject: string; to?: string | null }) {
  const [isShown, setIsShown] = useState(false)
  const mail = `mailto:${encodeURIComponent(to ?? '')}?${new URLSearchParams({ subject, body: url })}`
  return (
    <>
      <Button small icon="qr" onClick={() => setIsShown(true)}>
        QR code
      </Button>
      <a className="button plain small" href={mail.replaceAll('+', '%20')}>
        Email
      </a>
      {isShown ? (
        <Dialog title={subject} onClose={() => setIsShown(false)}>
          <Suspense fallback={<Skeleton lines={4} />}>
            <QrCode text={url} label={`QR code of ${url}`} />
          </Suspense>
          <CopyField label="Link" text={url} />
        </Dialog>
      ) : null}
    </>
  )
}
