/** Gives an empty shop what it needs to sell: euros, a country, shipping, a payment method and one product. */
export async function stockShop(api, password) {
  let token = ''
  const ask = async (query, variables = {}) => {
    const answer = await fetch(api, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ query, variables }),
    })
    token ||= answer.headers.get('vendure-auth-token') ?? ''
    const { data, errors } = await answer.json()
    if (errors) throw new Error(JSON.stringify(errors))
    return data
  }
  await ask(
    'mutation ($password: String!) { login(username: "admin", password: $password) { __typename } }',
    { password },
  )
  if ((await ask('{ products { totalItems } }')).products.totalItems > 0) return

  const { activeChannel: channel } = await ask('{ activeChannel { id } }')
  const { createZone: zone } = await ask('mutation { createZone(input: { name: "Europe" }) { id } }')
  await ask(
    `mutation ($zone: ID!) {
      createCountry(input: { code: "NL", enabled: true, translations: [{ languageCode: en, name: "Netherlands" }] }) { id }
      addMembersToZone(zoneId: $zone, memberIds: ["1"]) { id }
    }`,
    { zone: zone.id },
  )
  await ask(
    `mutation ($channel: ID!, $zone: ID!) {
      updateChannel(input: {
        id: $channel, defaultCurrencyCode: EUR, availableCurrencyCodes: [EUR], pricesIncludeTax: true,
        defaultTaxZoneId: $zone, defaultShippingZoneId: $zone
      }) { __typename }
    }`,
    { channel: channel.id, zone: zone.id },
  )
  const { createTaxCategory: tax } = await ask(
    'mutation { createTaxCategory(input: { name: "Standard", isDefault: true }) { id } }',
  )
  await ask(
    `mutation ($tax: ID!, $zone: ID!) {
      createTaxRate(input: { name: "VAT", enabled: true, value: 21, categoryId: $tax, zoneId: $zone }) { id }
    }`,
    { tax: tax.id, zone: zone.id },
  )
  await ask(`mutation {
    createShippingMethod(input: {
      code: "post", fulfillmentHandler: "manual-fulfillment",
      checker: { code: "default-shipping-eligibility-checker", arguments: [{ name: "orderMinimum", value: "0" }] },
      calculator: { code: "default-shipping-calculator", arguments: [
        { name: "rate", value: "500" }, { name: "includesTax", value: "include" }, { name: "taxRate", value: "21" }
      ] },
      translations: [{ languageCode: en, name: "By post", description: "" }]
    }) { id }
    createPaymentMethod(input: {
      code: "crypto", enabled: true, handler: { code: "paylink", arguments: [] },
      translations: [{ languageCode: en, name: "Crypto", description: "" }]
    }) { id }
  }`)
  const { createProduct: product } = await ask(`mutation {
    createProduct(input: {
      enabled: true, translations: [{ languageCode: en, name: "Tea set", slug: "tea-set", description: "For two." }]
    }) { id }
  }`)
  await ask(
    `mutation ($product: ID!, $tax: ID!) {
      createProductVariants(input: [{
        productId: $product, sku: "tea-set", price: 4499, taxCategoryId: $tax, stockOnHand: 1000,
        translations: [{ languageCode: en, name: "Tea set" }]
      }]) { id }
    }`,
    { product: product.id, tax: tax.id },
  )
}
