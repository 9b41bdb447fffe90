// The storefront: one page, at /shop.
const { readFileSync } = require('node:fs')
const { join } = require('node:path')
const { ContainerRegistrationKeys } = require('@medusajs/framework/utils')

const page = readFileSync(join(__dirname, '../../../shop.html'), 'utf8')

exports.GET = async ({ scope }, response) => {
  const { data } = await scope
    .resolve(ContainerRegistrationKeys.QUERY)
    .graph({ entity: 'api_key', fields: ['token'], filters: { title: 'Storefront' } })
  response.type('html').send(page.replace('PUBLISHABLE_KEY', data[0].token))
}
