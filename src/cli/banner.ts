import type { Config } from '../config/config.ts'
import { urlHost } from '../runtime/url-host.ts'
import type { Output } from './command-context.ts'
import type { SeededSandbox } from './seed-sandbox.ts'

/** What the person who started the sandbox needs for the first five minutes. */
export function printBanner(
  start: { config: Config; sandbox: SeededSandbox; startedMs: number },
  output: Output,
): void {
  const { config, sandbox } = start
  const { baseUrl } = config
  output.line(`
Paylink is ready (${(start.startedMs / 1_000).toFixed(1)} s)

  Base URL       ${baseUrl}
  API reference  ${baseUrl}/docs
  Dashboard      ${baseUrl}/dashboard/   (sign up, or look around in the demo shop:)
  Demo owner     ${sandbox.email}   password ${sandbox.password}
  Test API key   ${sandbox.apiKey}
  Open checkout  ${sandbox.checkoutUrl}
${config.operatorPort === null ? '' : `  Metrics        http://${urlHost(config.operatorHost)}:${config.operatorPort.port}/metrics\n`}
Make an invoice of your own:

  curl -s ${baseUrl}/api/v1/invoices \\
    -H 'authorization: Bearer ${sandbox.apiKey}' \\
    -H 'content-type: application/json' \\
    -H 'idempotency-key: order-1001' \\
    -d '{"usd_amount":"25.00","asset":"LTC","external_reference":"order-1001"}'

Test money only. Data is in ${config.dataDir}. Stop with Ctrl-C.
`)
}
