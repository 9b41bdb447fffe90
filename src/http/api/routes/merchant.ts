import { encodeLogo } from '../../../branding/encode-logo.ts'
import { NOTICE_KINDS, setNotice } from '../../../db/people/notices.ts'
import { type BrandingWish, setBranding } from '../../../flows/set-branding.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { merchantView, noticesView, updateMerchantBody, updateNoticesBody } from '../../../wire/dashboard.ts'
import { merchantViewOf } from '../../views/merchant-view.ts'
import { noticesViewOf } from '../../views/notices-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const getMerchantRoute = defineRoute({
  method: 'get',
  path: '/merchant',
  operationId: 'getMerchant',
  tag: 'Dashboard',
  summary: 'Read the shop',
  description: 'Its name and look, and your role in it.',
  scope: null,
  dashboardOnly: true,
  success: { status: 200, description: 'The shop.', schema: merchantView },
  problems: [],

  handler: (deps, request) => merchantViewOf(deps, request),
})

const LOGO_REFUSED = {
  too_large: 'The picture is too large.',
  not_a_picture: 'The logo must be a PNG, JPEG or WebP picture.',
  too_many_pixels: 'The picture has too many pixels.',
}

export const updateMerchantRoute = defineRoute({
  method: 'patch',
  path: '/merchant',
  operationId: 'updateMerchant',
  tag: 'Dashboard',
  summary: "Change the look of the buyer's pages",
  description: 'Omitted fields stay as they are; null restores the default. Both modes look the same.',
  scope: null,
  dashboardOnly: true,
  managers: true,
  body: updateMerchantBody,
  example: { brand_name: 'Corner Coffee', brand_colour: '#1a73e8' },
  success: { status: 200, description: 'The shop as it is now.', schema: merchantView },
  problems: [],

  handler: async (deps, request) => {
    const { body, tenant } = request
    const logo = await readLogo(body.logo)
    const wish: BrandingWish = {
      ...(body.brand_name === undefined ? {} : { name: body.brand_name }),
      ...(body.brand_colour === undefined ? {} : { colour: body.brand_colour }),
      ...(logo === undefined ? {} : { logo }),
    }
    const set = await setBranding(deps, tenant.merchantId, wish)
    if (set.kind === 'not_found') throw new ApiProblem('not_found')
    if (set.kind === 'invalid') throw new ApiProblem('parameter_invalid', { param: `brand_${set.field}` })
    return merchantViewOf(deps, request)
  },
})

async function readLogo(base64: string | null | undefined): Promise<BrandingWish['logo']> {
  if (base64 === undefined || base64 === null) return base64
  const encoded = await encodeLogo(Buffer.from(base64, 'base64'))
  if (encoded.kind === 'encoded') return encoded.logo
  throw new ApiProblem('parameter_invalid', { param: 'logo', message: LOGO_REFUSED[encoded.reason] })
}

export const getNoticesRoute = defineRoute({
  method: 'get',
  path: '/notices',
  operationId: 'getNotices',
  tag: 'Dashboard',
  summary: 'Read which e-mails you get',
  description: 'E-mails about live mode, to owners and admins with a confirmed address.',
  scope: null,
  dashboardOnly: true,
  success: { status: 200, description: 'Your switches.', schema: noticesView },
  problems: [],

  handler: (deps, { tenant, callerId }) =>
    withTransaction(deps.pool, tenant, (tx) => noticesViewOf(tx, tenant.merchantId, callerId)),
})

export const updateNoticesRoute = defineRoute({
  method: 'patch',
  path: '/notices',
  operationId: 'updateNotices',
  tag: 'Dashboard',
  summary: 'Choose which e-mails you get',
  description: 'Each kind can be switched off; omitted fields stay as they are.',
  scope: null,
  dashboardOnly: true,
  body: updateNoticesBody,
  example: { paid: false },
  success: { status: 200, description: 'Your switches as they are now.', schema: noticesView },
  problems: [],

  handler: (deps, { tenant, callerId, body }) =>
    withTransaction(deps.pool, tenant, async (tx) => {
      const { merchantId } = tenant
      for (const kind of NOTICE_KINDS) {
        const wanted = body[kind]
        if (wanted !== undefined) await setNotice(tx, { merchantId, userId: callerId, kind, wanted })
      }
      return noticesViewOf(tx, merchantId, callerId)
    }),
})
