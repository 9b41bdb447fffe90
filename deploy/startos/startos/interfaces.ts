import { sdk } from './sdk'

export const PORT = 3000

export const setInterfaces = sdk.setupInterfaces(async ({ effects }) => {
  const origin = await sdk.MultiHost.of(effects, 'site').bindPort(PORT, { protocol: 'http' })
  const shared = { masked: false, schemeOverride: null, username: null, query: {} }
  const dashboard = sdk.createInterface(effects, {
    ...shared,
    id: 'dashboard',
    name: 'Dashboard',
    description: 'Where you run your shop',
    type: 'ui',
    path: '/dashboard/',
  })
  const api = sdk.createInterface(effects, {
    ...shared,
    id: 'api',
    name: 'API and checkout',
    description: 'What your shop calls, and where buyers pay',
    type: 'api',
    path: '',
  })
  return [await origin.export([dashboard, api])]
})
