import { type ReactNode, useEffect } from 'react'

/** A page in front of the dashboard: one card, one thing to do. */
export function AuthCard({
  title,
  lead,
  children,
}: {
  title: string
  lead?: ReactNode
  children: ReactNode
}) {
  useEffect(() => {
    document.title = `${title} · Paylink`
  }, [title])
  return (
    <main className="auth">
      <p className="auth-brand">
        <img src="/dashboard/icon.svg" alt="" width="32" height="32" /> Paylink
      </p>
      <div className="card">
        <h1>{title}</h1>
        {lead === undefined ? null : <p className="lead">{lead}</p>}
        {children}
      </div>
    </main>
  )
}
