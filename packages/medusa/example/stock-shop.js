// Gives an empty shop what it needs to sell: a region in euros that is paid through Paylink, and one product.
const { Modules } = require('@medusajs/framework/utils')
const {
  createApiKeysWorkflow,
  createProductsWorkflow,
  createRegionsWorkflow,
  createSalesChannelsWorkflow,
  linkSalesChannelsToApiKeyWorkflow,
  updateStoresWorkflow,
} = require('@medusajs/medusa/core-flows')

const TITLE = 'Storefront'

exports.default = async ({ container }) => {
  const run = async (workflow, input) => (await workflow(container).run({ input })).result
  const [key] = await container.resolve(Modules.API_KEY).listApiKeys({ title: TITLE })
  if (key) return report(key.token)
  const [store] = await container.resolve(Modules.STORE).listStores()
  await run(updateStoresWorkflow, {
    selector: { id: store.id },
    update: { supported_currencies: [{ currency_code: 'eur', is_default: true }] },
  })
  await run(createRegionsWorkflow, {
    regions: [
      { name: 'Europe', currency_code: 'eur', countries: ['nl'], payment_providers: ['pp_paylink_paylink'] },
    ],
  })
  const [channel] = await run(createSalesChannelsWorkflow, { salesChannelsData: [{ name: 'Shop' }] })
  await run(createProductsWorkflow, {
    products: [
      {
        title: 'Tea set',
        status: 'published',
        options: [{ title: 'Kind', values: ['For two'] }],
        sales_channels: [{ id: channel.id }],
        variants: [
          {
            title: 'For two',
            options: { Kind: 'For two' },
            manage_inventory: false,
            prices: [{ amount: 49.99, currency_code: 'eur' }],
          },
        ],
      },
    ],
  })
  const [created] = await run(createApiKeysWorkflow, {
    api_keys: [{ type: 'publishable', title: TITLE, created_by: '' }],
  })
  await run(linkSalesChannelsToApiKeyWorkflow, { id: created.id, add: [channel.id] })
  report(created.token)
}

const report = (token) => console.log(`publishable key: ${token}`)
