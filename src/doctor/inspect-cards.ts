import { CARD_PROVIDER_NAMES } from '../core/card/onramp-provider.ts'
import { type OnrampConfig, openOnramps } from '../onramp/open-onramps.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Finding, fault, notice, ok } from './finding.ts'

const PREFIXES = { coinbase: 'COINBASE_ONRAMP_', moonpay: 'MOONPAY_', sandbox: '' } as const

/** Asks every card provider that is configured a question that makes nothing; nothing is said of the others. */
export async function inspectCards(onramps: OnrampConfig, clock: Clock): Promise<Finding[]> {
  const { providers, webhooks, close } = openOnramps(onramps, { clock })
  try {
    const findings = await Promise.all(
      providers.map(async (provider) => {
        const name = CARD_PROVIDER_NAMES[provider.id]
        const wrong = await provider.fault()
        if (wrong !== null) {
          return fault(
            `Cards by ${name}: no offers (${wrong}); check the keys ${PREFIXES[provider.id]}…, and that this machine may reach it`,
          )
        }
        return webhooks.has(provider.id)
          ? ok(`Cards by ${name}: answers`)
          : notice(
              `Cards by ${name}: answers; without its webhook key buyers are told less of their purchase`,
            )
      }),
    )
    return findings
  } finally {
    await close()
  }
}
