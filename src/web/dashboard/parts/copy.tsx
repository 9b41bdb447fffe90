import { useEffect, useState } from 'react'
import { Icon } from './icons.tsx'

const SAID_MS = 2_000

/** Copies a text, and says so. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [said, setSaid] = useState<'' | 'Copied' | 'Select and copy it by hand'>('')
  useEffect(() => {
    if (said === '') return
    const timer = setTimeout(() => setSaid(''), SAID_MS)
    return () => clearTimeout(timer)
  }, [said])
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setSaid('Copied'),
      () => setSaid('Select and copy it by hand'),
    )
  return (
    <button type="button" className="button plain small" onClick={copy}>
      <Icon name={said === 'Copied' ? 'check' : 'copy'} />
      <span aria-live="polite">{said === '' ? label : said}</span>
    </button>
  )
}

/** A value to be carried elsewhere: an address, a key, a link. */
export function CopyField({ label, text }: { label: string; text: string }) {
  return (
    <div className="copy-field">
      <div>
        <span className="quiet small-text">{label}</span>
        <code>{text}</code>
      </div>
      <CopyButton text={text} />
    </div>
  )
}

/** Code to paste. */
export function Snippet({ code, label }: { code: string; label: string }) {
  return (
    <figure className="snippet">
      <figcaption>
        <span>{label}</span>
        <CopyButton text={code} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1). */}
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </figure>
  )
}

/** The command by which a shop's server makes something. */
export const PostSnippet = ({ path, apiKey, body }: { path: string; apiKey: string; body: object }) => (
  <Snippet
    label="From your server"
    code={`curl ${window.location.origin}/api/v1${path} \\
  -H 'authorization: Bearer ${apiKey}' \\
  -H 'content-type: application/json' \\
  -d '${JSON.stringify(body)}'`}
  />
)
