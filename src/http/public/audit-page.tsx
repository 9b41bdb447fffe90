import { html, raw } from 'hono/html'
import type { AuditRun } from '../../db/ledger/audit-runs.ts'
import type { Log } from '../../runtime/log.ts'
import { hashOf, readBuilt } from '../../web/built-files.ts'
import { createShortCache } from '../api/short-cache.ts'
import type { HttpPart } from '../server.ts'

/** A public page: when the books were last audited, and with what result. */
const AUDIT_PATH = '/audit'
const AUDIT_JSON_PATH = '/audit.json'
const CACHE_SECONDS = 30

const STYLE = readBuilt('audit.css')
const CSP = `default-src 'none'; style-src ${hashOf(STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** The public page of the last audit, and the same for programs. */
export function createAuditPart(deps: {
  readonly loadLastAudit: () => Promise<AuditRun | null>
  readonly log: Log
}): HttpPart {
  const runs = createShortCache<AuditRun | null>({
    load: () => deps.loadLastAudit(),
    keep: () => true,
    elapsedMs: () => performance.now(),
  })
  const answer = async (request: Request): Promise<Response> => {
    const run = await runs.get('last')
    return new URL(request.url).pathname === AUDIT_PATH
      ? respond(200, pageOf(run), 'text/html; charset=utf-8', CACHED)
      : respond(200, JSON.stringify(viewOf(run)), 'application/json; charset=utf-8', CACHED)
  }
  return {
    name: 'audit',
    owns: (path) => path === AUDIT_PATH || path === AUDIT_JSON_PATH,
    fetch: async (request) => {
      const text = 'text/plain; charset=utf-8'
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return respond(405, 'Only GET is answered here.\n', text, { allow: 'GET, HEAD' })
      try {
        return await answer(request)
      } catch (error) {
        deps.log.error({ err: error }, 'the last audit could not be read')
        return respond(503, 'Please try again in a moment.\n', text, { 'retry-after': '5' })
      }
    },
  }
}

const CACHED = { 'cache-control': `public, max-age=${CACHE_SECONDS}` }

function respond(
  status: number,
  body: string,
  type: string,
  headers: { readonly [name: string]: string },
): Response {
  return new Response(body, {
    status,
    headers: {
      'content-type': type,
      'content-security-policy': CSP,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      ...headers,
    },
  })
}

const viewOf = (run: AuditRun | null) => ({
  object: 'audit',
  last_run_at: run?.finishedAt.toISOString() ?? null,
  checks: run?.checks ?? null,
  not_checked: run?.notChecked ?? null,
  discrepancies: run?.discrepancies ?? null,
})

function pageOf(run: AuditRun | null): string {
  const main = (
    <main>
      <h1>The books</h1>
      {run === null ? (
        <p>They have not been audited yet. The first audit comes some minutes after the start.</p>
      ) : (
        <Result run={run} />
      )}
      <p class="soft">
        An audit compares what the chains say with the ledger, the ledger with every invoice and payout, and
        these with every event that was emitted. It runs by itself several times a day.
      </p>
    </main>
  )
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The books</title>
<style>${raw(STYLE)}</style>
</head>
<body>${main}</body>
</html>
`)
}

function Result({ run }: { run: AuditRun }) {
  const at = run.finishedAt.toISOString()
  const { discrepancies, checks, notChecked } = run
  return (
    <>
      <p class={discrepancies === 0 ? 'good' : 'bad'}>
        {discrepancies === 0
          ? 'No discrepancies were found.'
          : `${discrepancies} ${discrepancies === 1 ? 'discrepancy was' : 'discrepancies were'} found.`}
      </p>
      <p>
        Last audited on{' '}
        <time datetime={at}>
          {at.slice(0, 10)} at {at.slice(11, 16)} UTC
        </time>
        , with {checks} checks
        {notChecked === 0 ? '.' : `, ${notChecked} of which could not be made in full.`}
      </p>
    </>
  )
}
