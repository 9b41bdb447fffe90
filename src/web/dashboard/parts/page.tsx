import { useLocation } from '@tanstack/react-router'
import { type ReactNode, useEffect, useLayoutEffect, useRef } from 'react'

/** The address whose page took focus last. */
let arrivedAt = ''

/**
 * A page's title, what can be done on it, and the page. The title takes focus on arrival, so that a screen reader says
 * where one is; a title that changes afterwards, or another one in its place when the page is loaded, leaves focus to
 * whoever has it by then.
 */
export function Page({
  title,
  lead,
  actions,
  children,
}: {
  title: string
  lead?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  const heading = useRef<HTMLHeadingElement>(null)
  const place = useLocation({ select: ({ pathname }) => pathname })
  useEffect(() => {
    document.title = `${title} · Paylink`
  }, [title])
  // As the page is drawn, before anybody can press anything on it.
  useLayoutEffect(() => {
    const isArrival = place !== arrivedAt
    arrivedAt = place
    if (isArrival || document.activeElement === document.body) heading.current?.focus({ preventScroll: true })
  }, [place])
  return (
    <>
      <header className="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead === undefined ? null : <p className="lead">{lead}</p>}
        </div>
        {actions === undefined ? null : <div className="actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

export function Card({
  title,
  actions,
  children,
}: {
  title?: string
  actions?: ReactNode
  children: ReactNode
}) {
  return (
    <section className="card">
      {title === undefined ? null : (
        <header className="card-head">
          <h2>{title}</h2>
          {actions === undefined ? null : <div className="actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  )
}

/** Names and values. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
