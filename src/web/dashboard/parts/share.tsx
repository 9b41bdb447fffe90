import { lazy, Suspense, useState } from 'react'
import { Button } from './button.tsx'
import { CopyField } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { Skeleton } from './table.tsx'

const QrCode = lazy(() => import('./qr.tsx').then(({ QrCode }) => ({ default: QrCode })))

const FILE_NAME_MAX = 60

/** `QR code Coffee beans, 1 kg`: without what some file system does not take. */
const fileNameOf = (subject: string): string =>
  `QR code ${subject.replaceAll(/[^\p{L}\p{N} ,.$-]/gu, ' ').slice(0, FILE_NAME_MAX)}.png`

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
            <QrCode text={url} label={`QR code of ${url}`} fileName={fileNameOf(subject)} />
          </Suspense>
          <CopyField label="Link" text={url} />
        </Dialog>
      ) : null}
    </>
  )
}
