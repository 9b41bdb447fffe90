import type { z } from 'zod'
import { ENDPOINT_FORMATS } from '../../core/endpoint/subscriptions.ts'
import { loadMerchantProfile } from '../../db/people/merchants.ts'
import { withTransaction } from '../../postgres/transaction.ts'
import type { merchantView } from '../../wire/dashboard.ts'
import { ApiProblem } from '../api/problem.ts'
import type { RouteDeps, RouteRequest } from '../api/route.ts'
import { isOffered } from './endpoint-view.ts'

/** The merchant as the person at the dashboard sees it. */
export async function merchantViewOf(
  deps: RouteDeps,
  { tenant, person }: Pick<RouteRequest, 'tenant' | 'person'>,
): Promise<z.output<typeof merchantView>> {
  const profile = await withTransaction(deps.pool, tenant, (tx) => loadMerchantProfile(tx, tenant.merchantId))
  if (profile === null || person === null) throw new ApiProblem('not_found')
  const { name, email, brandName, brandColour, logoDigest, createdAt } = profile
  return {
    id: tenant.merchantId,
    object: 'merchant',
    name,
    email,
    brand_name: brandName,
    brand_colour: brandColour,
    logo_url: logoDigest === null ? null : `/logo/${tenant.merchantId}/${logoDigest}.webp`,
    role: person.role,
    webhook_formats: ENDPOINT_FORMATS.filter((format) =>
      isOffered(format, deps.webhookFormats?.offered ?? []),
    ),
    created_at: createdAt.toISOString(),
  }
}
