import type { Context, Hono } from 'hono'
import type { CheckoutDeps } from './checkout-deps.ts'
import { renderPlainDocument } from './document.tsx'
import { fill } from './language.ts'
import { languageOf } from './page-request.ts'
import { missing } from './plain-pages.ts'

/**
 * The end of a shop's emails. Opening the page changes nothing, because programs that look for viruses open every link of
 * an email. Any POST ends them, from our form or a mail program (RFC 8058): the token alone says who asks, and what is
 * sent with it is not read. It counts against no limit of forms, since mail programs send many from one address.
 */
export function serveUnsubscribe(app: Hono, deps: CheckoutDeps): void {
  app.get('/u/:token', async (c) => answer(c, await deps.readUnsubscribe(c.req.param('token')), false))
  app.post('/u/:token', async (c) => answer(c, await deps.unsubscribe(c.req.param('token')), true))
}

function answer(c: Context, merchant: string | null, isDone: boolean): Response | Promise<Response> {
  if (merchant === null) return missing(c)
  const { language } = languageOf(c)
  const { messages } = language
  const action = isDone ? {} : { action: messages.unsubscribe_action }
  return c.html(
    renderPlainDocument(language, {
      title: isDone ? messages.unsubscribed_title : messages.unsubscribe_title,
      lead: fill(isDone ? messages.unsubscribed_lead : messages.unsubscribe_lead, { merchant }),
      icon: isDone ? 'check' : 'alert',
      reload: 'never',
      ...action,
    }),
  )
}
